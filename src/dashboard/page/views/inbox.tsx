/**
 * Questions that wait for people, each with a form. An answer carries a name and a reason. Whom they are for, and of which
 * type of job they are, stands in the address. The page of a job shows those of that job.
 */
import { useRef, useState } from 'preact/hooks'
import { announcement } from '../action.ts'
import type { AnswerOf } from '../api.ts'
import { call, CallRefused, messageOf } from '../api.ts'
import { changes, ONCE, useLive } from '../live.ts'
import { Empty, Problem, Text, Waiting } from '../parts.tsx'
import type { RouteParameters } from '../route.ts'
import { goTo, linkTo } from '../route.ts'
import { line, seen } from '../safe-text.ts'
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
      ) : (
        <AllQuestions
          key={key}
          open={data.questions}
          none={isHeld ? 'No such question waits.' : 'No question waits. All is decided.'}
        />
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

function keyOf({ job, stage, segment, name, since }: ShownQuestion): string {
  return JSON.stringify([job, stage, segment, name, since])
}

interface OfJobProps {
  readonly job: string
  /** It may ask something now. */
  readonly mayAsk: boolean
}

/** What a job asks, on its own page. Nothing is shown of one that asks nothing. */
export function QuestionsOfJob({ job, mayAsk }: OfJobProps) {
  const { data, problem } = useLive(`questions ${job} ${mayAsk}`, async (ended) => {
    return mayAsk ? (await call('inbox.list', { job, limit: PAGE }, ended)).questions : []
  })
  const { shown, mark, now } = useShownQuestions(data)
  if (shown.length === 0) return <Problem problem={problem} />
  return (
    <section aria-labelledby="asks">
      <h2 id="asks">It asks</h2>
      <Problem problem={problem} />
      <Questions shown={shown} mark={mark} now={now} isOnJob />
    </section>
  )
}

interface ShownQuestions {
  readonly shown: readonly ShownQuestion[]
  /** Those that wait now. */
  readonly now: ReadonlySet<string>
  readonly mark: (key: string, isTypedIn: boolean) => void
}

/**
 * In the order in which they came. One that is being answered stays where it is, also when it waits no more.
 * `open`: those that wait now, the oldest first; null: it is not known yet.
 */
function useShownQuestions(open: readonly ShownQuestion[] | null): ShownQuestions {
  const [typedIn, setTypedIn] = useState<ReadonlySet<string>>(new Set())
  const before = useRef<readonly ShownQuestion[]>([])
  const waiting = open ?? before.current
  const now = new Map(waiting.map((one) => [keyOf(one), one]))
  const kept = before.current.flatMap((one) => {
    return now.get(keyOf(one)) ?? (typedIn.has(keyOf(one)) ? one : [])
  })
  const known = new Set(kept.map(keyOf))
  const shown = [...kept, ...waiting.filter((one) => !known.has(keyOf(one)))]
  before.current = shown
  const mark = (key: string, isTypedIn: boolean): void => {
    setTypedIn(
      (was) => new Set([...[...was].filter((one) => one !== key), ...(isTypedIn ? [key] : [])]),
    )
  }
  return { shown, now: new Set(now.keys()), mark }
}

interface QuestionsProps extends ShownQuestions {
  /** They stand on the page of their job. */
  readonly isOnJob?: boolean
}

function Questions({ shown, now, mark, isOnJob = false }: QuestionsProps) {
  return (
    <ul class="questions">
      {shown.map((one) => (
        <QuestionCard
          key={keyOf(one)}
          of={one}
          isOver={!now.has(keyOf(one))}
          isOnJob={isOnJob}
          onTyped={(isTypedIn) => mark(keyOf(one), isTypedIn)}
        />
      ))}
    </ul>
  )
}

/** `none`: what is said if there is none. */
function AllQuestions({
  open,
  none,
}: {
  readonly open: readonly ShownQuestion[]
  readonly none: string
}) {
  const questions = useShownQuestions(open)
  return questions.shown.length === 0 ? <Empty>{none}</Empty> : <Questions {...questions} />
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

interface CardProps {
  readonly of: ShownQuestion
  /** It waits no more. */
  readonly isOver: boolean
  readonly isOnJob: boolean
  /** Told true as soon as something is filled in, and false when it need not be kept. */
  readonly onTyped: (isTypedIn: boolean) => void
}

function QuestionCard({ of, isOver, isOnJob, onTyped }: CardProps) {
  const Heading = isOnJob ? 'h3' : 'h2'
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
      onTyped(false)
    } finally {
      changes.value += 1
    }
  }
  return (
    <li class="card question" onInput={() => onTyped(true)}>
      <Heading>
        <Text text={of.ask} most={600} />
      </Heading>
      <QuestionFacts of={of} hasJob={!isOnJob && may('jobs.show')} />
      {!isOnJob && <GivenInput job={of.job} />}
      {may('inbox.answer') && !seesPayloads() && (
        <p class="none">Your token does not see what is asked: it is not answered here.</p>
      )}
      {isOver && <Meanwhile of={of} onClose={() => onTyped(false)} />}
      {may('inbox.answer') && seesPayloads() && (
        <AnswerForm schema={of.schema} isOver={isOver} who={<YourName />} send={send} />
      )}
    </li>
  )
}

/** What became of a question that ceased to wait while the reader was at it. */
function Meanwhile({ of, onClose }: { readonly of: ShownQuestion; readonly onClose: () => void }) {
  const { job, name, stage, segment } = of
  const place = stage === null ? {} : { stage, segment }
  const ask = async (ended: AbortSignal): Promise<string> => {
    if (!may('inbox.show')) return 'It waits no more.'
    try {
      const { state, answers } = await call('inbox.show', { job, name, ...place }, ended)
      const who = answers.map(({ by }) => line(by, 80)).join(', ')
      if (state === 'ANSWERED') return `It was answered by ${who} meanwhile.`
      if (state === 'TIMED_OUT') return 'Its time is over.'
      return state === 'OPEN' ? 'It is asked anew.' : 'The job does not ask it any more.'
    } catch (error) {
      if (error instanceof CallRefused) return messageOf(error)
      throw error
    }
  }
  const { data } = useLive(`meanwhile ${keyOf(of)}`, ask, ONCE)
  return (
    <div class="meanwhile" role="status">
      <p>{data === null ? 'It waits no more.' : seen(data)} What is filled in here is not sent.</p>
      <button type="button" onClick={onClose}>
        Close
      </button>
    </div>
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
