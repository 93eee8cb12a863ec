/**
 * Part `memory`: what is in memory after very many jobs have run, of which few are kept.
 */
import { open } from '../../src/index.ts'
import { table, whole } from '../table.ts'
import { atMost } from '../log/aim.ts'
import type { Scratch } from '../log/scratch.ts'
import { INPUT, nothing } from './cycles.ts'

const KEPT = 10_000
const LOOKS = 10
const BULK = 500
const CALLERS = 4
const CONCURRENCY = 256
/** Of the most in the second half against the most in the first: between two checkpoints it grows. */
const AIM = 1.2

interface Look {
  readonly jobs: number
  readonly heap: number
  readonly rss: number
  readonly perSecond: number
}

export async function benchMemory(
  scratch: Scratch,
  say: (line: string) => void,
  jobs: number,
): Promise<string[]> {
  say(`${whole(jobs)} jobs, of which ${whole(KEPT)} are kept …`)
  const folder = scratch.fresh('memory')
  const pawl = await open(folder, { retention: { count: KEPT }, history: 0 })
  pawl.work([nothing], { concurrency: CONCURRENCY })
  const looks: Look[] = []
  let done = 0
  const inputs = Array.from({ length: BULK }, () => ({ input: INPUT }))
  const caller = async (until: number): Promise<void> => {
    while (done < until) {
      done += BULK
      const handles = await pawl.submitMany(nothing, inputs)
      await Promise.all(handles.map((handle) => handle.result()))
    }
  }
  for (let i = 1; i <= LOOKS; i++) {
    const before = { done, at: performance.now() }
    await Promise.all(Array.from({ length: CALLERS }, () => caller((jobs / LOOKS) * i)))
    const seconds = (performance.now() - before.at) / 1e3
    // Forgetting follows: it is waited for, so that looks are alike.
    await pawl.upkeep()
    globalThis.gc?.()
    const { heapUsed: heap, rss } = process.memoryUsage()
    looks.push({ jobs: done, heap, rss, perSecond: (done - before.done) / seconds })
    say(`  ${whole(done)} jobs: heap ${mib(heap)}, rss ${mib(rss)}`)
  }
  await pawl.close()
  scratch.drop(folder)
  const half = looks.length / 2
  const first = Math.max(...looks.slice(0, half).map(({ heap }) => heap))
  const last = Math.max(...looks.slice(half).map(({ heap }) => heap))
  return [
    '',
    `Memory while ${whole(jobs)} jobs come and go, ${whole(KEPT)} of those that are over are kept`,
    ...table(
      ['jobs', 'jobs/s', 'heap MiB', 'rss MiB'],
      looks.map((look) => [whole(look.jobs), whole(look.perSecond), mib(look.heap), mib(look.rss)]),
    ),
    atMost('most heap in the second half against the first', last / first, AIM),
  ]
}

function mib(bytes: number): string {
  return (bytes / 1_048_576).toFixed(1)
}
