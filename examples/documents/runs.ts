/**
 * What the log says about every attempt at the documents of a collection.
 */
import type { Entry, Pawl } from '../../src/index.ts'
import type { Collection } from './corpus.ts'
import { collection as definition } from './pipeline.ts'

/** Of one document. */
export interface Runs {
  /** How often it was handed to a worker. */
  attempts: number
  commits: number
  readsRetried: number
  /** Why it failed for good; null: it did not. */
  code: string | null
}

const PAGE = 1_000
const ANALYSE = definition.stages.findIndex(({ stage }) => stage === 'analyse')

/** In the order of the documents. */
export async function runsOf(pawl: Pawl, { name, documents }: Collection): Promise<Runs[]> {
  const all = documents.map((): Runs => ({ attempts: 0, commits: 0, readsRetried: 0, code: null }))
  for await (const entry of entriesOf(pawl, name)) {
    if (!('segment' in entry) || entry.stage !== ANALYSE) continue
    const runs = all[entry.segment]
    if (runs === undefined) continue
    if (entry.type === 'LeaseGranted') runs.attempts += 1
    if (entry.type === 'ExecutionCommitted') runs.commits += 1
    if (entry.type !== 'TaskFailed') continue
    if (entry.next === 'WAITING') runs.readsRetried += 1
    else runs.code = entry.error.code
  }
  return all
}

/** A spoilt collection was given up half way. */
export function problemsOf(
  { name: id, documents, isSpoilt }: Collection,
  all: readonly Runs[],
): string[] {
  return documents.flatMap(({ name, flaw }, i) => {
    const { commits = 0, code = null } = all[i] ?? {}
    const due = flaw === null ? 1 : 0
    if (isSpoilt ? commits > due : commits !== due) {
      return [`${id}/${name} was committed ${commits} times`]
    }
    const isRight = code === flaw || (isSpoilt && code === null)
    return isRight ? [] : [`${id}/${name} is ${flaw ?? 'sound'}, and failed by ${code}`]
  })
}

async function* entriesOf(pawl: Pawl, id: string): AsyncGenerator<Entry> {
  for (let after = 0; ;) {
    const page = await pawl.history(id, { after, limit: PAGE })
    for (const { entry } of page) if (entry !== null) yield entry
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return
    after = last.position
  }
}
