/**
 * The process that is killed: it holds the engine, submits collections as they come, and works.
 *
 * It remembers nothing. Whoever is started next is told of every collection again, submits it
 * under the same id, and goes on. On its output are the entries of the log, each with its
 * position, and what the processes say that it runs handlers in.
 */
import { createInterface } from 'node:readline'
import type { Entry, Pawl } from '../../src/index.ts'
import { open } from '../../src/index.ts'
import { serve } from '../../src/server/index.ts'
import type { ArrivingRefund } from './desk.ts'
import { openDesk, refund } from './desk.ts'
import { say } from './lines.ts'
import { collection } from './pipeline.ts'
import type { Share } from './share.ts'

export interface EnginePlan {
  readonly log: string
  /** Where the page is served that shows it; null: nowhere. */
  readonly port: number | null
  /** What is known of the log already. */
  readonly from: number
}

/** What it is told, in lines: a collection has come, or a refund, or no more will. */
export type Arrival =
  | { readonly name: string; readonly share: Share }
  | { readonly refund: ArrivingRefund }
  | 'no more'

/** What it says first. */
export interface ToldOpened {
  readonly type: 'opened'
}

/** A person answered what a refund asks. */
export interface ToldAnswer {
  readonly type: 'answer'
  readonly position: number
  readonly refund: string
  readonly by: string
}

/** An entry of the log, as far as it is shown. */
export interface ToldEntry {
  readonly type: 'entry'
  readonly position: number
  readonly what: Entry['type']
  readonly collection: string
  /** Null: it is about the whole collection. */
  readonly task: { readonly stage: string; readonly segment: number } | null
  readonly lease: number | null
  /** Of a stage that was opened. */
  readonly segments: number | null
  /** Where a task went that was not completed. */
  readonly next: string | null
  /** Why. */
  readonly code: string | null
}

/** Each is a process of its own. */
const AT_ONCE = 2

const STAGES = collection.stages.map(({ stage }) => stage)

function told(position: number, entry: Entry): ToldEntry | null {
  if (!('job' in entry)) return null
  const stage = 'stage' in entry ? (STAGES[entry.stage] ?? '') : null
  return {
    type: 'entry',
    position,
    what: entry.type,
    collection: entry.job,
    task: stage === null ? null : { stage, segment: 'segment' in entry ? entry.segment : 0 },
    lease: 'lease' in entry ? entry.lease : null,
    segments: 'segments' in entry ? entry.segments : null,
    next: 'next' in entry ? entry.next : null,
    code: 'error' in entry ? (entry.error?.code ?? null) : null,
  }
}

function answer(position: number, entry: Entry): ToldAnswer | null {
  if (entry.type !== 'MessageSent') return null
  return { type: 'answer', position, refund: entry.job, by: entry.by }
}

async function tell(pawl: Pawl, from: number): Promise<void> {
  for await (const { position, entry } of pawl.watch({ from })) {
    const line = answer(position, entry) ?? told(position, entry)
    if (line !== null) say(line)
  }
}

/** Submits what comes; resolved when no more will, and all collections are over. */
function takeArrivals(pawl: Pawl): Promise<unknown> {
  const settled: Promise<unknown>[] = []
  return new Promise((resolve, reject) => {
    const submit = async (arrival: Arrival): Promise<void> => {
      if (arrival === 'no more') return resolve(Promise.allSettled(settled))
      if ('refund' in arrival) {
        const { id, customer, request } = arrival.refund
        await pawl.submit(refund, request, { id, by: customer })
        return
      }
      const { name, share } = arrival
      // Groups take turns: the report on one does not wait for the documents of another.
      const handle = await pawl.submit(collection, share, { id: name, group: name })
      const result = handle.result()
      // Some end without a report: that is for the log to say.
      result.catch(() => undefined)
      settled.push(result)
    }
    let submitting = Promise.resolve()
    const input = createInterface({ input: process.stdin })
    input.on('line', (line) => {
      submitting = submitting.then(() => submit(JSON.parse(line) as Arrival)).catch(reject)
    })
    // Whoever started it is gone.
    input.on('close', () => process.exit(1))
  })
}

// Nobody is there to be told.
process.stdout.on('error', () => process.exit(1))
// A terminal sends it to all of its processes. Whoever started this one says when it ends.
process.on('SIGINT', () => undefined)

const plan = JSON.parse(process.argv[2] ?? '{}') as EnginePlan
const pawl = await open(plan.log)
say({ type: 'opened' } satisfies ToldOpened)
const server = plan.port === null ? null : await serve(pawl, { port: plan.port })
const telling = tell(pawl, plan.from)
const modules = [new URL('./pipeline.ts', import.meta.url)]
pawl.work([collection], { concurrency: AT_ONCE, isolation: 'process', modules })
const closeDesk = plan.port === null ? null : openDesk(pawl)
await takeArrivals(pawl)
await closeDesk?.()
await server?.close()
await pawl.close()
await telling
process.exit(0)
