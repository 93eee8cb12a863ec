/**
 * Answers that several readers share. Who takes an answer that is a little old says so by `cache-control: max-age`, in
 * seconds, as open pages of the dashboard do; then the same question, asked by callers who may see the same, is answered once
 * for all of them. Who says nothing gets an answer of its own.
 *
 * Only questions that many ask again and again, and whose answer does not depend on who asks, are shared.
 */
import type { Operation, OperationName } from '../protocol/index.ts'
import { nowUs } from '../store/clock.ts'
import type { Caller } from './tokens.ts'

const SHARED: ReadonlySet<string> = new Set<OperationName>([
  'counts',
  'figures',
  'health',
  'inbox.list',
  'limits.list',
  'metrics',
  'quarantine.list',
  'queues.list',
  'workers.list',
])
/** Whatever a reader takes. */
const MOST_AGE_MS = 5_000
const MOST_KEPT = 100

interface KeptAnswer {
  /** When it was begun: what happened since may not be in it. */
  readonly begunAt: number
  readonly body: Promise<string>
}

/** What is asked, by whom, and how. */
export interface SharedQuestion {
  readonly operation: Pick<Operation, 'name'>
  readonly caller: Pick<Caller, 'link' | 'scope' | 'seesPayloads'>
  readonly input: object
  readonly headers: { get(name: string): string | null }
}

export class SharedAnswers {
  readonly #now: () => number
  /** Oldest first. */
  readonly #kept = new Map<string, KeptAnswer>()

  /** `now`: milliseconds; only differences count. */
  constructor(now = () => nowUs() / 1_000) {
    this.#now = now
  }

  /** The body of the answer; `make` makes it, if there is none that is new enough. */
  body(question: SharedQuestion, make: () => Promise<string>): Promise<string> {
    const ageMs = ageTaken(question)
    if (ageMs === 0) return make()
    const { operation, caller, input } = question
    const key = JSON.stringify([operation.name, caller.seesPayloads, input])
    const now = this.#now()
    const known = this.#kept.get(key)
    if (known !== undefined && now - known.begunAt < ageMs) return known.body
    const body = make()
    this.#keep(key, { begunAt: now, body }, now)
    return body
  }

  #keep(key: string, answer: KeptAnswer, now: number): void {
    this.#kept.delete(key)
    this.#kept.set(key, answer)
    // A failure is the answer for those who asked meanwhile, and not for the next one.
    answer.body.catch(() => {
      if (this.#kept.get(key) === answer) this.#kept.delete(key)
    })
    for (const [other, { begunAt }] of this.#kept) {
      if (this.#kept.size <= MOST_KEPT && now - begunAt < MOST_AGE_MS) break
      this.#kept.delete(other)
    }
  }
}

/** How old the answer may be, in milliseconds; 0: it is not shared. */
function ageTaken({ operation, caller, headers }: SharedQuestion): number {
  if (!SHARED.has(operation.name) || caller.scope !== null || caller.link !== null) return 0
  const [, seconds] = /\bmax-age=(\d{1,6})\b/.exec(headers.get('cache-control') ?? '') ?? []
  return Math.min(1_000 * Number(seconds ?? 0), MOST_AGE_MS)
}
