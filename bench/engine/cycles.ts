/**
 * Part `cycles`: full cycles a second: submit, run a handler that does nothing, and know the
 * result; clients and worker in one process, beside what the store alone does, and beside what the
 * disk would bear if nothing else took any time.
 */
import { job, open, typed } from '../../src/index.ts'
import type { Pawl } from '../../src/index.ts'
import { table, whole } from '../table.ts'
import { threadNs } from '../thread-time.ts'
import { atLeast, figure } from '../log/aim.ts'
import { Callers } from '../log/callers.ts'
import { logTraffic } from '../log/log-traffic.ts'
import { ZeroFile } from '../log/raw-disk.ts'
import type { Scratch } from '../log/scratch.ts'
import { openStore } from '../log/store.ts'

const IN_FLIGHT = 64
const CONCURRENCY = 64
const WARM_UP_MS = 2_000
const FOR_MS = 6_000
const AIM = 60_000
const BULK = 1_000
/** Durable moments of a job, one behind the other: it is there and taken; it is done. */
const MOMENTS = 2
const RAW_MS = 1_500

export const nothing = job('nothing', {
  input: typed<{ text: string }>(),
  run: () => undefined,
})
export const INPUT = { text: 'x'.repeat(188) }

interface Rate {
  readonly perSecond: number
  readonly cpuNs: number
  /** Of log, a job. */
  readonly bytes: number
}

export async function benchCycles(
  scratch: Scratch,
  say: (line: string) => void,
): Promise<string[]> {
  logTraffic()
  say(`full cycles, ${IN_FLIGHT} in flight …`)
  const single = await cycles(scratch, (pawl) => async () => {
    const handle = await pawl.submit(nothing, INPUT)
    await handle.result()
    return 1
  })
  say(`full cycles, submitted ${BULK} at a time …`)
  const inputs = Array.from({ length: BULK }, () => ({ input: INPUT }))
  const bulk = await cycles(
    scratch,
    (pawl) => async () => {
      const handles = await pawl.submitMany(nothing, inputs)
      await Promise.all(handles.map((handle) => handle.result()))
      return BULK
    },
    4,
  )
  say('the store alone, the same load …')
  const alone = await storeAlone(scratch)
  say('the disk alone …')
  const disk = await diskAlone(scratch, single.bytes)
  return [
    '',
    `Full cycles: submit, run, result; a worker with ${CONCURRENCY} places in the same process`,
    ...table(
      ['', 'jobs/s', 'cpu ns/job', 'of the store alone'],
      [
        row(`${IN_FLIGHT} submits in flight`, single, alone),
        row(`4 callers, ${BULK} jobs in a submit`, bulk, alone),
        row(`the store alone, ${IN_FLIGHT} callers, a job in a call`, alone, alone),
        [`the disk alone, ${IN_FLIGHT} jobs in ${MOMENTS} groups`, whole(disk), '', ''],
      ],
    ),
    'the disk alone: a bare loop that writes the bytes of all in flight, group by group',
    atLeast(`jobs per second, ${IN_FLIGHT} in flight`, single.perSecond, AIM),
  ]
}

async function cycles(
  scratch: Scratch,
  cycleOf: (pawl: Pawl) => () => Promise<number>,
  callers = IN_FLIGHT,
): Promise<Rate> {
  const folder = scratch.fresh('cycles')
  const pawl = await open(folder)
  pawl.work([nothing], { concurrency: CONCURRENCY })
  const cycle = cycleOf(pawl)
  let done = 0
  const clients = { areOver: false }
  const caller = async (): Promise<void> => {
    while (!clients.areOver) {
      // AFTER waiting is `done` read: others counted meanwhile.
      const jobs = await cycle()
      done += jobs
    }
  }
  const all = Promise.all(Array.from({ length: callers }, caller))
  await wait(WARM_UP_MS)
  const from = { done, at: performance.now(), cpu: threadNs(), bytes: logTraffic().bytes }
  await wait(FOR_MS)
  const jobs = done - from.done
  const seconds = (performance.now() - from.at) / 1e3
  const cpuNs = (threadNs() - from.cpu) / jobs
  const bytes = (logTraffic().bytes - from.bytes) / jobs
  clients.areOver = true
  await all
  await pawl.close()
  scratch.drop(folder)
  return { perSecond: jobs / seconds, cpuNs, bytes }
}

async function storeAlone(scratch: Scratch): Promise<Rate> {
  const folder = scratch.fresh('alone')
  const store = await openStore(folder)
  const load = { batch: 1, callers: IN_FLIGHT }
  const rate = await new Callers(store).measure(load, WARM_UP_MS, FOR_MS)
  await store.close()
  scratch.drop(folder)
  return { perSecond: rate.perSecond, cpuNs: rate.cpuNsPerLife, bytes: rate.bytesPerLife }
}

/** Jobs per second, if all that are in flight were always in one group. */
async function diskAlone(scratch: Scratch, bytes: number): Promise<number> {
  const zeros = new ZeroFile(scratch.fresh('zeros'))
  const perSecond = await zeros.append((IN_FLIGHT * bytes) / MOMENTS, RAW_MS)
  zeros.remove()
  return perSecond / bytes
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}

function row(name: string, { perSecond, cpuNs }: Rate, alone: Rate): string[] {
  return [name, whole(perSecond), whole(cpuNs), figure(perSecond / alone.perSecond)]
}
