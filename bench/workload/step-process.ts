/**
 * Runs one step in this process and prints what it found, as one line: RESULT and JSON.
 */
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { countRoundTrips, countSyncs, sqliteCommits, writtenBytes } from './counters.ts'
import type { Counts } from './meter.ts'
import { Meter } from './meter.ts'
import type { StepOrder } from './order.ts'
import { RESULT } from './order.ts'
import type { Adapter, Place } from './queue.ts'
import { STEPS } from './steps.ts'

/** What tells on which store. */
async function countersFor({ variant, folder }: Place): Promise<Counts> {
  if (variant === 'postgres') return { roundTrips: countRoundTrips() }
  const syncs =
    variant === 'sqlite' ? () => sqliteCommits(join(folder, 'pawl.db')) : await countSyncs()
  return { bytes: writtenBytes, syncs }
}

const order = JSON.parse(process.argv[2] ?? '') as StepOrder
const counts = order.counts ? await countersFor(order.place) : {}
const meter = new Meter({ ...counts, serverPid: order.serverPid })
const { default: adapter } = (await import(order.adapter)) as { readonly default: Adapter }
const { step, place, size } = order
const report = await STEPS[step]({ adapter, place, size, meter })
writeSync(1, `${RESULT}${JSON.stringify(report)}\n`)
// Some queues leave timers and connections behind.
process.exit(0)
