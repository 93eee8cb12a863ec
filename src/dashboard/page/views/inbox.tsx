/**
 * Questions that wait for people, each with a form. An answer carries a name and a reason. Whom they are for, and of which
 * type of job they are, stands in the address.
 */
import { useState } from 'preact/hooks'
import { announcement } from '../action.ts'
import type { AnswerOf } from '../api.ts'
import { call } from '../api.ts'
import { changes, useLive } from '../live.ts'
import { Empty, Problem, Text, Waiting } from '../parts.tsx'
import type { RouteParameters } from '../route.ts'
import { goTo, linkTo } from '../route.ts'
import { actorName, keepName, may, reader, seesPayloads } from '../session.ts'
import { AnswerForm } from './answer-form.tsx'
import type { ShownQuestion } from './question.tsx'
import { GivenInput, QuestionFacts } from './question.tsx'

/** Each has a form: more of them at once are hard to look over. */
const PAGE = 20
/** A page may be empty, and not the last one. */
const MOST_PAGES = 10

async function questionsBehind(
  filter: Readonly<Record<string, string>>,
  first: string | undefined,
  ended: AbortSignal,
): Promise<AnswerOf<'inbox.list'>> {
  let page: AnswerOf<'inbox.list'> = { questions: [], next: first ?? null }
  for (let i = 0; i < MOST_PAGES; i++) {
    const behind = page.next === null ? {} : { after: page.next }
    page = await call('inbox.list', { ...filter, ...behind, limit: PAGE }, ended)
    if (page.questions.length > 0 || page.next === null) break
  }
  return page
}

export function InboxView({ parameters }: { readonly parameters: RouteParameters }) {
  const { for: who = '', type = '', after } = parameters
  const filter = { ...(who === '' ? {} : { for: who }), ...(type === '' ? {} : { type }) }
  const key = JSON.stringify(['inbox', filter, after])
  const { data, problem } = useLive(key, (ended) => questionsBehind(filter, after, ended), 2_000)
  const isHeld = who !== '' || type !== ''
  return (
    <>
      <InboxFilter key={`${who} ${type}`} who={who} type={type} questions={data?.questions ?? []} />
      <Problem problem={problem} />
      {data === null ? (
        problem === null && <Waiting />
      ) : data.questions.length === 0 ? (
        <Empty>{isHeld ? 'No such question waits.' : 'No question waits. All is decided.'}</Empty>
      ) : (
        <ul class="questions">
          {data.questions.map((one) => (
            <QuestionCard key={`${one.job} ${one.stage} ${one.segment} ${one.name}`} of={one} />
          ))}
        </ul>
      )}
      <nav class="buttons pages" aria-label="Pages">
        {after !== undefined && (
          <a class="button" href={linkTo('inbox', { for: who, type })}>
            The oldest
          </a>
        )}
        {data !== null && data.next !== null && (
          <a class="button" href={linkTo('inbox', { for: who, type, after: data.next })}>
            Newer ones
          </a>
        )}
      </nav>
    </>
  )
}

interface FilterProps {
  readonly who: string
  readonly type: string
  readonly questions: readonly ShownQuestion[]
}

function InboxFilter({ who, type, questions }: FilterProps) {
  const [given, setGiven] = useState({ for: who, type })
  const people = [...new Set(questions.flatMap((one) => one.for))].toSorted()
  const types = [...new Set(questions.map((one) => one.type))].toSorted()
  const field = (name: 'for' | 'type', label: string, known: readonly string[]) => (
    <label>
      {label}
      <input
        name={name}
        value={given[name]}
        list={`inbox-${name}`}
        maxLength={256}
        autoComplete="off"
        onInput={(event) => setGiven({ ...given, [name]: event.currentTarget.value })}
      />
      <datalist id={`inbox-${name}`}>
        {known.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </label>
  )
  return (
    <form
      class="filter inbox-filter"
      role="search"
      aria-label="Which questions"
      onSubmit={(event) => {
        event.preventDefault()
        goTo('inbox', { for: given.for.trim(), type: given.type.trim() })
      }}
    >
      {field('for', 'For', people)}
      {field('type', 'Type of job', types)}
      <button type="submit">Show</button>
      {(who !== '' || type !== '') && (
        <a class="button" href={linkTo('inbox')}>
          Show all
        </a>
      )}
    </form>
  )
}

function QuestionCard({ of }: { readonly of: ShownQuestion }) {
  const send = async (value: unknown, reason: string): Promise<void> => {
    const { job, name, stage, segment } = of
    const by = actorName.value.trim()
    try {
      await call('inbox.answer', {
        job,
        name,
        value,
        ...(by === '' ? {} : { by }),
        ...(reason === '' ? {} : { reason }),
        ...(stage === null ? {} : { stage, segment }),
      })
      announcement.value = 'Your answer was taken.'
    } finally {
      changes.value += 1
    }
  }
  return (
    <li class="card question">
      <h2>
        <Text text={of.ask} most={600} />
      </h2>
      <QuestionFacts of={of} hasJob={may('jobs.show')} />
      <GivenInput job={of.job} />
      {may('inbox.answer') && !seesPayloads() && (
        <p class="none">Your token does not see what is asked: it is not answered here.</p>
      )}
      {may('inbox.answer') && seesPayloads() && (
        <AnswerForm schema={of.schema} who={<YourName />} send={send} />
      )}
    </li>
  )
}

function YourName() {
  return (
    <label>
      Your name
      <input
        value={actorName.value}
        placeholder={reader.value?.name ?? ''}
        maxLength={256}
        autoComplete="name"
        onInput={(event) => keepName(event.currentTarget.value)}
      />
    </label>
  )
}
