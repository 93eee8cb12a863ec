/**
 * Questions that wait for people, each with a form. An answer carries a name and a reason.
 */
import { useState } from 'preact/hooks'
import { announcement } from '../action.ts'
import { FieldInput } from '../action-dialog.tsx'
import type { AnswerOf } from '../api.ts'
import { call, messageOf } from '../api.ts'
import { changes, useLive } from '../live.ts'
import { Empty, JobLink, Problem, Since, Text, Time, Waiting } from '../parts.tsx'
import { actorName, keepName, may, reader } from '../session.ts'
import { answerForm } from './question-form.ts'

type AskedQuestion = AnswerOf<'inbox.list'>['questions'][number]

const ask = (ended: AbortSignal) => call('inbox.list', {}, ended)

export function InboxView() {
  const { data, problem } = useLive('inbox', ask, 3_000)
  if (data === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  const { questions } = data
  return (
    <>
      <Problem problem={problem} />
      {questions.length === 0 ? (
        <Empty>No question waits.</Empty>
      ) : (
        <ul class="groups">
          {questions.map((one) => (
            <QuestionCard key={`${one.job} ${one.stage} ${one.segment} ${one.name}`} of={one} />
          ))}
        </ul>
      )}
    </>
  )
}

function QuestionCard({ of }: { readonly of: AskedQuestion }) {
  return (
    <li class="card question">
      <h2>
        <Text text={of.ask} most={600} />
      </h2>
      <p class="aside">
        <Text text={of.type} /> <JobLink id={of.job} /> waits for <Since at={of.since} />
        {of.for.length > 0 && (
          <>
            {' '}
            for <Text text={of.for.join(', ')} />
          </>
        )}
        {of.until !== null && (
          <>
            , until <Time at={of.until} />
          </>
        )}
        {of.quorum > 1 && `; ${of.answers} of ${of.quorum} answers came`}
        {of.notBySubmitter && of.submittedBy !== null && (
          <>
            ; not by <Text text={of.submittedBy} />
          </>
        )}
      </p>
      {may('inbox.answer') && <AnswerPart of={of} />}
    </li>
  )
}

function AnswerPart({ of }: { readonly of: AskedQuestion }) {
  const [filled, setFilled] = useState<Readonly<Record<string, string>>>({})
  const [reason, setReason] = useState('')
  const [problem, setProblem] = useState<string | null>(null)
  const form = answerForm(of.schema)
  const send = async (): Promise<void> => {
    setProblem(null)
    try {
      const { job, name, stage, segment } = of
      await call('inbox.answer', {
        job,
        name,
        value: form.valueOf(filled),
        ...(actorName.value.trim() === '' ? {} : { by: actorName.value.trim() }),
        ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
        ...(stage === null ? {} : { stage, segment }),
      })
      announcement.value = 'Your answer was taken.'
    } catch (error) {
      setProblem(messageOf(error))
    }
    changes.value += 1
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      <div class="fields">
        {form.fields.map((field) => (
          <FieldInput
            key={field.name}
            field={field}
            filled={filled}
            fill={(name, value) => setFilled((was) => ({ ...was, [name]: value }))}
          />
        ))}
        <label>
          Your name
          <input
            value={actorName.value}
            placeholder={reader.value?.name ?? ''}
            autoComplete="name"
            onInput={(event) => keepName(event.currentTarget.value)}
          />
        </label>
        <label>
          Reason
          <input value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
        </label>
      </div>
      <Problem problem={problem} />
      <div class="buttons">
        <button type="submit" class="main">
          Answer
        </button>
      </div>
    </form>
  )
}
