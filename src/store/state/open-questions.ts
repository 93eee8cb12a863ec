/**
 * The questions that tasks wait for people with, the oldest first: an inbox is read without a look at other jobs.
 *
 * What is asked is text that the kernel does not read. Here it is read with care: a worker of any kind may have
 * written it. A question stands in several lists, one for each way to ask for it, so every filter is one list.
 *
 * The index in memory follows from the entries that were applied, so it is never saved. A question that left stays
 * in the arrays until they are sorted again, and is passed over.
 */
import type { Job, Task, Wait } from '../../kernel/index.ts'
import { isPending, LIMITS, waitsOfSuspension } from '../../kernel/index.ts'
import { isWritable } from '../../kernel/wellformed.ts'
import { countUpTo } from '../../log/index.ts'
import type { QuestionsFilter } from '../read-model.ts'

/** Where a question stands in a list: no two of them stand at the same place. */
export interface QuestionPlace {
  /** Since when it is asked. */
  readonly since: number
  /** Of the JobSubmitted of its job. */
  readonly position: number
  readonly stage: number
  readonly segment: number
  readonly name: string
}

/** Those of a quorum are one. */
export interface OpenQuestion {
  readonly name: string
  readonly for: readonly string[]
  /** Those that are open, the first one first. */
  readonly waits: readonly [Wait, ...Wait[]]
}

const NO_QUESTIONS: readonly OpenQuestion[] = []

/** What the task asks now, in the order of its waits. */
export function openQuestions(task: Task): readonly OpenQuestion[] {
  if (task.waiting === null || task.waiting.suspended === null) return NO_QUESTIONS
  const found = new Map<string, OpenQuestion & { readonly waits: Wait[] }>()
  for (const wait of waitsOfSuspension(task)) {
    if (wait.ask === null || !isPending(task, wait)) continue
    const { name, people } = readAsk(wait.ask, wait.name)
    const known = found.get(name)
    if (known === undefined) found.set(name, { name, for: people, waits: [wait] })
    else known.waits.push(wait)
  }
  return [...found.values()]
}

function readAsk(text: string, ofWait: string): { name: string; people: readonly string[] } {
  let asked: unknown
  try {
    asked = JSON.parse(text)
  } catch {
    asked = null
  }
  const { name, for: people } = (asked ?? {}) as { name?: unknown; for?: unknown }
  const named = Array.isArray(people) ? people.filter(isName) : []
  return {
    name: isName(name) ? name : ofWait,
    people: [...new Set(named)].slice(0, LIMITS.people),
  }
}

function isName(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length > 0 &&
    value.length <= LIMITS.nameChars &&
    isWritable(value)
  )
}

/** The list that has all which the filter lets through; of one that names a job, and no fewer. */
export function listOf({ for: who, type, job }: QuestionsFilter): string {
  if (job !== undefined) return `job ${job}`
  if (who === undefined) return type === undefined ? 'all' : `type ${type}`
  return type === undefined ? `for ${who}` : `both ${type.length} ${type} ${who}`
}

/** Every list that it stands in. */
export function listsOf(question: OpenQuestion, { id, spec: { type } }: Job): string[] {
  const some: QuestionsFilter[] = [{}, { type }, { job: id }]
  for (const who of question.for) some.push({ for: who }, { for: who, type })
  return some.map(listOf)
}

export function placeOf(
  { name, waits: [first] }: OpenQuestion,
  { stage, segment }: Task,
  { firstPosition: position }: Job,
): QuestionPlace {
  return { since: first.since, position, stage, segment, name }
}

export function isBehind(a: QuestionPlace, b: QuestionPlace): boolean {
  if (a.since !== b.since) return a.since > b.since
  if (a.position !== b.position) return a.position > b.position
  if (a.stage !== b.stage) return a.stage > b.stage
  return a.segment === b.segment ? a.name > b.name : a.segment > b.segment
}

/** What many questions have in common: kept once. */
interface QuestionKind {
  readonly name: string
  /** Every list that such a question stands in; of a pipeline, that of its job, too. */
  readonly lists: readonly QuestionList[]
  readonly key: string
  size: number
}

class QuestionRow implements QuestionPlace {
  readonly kind: QuestionKind
  readonly job: string
  readonly since: number
  readonly position: number
  readonly stage: number
  readonly segment: number
  hasLeft = false

  constructor(kind: QuestionKind, job: string, place: QuestionPlace) {
    this.kind = kind
    this.job = job
    this.since = place.since
    this.position = place.position
    this.stage = place.stage
    this.segment = place.segment
  }

  get name(): string {
    return this.kind.name
  }
}

/** Below this a list is not worth sorting. */
const FEW = 64

/** One list: ascending by place, unless something came since. */
class QuestionList {
  readonly name: string
  /** How many are in it that have not left. */
  size = 0
  #rows: QuestionRow[] = []
  #isSorted = true

  constructor(name: string) {
    this.name = name
  }

  add(row: QuestionRow): void {
    const last = this.#rows.at(-1)
    this.#isSorted &&= last === undefined || isBehind(row, last)
    this.#rows.push(row)
    this.size += 1
  }

  /** Also if no query ever reads it. */
  removed(): void {
    this.size -= 1
    if (this.#rows.length > FEW && this.#rows.length > 4 * this.size) this.#sorted()
  }

  /** Those behind a place, in order. */
  *behind(place: QuestionPlace | null): IterableIterator<QuestionRow> {
    const rows = this.#sorted()
    const from =
      place === null
        ? 0
        : countUpTo(0, rows.length, (n) => (isBehind(rows[n] as QuestionRow, place) ? 1 : 0))
    for (let i = from; i < rows.length; i++) {
      const row = rows[i] as QuestionRow
      if (!row.hasLeft) yield row
    }
  }

  /** Another array if it changes: an iteration over the old one goes on undisturbed. */
  #sorted(): readonly QuestionRow[] {
    if (this.#isSorted && this.#rows.length <= 2 * this.size + FEW) return this.#rows
    this.#rows = this.#rows.filter(({ hasLeft }) => !hasLeft)
    if (!this.#isSorted) this.#rows.sort((a, b) => (isBehind(a, b) ? 1 : -1))
    this.#isSorted = true
    return this.#rows
  }
}

export class OpenQuestions {
  readonly #lists = new Map<string, QuestionList>()
  readonly #kinds = new Map<string, QuestionKind>()
  /** By task: few have one, and nearly all of these have one alone. */
  readonly #byTask = new Map<string, QuestionRow | readonly QuestionRow[]>()

  get size(): number {
    return this.#lists.get(listOf({}))?.size ?? 0
  }

  /** AFTER the task changed, if it waits or waited. */
  update(job: Job, task: Task): void {
    const { stage, segment } = task
    const key = job.task === null ? `${job.id}\u0000${stage}/${segment}` : job.id
    const known = this.#byTask.get(key)
    const open = openQuestions(task)
    if (known === undefined && open.length === 0) return
    for (const row of rowsIn(known)) this.#remove(row)
    if (open.length === 0) {
      this.#byTask.delete(key)
      return
    }
    const rows = open.map((one) => this.#add(one, job, task))
    this.#byTask.set(key, rows.length === 1 ? (rows[0] as QuestionRow) : rows)
  }

  /** Those that the filter lets through behind a place, the oldest first; of a job, all. */
  *behind(
    filter: QuestionsFilter,
    place: QuestionPlace | null,
  ): IterableIterator<QuestionPlace & { readonly job: string }> {
    // A plain job has no list of its own.
    const own = filter.job === undefined ? undefined : this.#byTask.get(filter.job)
    if (own === undefined) {
      yield* this.#lists.get(listOf(filter))?.behind(place) ?? []
      return
    }
    const rows = rowsIn(own).toSorted((a, b) => (isBehind(a, b) ? 1 : -1))
    for (const row of rows) if (place === null || isBehind(row, place)) yield row
  }

  #add(question: OpenQuestion, job: Job, task: Task): QuestionRow {
    const kind = this.#kindOf(question, job)
    const row = new QuestionRow(kind, job.id, placeOf(question, task, job))
    kind.size += 1
    for (const list of kind.lists) list.add(row)
    return row
  }

  #kindOf(question: OpenQuestion, job: Job): QuestionKind {
    const ofJob = job.task === null ? job.id : null
    const { name, for: people } = question
    const key = JSON.stringify([job.spec.type, name, people, ofJob])
    const known = this.#kinds.get(key)
    if (known !== undefined) return known
    const all = listsOf(question, job)
    const own = listOf({ job: job.id })
    const lists = all
      .filter((list) => list !== own || ofJob !== null)
      .map((list) => this.#list(list))
    const kind = { name, lists, key, size: 0 }
    this.#kinds.set(key, kind)
    return kind
  }

  #list(name: string): QuestionList {
    const known = this.#lists.get(name)
    if (known !== undefined) return known
    const list = new QuestionList(name)
    this.#lists.set(name, list)
    return list
  }

  #remove(row: QuestionRow): void {
    const { kind } = row
    row.hasLeft = true
    kind.size -= 1
    for (const list of kind.lists) list.removed()
    if (kind.size > 0) return
    this.#kinds.delete(kind.key)
    for (const list of kind.lists) this.#dropIfUnused(list)
  }

  /** Other kinds may have it. */
  #dropIfUnused(list: QuestionList): void {
    if (list.size === 0) this.#lists.delete(list.name)
  }
}

const NO_ROWS: readonly QuestionRow[] = []

function rowsIn(known: QuestionRow | readonly QuestionRow[] | undefined): readonly QuestionRow[] {
  if (known === undefined) return NO_ROWS
  return known instanceof QuestionRow ? [known] : known
}
