/**
 * What waits for people, and their answers.
 *
 * The store keeps a list of the questions that are open: a page reads those that it shows, however many jobs there are. An answer is a message that names
 * its question: one that comes too late is refused, and never taken for the answer to another question.
 */
import type { Question } from '../../definition/index.ts'
import {
  answerId,
  askedSchema,
  assertFits,
  InvalidDefinition,
  questionIdentity,
  questionIn,
  runnableFor,
  shown,
  toJson,
  validated,
} from '../../definition/index.ts'
import type { Job, Payload, Task, Wait } from '../../kernel/index.ts'
import type { CommandBatcher } from '../../store/command-batcher.ts'
import type { QuestionSummary, Store } from '../../store/index.ts'
import { openQuestions } from '../../store/state/open-questions.ts'
import { AnswerRefused, Refused, UnknownJob } from '../errors.ts'
import type { DefinitionOf } from '../operator/operator.ts'
import type { TaskChoice } from '../operator/operator-commands.ts'
import { tasksOf } from '../operator/operator-commands.ts'

export interface InboxFilter {
  /** Only those that are for this person or group. */
  readonly for?: string
  /** Only of jobs of this type. */
  readonly type?: string
  /** Only of this job. */
  readonly job?: string
  /** `next` of the page before. */
  readonly after?: string
  /** Default 100. */
  readonly limit?: number
}

export interface InboxPage {
  /** The oldest first. A page may be short, or empty, and not the last one. */
  readonly questions: readonly InboxItem[]
  /** Give it as `after` to go on; null: there is no more. */
  readonly next: string | null
}

/** A question that waits for an answer. */
export interface InboxItem {
  readonly job: string
  readonly type: string
  /** Null: a plain job. */
  readonly stage: string | null
  readonly segment: number
  /** Of the question, within its job: what `answer` names. */
  readonly name: string
  readonly message: string
  readonly ask: string
  readonly for: readonly string[]
  /** JSON Schema of what an answer says; null: it is not known. */
  readonly schema: object | null
  readonly since: Date
  /** Null: it waits for ever. */
  readonly until: Date | null
  /** How many answers it takes, and how many came. */
  readonly quorum: number
  readonly answers: number
  /** Who submitted the job; null: not said. */
  readonly submittedBy: string | null
  readonly notBySubmitter: boolean
}

export interface AnswerOptions extends TaskChoice {
  /** Who answers. */
  readonly by: string
  readonly reason?: string
}

/** Which question: an item of the inbox will do. */
export type QuestionRef = Pick<InboxItem, 'job' | 'name'>

interface AskedWait {
  readonly job: Job
  readonly task: Task
  /** Those of the question that are open. */
  readonly waits: readonly Wait[]
  readonly question: Question
}

const DEFAULT_LIMIT = 100

export class Inbox {
  readonly #store: Store
  readonly #batcher: CommandBatcher
  readonly #definitionOf: DefinitionOf

  constructor(store: Store, batcher: CommandBatcher, definitionOf: DefinitionOf) {
    this.#store = store
    this.#batcher = batcher
    this.#definitionOf = definitionOf
  }

  async list({ limit = DEFAULT_LIMIT, ...filter }: InboxFilter): Promise<InboxPage> {
    for (const [name, value] of Object.entries(filter)) {
      if (typeof value === 'string' || (name === 'after' && value === undefined)) continue
      throw new InvalidDefinition(`\`${name}\` of inbox() is one name, not ${shown(value)}.`)
    }
    const page = await this.#store.query({ kind: 'questions', ...filter, limit })
    return { questions: page.questions.flatMap((one) => itemOf(one) ?? []), next: page.next }
  }

  async #askedBy(id: string, choice: TaskChoice = {}): Promise<AskedWait[]> {
    const view = await this.#store.query({ kind: 'job', job: id })
    if (view === null) return []
    return tasksOf(view, choice).flatMap((task) => questionsOf(view.job, task))
  }

  /** Refused if it does not fit, and then the question stays open. */
  async answer(to: QuestionRef, value: unknown, options: AnswerOptions): Promise<void> {
    const { by, reason = 'Answered', stage, segment } = options
    if (typeof by !== 'string' || by === '') {
      throw new InvalidDefinition(
        `answer() says who answers: write answer(item, value, { by: '…' }).`,
      )
    }
    const asked = await this.#find(to, { stage, segment })
    const { job, task, question } = asked
    const [wait] = asked.waits as readonly [Wait]
    if (question.notBySubmitter && job.spec.submittedBy === by) {
      throw new AnswerRefused(to.job, to.name, `${by} submitted the job, and may not answer it`)
    }
    const text = await this.#checked(asked, wait, value)
    const identity = questionIdentity(wait.schema) ?? to.name
    const id = answerId(identity, by)
    const { rejection } = await this.#batcher.send({
      type: 'SendMessage',
      job: task.job,
      stage: task.stage,
      segment: task.segment,
      id,
      name: wait.message as string,
      value: text,
      checked: wait.schema,
      by,
      reason,
    })
    if (rejection?.code === 'MessageNotChecked') throw tooLate(to)
    if (rejection !== null) {
      throw new Refused(`Answering '${to.name}' of job ${to.job}`, rejection)
    }
    await this.#assertTaken(to, task, id)
  }

  /** Another may have answered in between: then this one is kept, and no question takes it. */
  async #assertTaken(to: QuestionRef, { job, stage, segment }: Task, id: string): Promise<void> {
    const now = await this.#store.query({ kind: 'task', job, stage, segment })
    const message = now?.waiting?.messages.find((one) => one.id === id)
    if (message !== undefined && message.state !== 'TAKEN') throw tooLate(to)
  }

  async #find({ job, name }: QuestionRef, choice: TaskChoice): Promise<AskedWait> {
    if ((await this.#store.query({ kind: 'outcome', job })) === null) throw new UnknownJob(job)
    const open = await this.#askedBy(job, choice)
    const asked = open.filter((one) => one.question.name === name)
    const [only] = asked
    if (only === undefined) {
      throw tooLate(
        { job, name },
        open.map(({ question }) => question.name),
      )
    }
    if (asked.length === 1) return only
    throw new InvalidDefinition(
      `${asked.length} segments of job ${job} ask '${name}': give a \`stage\` and a \`segment\`.`,
      { job, name },
    )
  }

  /** By what the wait asks for, and by the definition, if this engine has it. */
  async #checked({ job, task }: AskedWait, wait: Wait, value: unknown): Promise<Payload> {
    const name = wait.message as string
    const text = toJson(value, `What message '${name}' says`, 'value')
    if (wait.schema !== null) assertFits(wait.schema, { name, value: text })
    const definition = this.#definitionOf(job.spec.type)
    const stage = job.spec.stages?.[task.stage]?.name ?? null
    const runnable = definition === null ? null : runnableFor(definition, stage)
    await validated(runnable?.messages.get(name)?.schema, value, `What message '${name}' says`)
    return text
  }
}

/** `open`: what the job asks instead. */
function tooLate({ job, name }: QuestionRef, open: readonly string[] = []): AnswerRefused {
  const instead = open.length === 0 ? '' : ` It asks '${[...new Set(open)].join("', '")}'`
  const why = 'it is not asked: it was answered, or its time is over'
  return new AnswerRefused(job, name, instead === '' ? why : `${why}.${instead}`)
}

/** The questions that a task waits for: those of a quorum are one. */
function questionsOf(job: Job, task: Task): AskedWait[] {
  return openQuestions(task).flatMap(({ waits }) => {
    const question = questionIn(waits[0].ask as Payload)
    return question === null ? [] : { job, task, waits, question }
  })
}

/** Null: a program that is no worker of ours wrote what it asks. */
export function itemOf(summary: QuestionSummary): InboxItem | null {
  const { job, type, stageName: stage, segment, name, waits, submittedBy } = summary
  const [first] = waits as readonly [Wait]
  const question = questionIn(first.ask as Payload)
  if (question === null) return null
  return {
    job,
    type,
    stage,
    segment,
    name,
    message: first.message as string,
    ask: question.ask,
    for: question.for,
    schema: askedSchema(first.schema),
    since: new Date(first.since),
    until: first.until === null ? null : new Date(first.until),
    quorum: question.quorum,
    answers: question.quorum - waits.length,
    submittedBy,
    notBySubmitter: question.notBySubmitter,
  }
}
