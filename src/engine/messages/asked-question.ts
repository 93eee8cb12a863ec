/**
 * One question of a job, also one that waits no more: who answered it, or that its time is over. A link leads to it, which
 * may be opened late.
 */
import { answerId, questionIdentity, questionIn } from '../../definition/index.ts'
import type { Job, Task, Wait } from '../../kernel/index.ts'
import type { Store } from '../../store/index.ts'
import { openQuestions } from '../../store/state/open-questions.ts'
import { UnknownJob } from '../errors.ts'
import type { TaskChoice } from '../operator/operator-commands.ts'
import { tasksOf } from '../operator/operator-commands.ts'
import type { InboxItem, QuestionRef } from './inbox.ts'
import { itemOf } from './inbox.ts'

/** NOT_ASKED: not yet, or no more, such as of a job that was cancelled. */
export type QuestionState = 'OPEN' | 'ANSWERED' | 'TIMED_OUT' | 'NOT_ASKED'

export interface AskedQuestion {
  readonly job: string
  readonly type: string
  readonly name: string
  readonly state: QuestionState
  /** When the last answer came, or its time was over. */
  readonly endedAt: Date | null
  readonly answers: readonly { readonly by: string; readonly at: Date }[]
  /** Null: nothing is known of it. */
  readonly question: InboxItem | null
}

/** `now`: the authority's time. */
export async function askedQuestion(
  store: Store,
  { job: id, name }: QuestionRef,
  choice: TaskChoice,
  now: number,
): Promise<AskedQuestion> {
  const view = await store.query({ kind: 'job', job: id })
  if (view === null) throw new UnknownJob(id)
  const all = tasksOf(view, choice).flatMap((task) => questionOf(view.job, task, name, now) ?? [])
  const nothing = { state: 'NOT_ASKED', endedAt: null, answers: [], question: null } as const
  // Of a pipeline several segments may have asked it: one that waits is meant before others.
  const found = all.find(({ state }) => state === 'OPEN') ?? all.at(-1) ?? nothing
  return { job: id, type: view.job.spec.type, name, ...found }
}

type FoundQuestion = Omit<AskedQuestion, 'job' | 'type' | 'name'>

/** Null: the task never asked it, or its record is gone. */
function questionOf(job: Job, task: Task, name: string, now: number): FoundQuestion | null {
  const waits = (task.waiting?.waits ?? []).filter((one) => isOf(one, name))
  const [first] = waits
  if (first === undefined) return null
  const open = openQuestions(task).find((one) => one.name === name)
  const last = waits.reduce((a, b) => ((a.endedAt ?? 0) > (b.endedAt ?? 0) ? a : b))
  const { state, endedAt } = open === undefined ? endOf(last) : endByTime(first, now)
  const { id, spec } = job
  const item = itemOf({
    job: id,
    stage: task.stage,
    type: spec.type,
    stageName: spec.stages?.[task.stage]?.name ?? null,
    segment: task.segment,
    name,
    waits: open?.waits ?? [first],
    submittedBy: spec.submittedBy,
  })
  const isOver = endedAt === null ? null : new Date(endedAt)
  const answers = answersOf(task, first, name)
  const question = item === null ? null : { ...item, answers: answers.length }
  return { state, endedAt: isOver, answers, question }
}

function isOf({ ask, name: ofWait }: Wait, name: string): boolean {
  const question = ask === null ? null : questionIn(ask)
  return question !== null && (question.name ?? ofWait) === name
}

interface End {
  readonly state: QuestionState
  readonly endedAt: number | null
}

/** A task that waits is told only when a worker takes it up that a time is over. */
function endByTime({ until }: Wait, now: number): End {
  const isOver = until !== null && until <= now
  return isOver ? { state: 'TIMED_OUT', endedAt: until } : { state: 'OPEN', endedAt: null }
}

function endOf({ endedAt, endedBy }: Wait): End {
  if (endedBy === null) return { state: 'NOT_ASKED', endedAt: null }
  return { state: endedBy === 'time' ? 'TIMED_OUT' : 'ANSWERED', endedAt }
}

/** Ids of answers say which question they are for. */
function answersOf(task: Task, { schema }: Wait, name: string): AskedQuestion['answers'] {
  const identity = questionIdentity(schema) ?? name
  const own = (task.waiting?.messages ?? []).filter(
    ({ id, by, state }) => id === answerId(identity, by) && state === 'TAKEN',
  )
  return own.map(({ by, at }) => ({ by, at: new Date(at) }))
}
