/**
 * How attempts ended of which the records do not say enough: a lease that ran out or was taken away, an
 * error of an attempt that others followed. The log has who and why, so this reads the newest entries of
 * the job. It only makes messages of them: what it cannot find is left out.
 */
import type { Entry, EntryOf, Failure, TaskAddress } from '../kernel/index.ts'
import { isLost } from '../kernel/index.ts'
import type { Execution, Outcome, Queries } from '../store/index.ts'

type Loss = EntryOf<'LeaseExpired'> | EntryOf<'LeaseRevoked'>

/** Entries that are read for a message. */
const MOST_ENTRIES = 500

/** What is said of a task whose handler said nothing. `loss`: what the log says, if it was found. */
export function lossText(endedBy: Outcome['endedBy'], loss: string | null): string {
  if (!isLost(endedBy)) return 'It was stopped.'
  return loss ?? `The lease of its last attempt was lost (${endedBy}): history() says why.`
}

/** Of the task that is to blame for how a job stands; null: no lease was lost, or nothing is found. */
export async function lossIn(
  store: Queries,
  job: string,
  { endedBy, at }: Pick<Outcome, 'endedBy' | 'at'>,
): Promise<string | null> {
  if (!isLost(endedBy)) return null
  const view = await store.query({ kind: 'overview', job })
  if (view === null) return null
  const stage = at === null ? 0 : view.stages.findIndex(({ name }) => name === at.stage)
  return lossOf(store, { job, stage, segment: at?.segment ?? 0 })
}

/** Null: nothing is found, or the log cannot be read. */
export async function lossOf(store: Queries, task: TaskAddress): Promise<string | null> {
  const { entries } = await attemptEnds(store, task.job)
  const loss = entries.findLast((entry) => isLossOf(entry, task)) as Loss | undefined
  return loss === undefined ? null : wordsOf(loss)
}

function isLossOf(entry: Entry, { stage, segment }: TaskAddress): boolean {
  if (entry.type !== 'LeaseExpired' && entry.type !== 'LeaseRevoked') return false
  return entry.stage === stage && entry.segment === segment
}

/** What the newest entries of a job say of how its attempts ended. */
export interface AttemptEnds {
  readonly entries: readonly Entry[]
  errorOf(execution: Execution): Failure | null
  /** Who ended it and why; null: not known, or its error says it. */
  reasonOf(execution: Execution): string | null
}

/** Nothing, if the log cannot be read. */
export async function attemptEnds(store: Queries, job: string): Promise<AttemptEnds> {
  const query = { kind: 'history', job, limit: MOST_ENTRIES, newest: true } as const
  const page = await store.query(query).catch(() => [])
  return endsIn(page.map(({ entry }) => entry))
}

export function endsIn(entries: readonly Entry[]): AttemptEnds {
  const ends = new Map<string, Entry>()
  for (const entry of entries) {
    const lease = endedLease(entry)
    if (lease === null || !('segment' in entry)) continue
    const key = `${entry.stage}/${entry.segment}/${lease}`
    // A lease ends once: a task that is forced later was not ended by that.
    if (!ends.has(key)) ends.set(key, entry)
  }
  const endOf = ({ stage, segment, attempt }: Execution): Entry | undefined =>
    ends.get(`${stage}/${segment}/${attempt}`)
  return {
    entries,
    errorOf: (execution) => {
      const end = endOf(execution)
      return end?.type === 'TaskFailed' || end?.type === 'EffectFailed' ? end.error : null
    },
    reasonOf: (execution) => {
      const end = endOf(execution)
      if (end?.type === 'LeaseExpired') return end.diagnostic
      return end?.type === 'LeaseRevoked' || end?.type === 'TaskForced' ? byWhom(end) : null
    },
  }
}

/** The lease that ended with this entry, if it is one that says more than the record of its task. */
function endedLease(entry: Entry): number | null {
  switch (entry.type) {
    case 'TaskFailed':
    case 'EffectFailed':
    case 'LeaseExpired':
    case 'LeaseRevoked':
      return entry.lease
    case 'TaskForced':
      return entry.attempt
    default:
      return null
  }
}

export function byWhom({ by, reason }: { readonly by: string; readonly reason: string }): string {
  return `by ${by}: ${reason}`
}

function wordsOf(loss: Loss): string {
  return loss.type === 'LeaseExpired'
    ? `The lease of its last attempt ran out (${loss.type}): ${sentence(loss.diagnostic)}`
    : `The lease of its last attempt was taken away (${loss.type}) ${sentence(byWhom(loss))}`
}

export function sentence(text: string): string {
  return text.endsWith('.') ? text : `${text}.`
}
