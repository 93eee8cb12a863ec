/**
 * What a signed link is for: one question, or one message. It shows that, lets the person answer, and nothing else; and says
 * plainly if there is nothing more to answer, or the link is of no use.
 *
 * What the link says of itself is read here only to know what to ask the server for. The server checks it.
 */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { LinkTerms } from '../../../protocol/index.ts'
import { linkTermsIn, partsOfLink } from '../../../protocol/index.ts'
import type { AnswerOf } from '../api.ts'
import { call, CallRefused } from '../api.ts'
import { serverNow } from '../clock.ts'
import { changes, useLive } from '../live.ts'
import { JsonBlock, Text, Time, Waiting } from '../parts.tsx'
import { seen } from '../safe-text.ts'
import { linkToken } from '../session.ts'
import { AnswerForm } from './answer-form.tsx'
import { QuestionFacts } from './question.tsx'

/** Null: it is not whole, as where a mail program cut it. */
function termsOfLink(token: string): LinkTerms | null {
  try {
    const { body } = partsOfLink(token) as { body: string }
    const bytes = atob(body.replaceAll('-', '+').replaceAll('_', '/'))
    const text = new TextDecoder().decode(Uint8Array.from(bytes, (one) => one.charCodeAt(0)))
    return linkTermsIn(text)
  } catch {
    return null
  }
}

export function LinkView() {
  const terms = termsOfLink(linkToken.value)
  if (linkToken.value === '') {
    return <Notice title="No link">Open the link that you were sent once more.</Notice>
  }
  if (terms === null) {
    return (
      <Notice title="This link is not whole">
        A part of it is missing. Copy all of it from where you were sent it.
      </Notice>
    )
  }
  return terms.operation === 'inbox.answer' ? (
    <LinkedQuestion terms={terms} />
  ) : (
    <LinkedMessage terms={terms} />
  )
}

interface NoticeProps {
  readonly title: string
  readonly children: ComponentChildren
  readonly isWell?: boolean
}

function Notice({ title, children, isWell = false }: NoticeProps) {
  return (
    <section class={isWell ? 'notice well' : 'notice'} role="status">
      <h1>{title}</h1>
      <p>{children}</p>
    </section>
  )
}

/** A refusal is an answer, too: it does not go away by asking again. */
type Look =
  | { readonly asked: AnswerOf<'inbox.show'> }
  | { readonly status: number; readonly why: string }

function placeOf({ job, name, stage, segment }: LinkTerms) {
  return {
    job,
    name,
    ...(stage === undefined ? {} : { stage }),
    ...(segment === undefined ? {} : { segment }),
  }
}

function LinkedQuestion({ terms }: { readonly terms: LinkTerms }) {
  const ask = async (ended: AbortSignal): Promise<Look> => {
    try {
      return { asked: await call('inbox.show', placeOf(terms), ended) }
    } catch (error) {
      if (error instanceof CallRefused) return { status: error.status, why: error.message }
      throw error
    }
  }
  const { data } = useLive('link', ask, 3_000)
  if (data === null) return <Waiting />
  if (!('asked' in data)) return <Refusal terms={terms} status={data.status} why={data.why} />
  return <AskedQuestion asked={data.asked} terms={terms} />
}

interface RefusalProps {
  readonly terms: LinkTerms
  readonly status: number
  readonly why: string
}

/** The server decides; its answer has its time, too, which says whether the link is merely old. */
function Refusal({ terms: { untilMs }, status, why }: RefusalProps) {
  if (status === 401 && untilMs < serverNow()) {
    return (
      <Notice title="This link has expired">
        Its time was over <Time at={new Date(untilMs).toISOString()} />. Ask for a new one.
      </Notice>
    )
  }
  if (status === 401) {
    return (
      <Notice title="This link is of no use">
        The server does not know it: it has expired, was changed, or was taken back. Ask for a new
        one.
      </Notice>
    )
  }
  if (status === 404) {
    return <Notice title="There is nothing to answer">The job of this link is gone.</Notice>
  }
  return <Notice title="This link cannot be used">{seen(why)}</Notice>
}

interface AskedProps {
  readonly asked: AnswerOf<'inbox.show'>
  readonly terms: LinkTerms
}

function AskedQuestion({ asked, terms }: AskedProps) {
  const { question, state, answers } = asked
  const own = answers.find(({ by }) => by === terms.by)
  return (
    <>
      {question !== null && (
        <section class="asked">
          <h1>
            <Text text={question.ask} most={2_000} />
          </h1>
          <QuestionFacts of={question} hasJob={false} />
        </section>
      )}
      {own !== undefined ? (
        <Notice title="Your answer was taken" isWell>
          You answered <Time at={own.at} />.{' '}
          {state === 'OPEN' ? 'It waits for others, too. ' : 'Nothing more is to be done. '}
          You may close this page.
        </Notice>
      ) : state === 'OPEN' && question !== null ? (
        <section>
          <LinkForm terms={terms} schema={question.schema} />
        </section>
      ) : (
        <Ended asked={asked} />
      )}
    </>
  )
}

function Ended({ asked: { state, endedAt, answers } }: { readonly asked: AskedProps['asked'] }) {
  if (state === 'ANSWERED') {
    return (
      <Notice title="This was answered already">
        {answers.map(({ by, at }) => (
          <span key={by}>
            <Text text={by} most={80} /> answered <Time at={at} />.{' '}
          </span>
        ))}
        Nothing more is to be done.
      </Notice>
    )
  }
  if (state === 'TIMED_OUT') {
    return (
      <Notice title="The time to answer is over">
        It ended <Time at={endedAt} />, and the job went on without an answer.
      </Notice>
    )
  }
  return (
    <Notice title="This is not asked">
      The job does not ask it yet, or no more. If it does, the question appears here by itself.
    </Notice>
  )
}

function LinkForm({ terms, schema }: { terms: LinkTerms; readonly schema: object | null }) {
  const send = async (value: unknown, reason: string): Promise<void> => {
    try {
      const said = { value, ...(reason === '' ? {} : { reason }) }
      await call('inbox.answer', { ...placeOf(terms), by: terms.by, ...said })
    } finally {
      changes.value += 1
    }
  }
  return <TermsForm terms={terms} schema={schema} label="Answer" send={send} />
}

interface TermsFormProps {
  readonly terms: LinkTerms
  readonly schema: object | null
  readonly label: string
  readonly send: (value: unknown, reason: string) => Promise<void>
}

/** A link may say itself what the answer is: then there is nothing to fill in. */
function TermsForm({ terms, schema, label, send }: TermsFormProps) {
  const who = (
    <p class="as">
      You answer as <Text text={terms.by} most={200} />.
    </p>
  )
  if (!('value' in terms)) return <AnswerForm schema={schema} who={who} label={label} send={send} />
  return (
    <>
      <p>This link gives the answer:</p>
      <JsonBlock value={terms.value} label="The answer" isOfJob={false} />
      <AnswerForm
        schema={null}
        isFixed
        who={who}
        label={label}
        send={(_, reason) => send(terms.value, reason)}
      />
    </>
  )
}

function LinkedMessage({ terms }: { readonly terms: LinkTerms }) {
  const [isSent, setIsSent] = useState(false)
  if (isSent) {
    return (
      <Notice title="It was sent" isWell>
        The job has your message. You may close this page.
      </Notice>
    )
  }
  const send = async (value: unknown, reason: string): Promise<void> => {
    const { name: message, ...place } = placeOf(terms)
    const said = { value, ...(reason === '' ? {} : { reason }) }
    try {
      await call('messages.send', { ...place, message, by: terms.by, ...said })
    } catch (error) {
      if (!(error instanceof CallRefused) || error.status !== 401) throw error
      const isOld = terms.untilMs < serverNow()
      const why = isOld ? 'This link has expired.' : 'The server does not know this link.'
      throw new CallRefused(401, error.code, `${why} Ask for a new one.`)
    }
    setIsSent(true)
  }
  return (
    <section class="asked">
      <h1>
        Send <Text text={terms.name} most={100} />
      </h1>
      <p>
        To job <Text text={terms.job} most={100} />.
      </p>
      <TermsForm terms={terms} schema={null} label="Send" send={send} />
    </section>
  )
}
