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
/** Of the heap at the end against the heap after the first two tenths. */
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
  const [, second] = looks as [Look, Look]
  const last = looks.at(-1) as Look
  return [
    '',
    `Memory while ${whole(jobs)} jobs come and go, ${whole(KEPT)} of those that are over are kept`,
    ...table(
      ['jobs', 'jobs/s', 'heap MiB', 'rss MiB'],
      looks.map((look) => [whole(look.jobs), whole(look.perSecond), mib(look.heap), mib(look.rss)]),
    ),
    atMost('heap at the end against the second tenth', last.heap / second.heap, AIM),
  ]
}

function mib(bytes: number): string {
  return (bytes / 1_048_576).toFixed(1)
}
