/**
 * Why the lease of a task's last attempt was lost: it ran out, or was taken away. Nothing came from
 * the handler then, so the log is asked, which has who and why. Only a message is made of it: what
 * cannot be found is left out.
 */
import type { Entry, EntryOf, TaskAddress } from '../kernel/index.ts'
import type { JobOverview, Outcome, Store } from '../store/index.ts'

type Loss = EntryOf<'LeaseExpired'> | EntryOf<'LeaseRevoked'>

/** Entries of one page of a history, and how many pages are looked through. */
const PAGE = 1_000
const MOST_PAGES = 10
/** A pipeline with more has too long a history to be looked through for a message. */
const MOST_SEGMENTS = 100

export function isLost(endedBy: Outcome['endedBy']): boolean {
  return endedBy === 'LeaseExpired' || endedBy === 'LeaseRevoked'
}

/** What is said of a task whose handler said nothing. `loss`: what the log says, if it was found. */
export function withoutError(endedBy: Outcome['endedBy'], loss: string | null): string {
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

export async function lossOf(
  store: Store,
  { job, stages }: JobOverview,
  task: TaskAddress,
): Promise<string | null> {
  // Most often it is the newest entry of all.
  const newest = await newestLoss(store, task, job.lastPosition - 1)
  if (newest !== null) return wordsOf(newest)
  const segments = stages.reduce((sum, one) => sum + (one.segments ?? 0), 0)
  const older = segments > MOST_SEGMENTS ? null : await newestLoss(store, task, 0)
  return older === null ? null : wordsOf(older)
}

async function newestLoss(store: Store, task: TaskAddress, from: number): Promise<Loss | null> {
  let found: Loss | null = null
  let after = Math.max(from, 0)
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const page = await store.query({ kind: 'history', job: task.job, after, limit: PAGE })
    for (const { entry } of page) if (isLossOf(entry, task)) found = entry
    if (page.length < PAGE) return found
    after = page.at(-1)?.position ?? after
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
