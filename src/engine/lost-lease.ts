/**
 * Why the lease of a task's last attempt was lost: it ran out, or was revoked. The handler said
 * nothing then, so this reads the log, which has who and why. It only makes a message of it: what it
 * cannot find is left out.
 */
import type { Entry, EntryOf, TaskAddress } from '../kernel/index.ts'
import type { JobOverview, Outcome, Store } from '../store/index.ts'

type Loss = EntryOf<'LeaseExpired'> | EntryOf<'LeaseRevoked'>

/** The loss is the newest entry of its task, or a late report was refused since. */
const NEWEST = 3
/** How far back the history is read, until so many of its entries were seen. */
const RANGES: readonly number[] = [1, 1_000, 100_000, 10_000_000, Infinity]
/** A range that has more is too long to be read for a message. */
const MOST_ENTRIES = 100

export function isLost(endedBy: Outcome['endedBy']): boolean {
  return endedBy === 'LeaseExpired' || endedBy === 'LeaseRevoked'
}

/** What is said of a task whose handler said nothing. `loss`: what the log says, if it was found. */
export function lossText(endedBy: Outcome['endedBy'], loss: string | null): string {
  if (!isLost(endedBy)) return 'It was stopped.'
  return loss ?? `The lease of its last attempt was lost (${endedBy}): history() says why.`
}

/** Of the task that is to blame for how a job stands; null: no lease was lost, or nothing is found. */
export async function lossIn(
  store: Store,
  job: string,
  { endedBy, at }: Pick<Outcome, 'endedBy' | 'at'>,
): Promise<string | null> {
  if (!isLost(endedBy)) return null
  const view = await store.query({ kind: 'overview', job })
  if (view === null) return null
  const stage = at === null ? 0 : view.stages.findIndex(({ name }) => name === at.stage)
  return lossOf(store, view, { job, stage, segment: at?.segment ?? 0 })
}

/** Null: nothing is found, or the log cannot be read. */
export async function lossOf(
  store: Store,
  { job }: JobOverview,
  task: TaskAddress,
): Promise<string | null> {
  const loss = await newestLoss(store, task, job.lastPosition).catch(() => null)
  return loss === null ? null : wordsOf(loss)
}

async function newestLoss(store: Store, task: TaskAddress, last: number): Promise<Loss | null> {
  for (const range of RANGES) {
    const after = Math.max(0, last - range)
    const page = await store.query({ kind: 'history', job: task.job, after, limit: MOST_ENTRIES })
    if (page.length === MOST_ENTRIES) return null
    const losses = page.map(({ entry }) => entry).filter((entry) => isLossOf(entry, task))
    const found = losses.at(-1)
    if (found !== undefined || page.length >= NEWEST || after === 0) return found ?? null
  }
  return null
}

function isLossOf(entry: Entry, { stage, segment }: TaskAddress): entry is Loss {
  if (entry.type !== 'LeaseExpired' && entry.type !== 'LeaseRevoked') return false
  return entry.stage === stage && entry.segment === segment
}

function wordsOf(loss: Loss): string {
  return loss.type === 'LeaseExpired'
    ? `The lease of its last attempt ran out (${loss.type}): ${sentence(loss.diagnostic)}`
    : `The lease of its last attempt was taken away (${loss.type}) by ${loss.by}: ${sentence(loss.reason)}`
}

function sentence(text: string): string {
  return text.endsWith('.') ? text : `${text}.`
}
