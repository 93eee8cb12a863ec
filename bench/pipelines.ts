/**
 * The pipelines bench: what a segment costs, on the directory store, every step synced before
 * its answer. Handlers do nothing, so what is measured is all that stands around them.
 *
 * - one: a pipeline with 10,000 segments, from its submit to its result.
 * - many: 1,000 pipelines with 10 segments each, all at once.
 * - growth: the cost of a segment among 1,000 and among 100,000: cpu time of the thread, because
 *   a busy machine blurs wall time.
 */
import type { Pawl } from '../src/index.ts'
import { open, pipeline, typed } from '../src/index.ts'
import { atMost } from './log/aim.ts'
import { Scratch } from './log/scratch.ts'
import { readOptions } from './options.ts'
import { table, whole } from './table.ts'
import { threadNs } from './thread-time.ts'

type Say = (line: string) => void

/** Handlers that a worker runs at once. */
const CONCURRENCY = 100
const ROUNDS = 3

const wide = pipeline('wide', { input: typed<number>() })
  .stage('split', { run: ({ input }) => Array.from({ length: input }, (_, i) => i) })
  .stage('each', { after: 'split', each: 'split', run: ({ segment }) => segment })
  .stage('join', {
    after: 'each',
    run: async ({ outputs }) => {
      let sum = 0
      for await (const { output } of outputs.each) sum += output
      return sum
    },
  })

interface Cost {
  readonly wallMs: number
  readonly cpuMs: number
}

const HELP = [
  '',
  'usage: npm run bench -- pipelines [options]',
  '',
  '  --only <part>    only one part; can be given more than once: one, many, growth',
  '  --folder <path>  where to write (default: the folder of the system for temporary files)',
]

type Part = (scratch: Scratch, say: Say) => Promise<string[]>

const PARTS: Readonly<Record<string, Part>> = {
  one: benchOne,
  many: benchMany,
  growth: benchGrowth,
}

export async function* benchPipelines(say: Say, args: readonly string[]): AsyncGenerator<string> {
  const { parts, folder, help } = readOptions(args, Object.keys(PARTS))
  if (help) {
    yield* HELP
    return
  }
  const scratch = new Scratch(folder)
  try {
    for (const part of parts) yield* await (PARTS[part] as Part)(scratch, say)
  } finally {
    scratch.close()
  }
}

async function measured(work: () => Promise<void>): Promise<Cost> {
  const cpu = threadNs()
  const began = performance.now()
  await work()
  return { wallMs: performance.now() - began, cpuMs: (threadNs() - cpu) / 1e6 }
}

async function onDirectory<T>(scratch: Scratch, work: (pawl: Pawl) => Promise<T>): Promise<T> {
  const folder = scratch.fresh('pipelines')
  const pawl = await open(folder)
  try {
    pawl.work([wide], { concurrency: CONCURRENCY })
    return await work(pawl)
  } finally {
    await pawl.close()
    scratch.drop(folder)
  }
}

/** All of them, from the first submit to the last result. */
async function run(pawl: Pawl, count: number, segments: number): Promise<void> {
  const items = Array.from({ length: count }, () => ({ input: segments }))
  const handles = await pawl.submitMany(wide, items)
  const expected = (segments * (segments - 1)) / 2
  for (const handle of handles) {
    if ((await handle.result()) !== expected) throw new Error('The sum is wrong.')
  }
}

const median = (costs: readonly Cost[], of: keyof Cost): number =>
  costs.map((cost) => cost[of]).toSorted((a, b) => a - b)[Math.floor(costs.length / 2)] ?? 0

function row(what: string, segments: number, cost: Cost): string[] {
  const perSegment = (cost.cpuMs / segments) * 1_000
  return [
    what,
    `${whole(cost.wallMs)} ms`,
    `${whole((segments / cost.wallMs) * 1_000)}/s`,
    `${perSegment.toFixed(1)} us`,
  ]
}

const HEAD = ['', 'wall', 'segments', 'cpu each']

async function rounds(scratch: Scratch, say: Say, count: number, segments: number): Promise<Cost> {
  const costs = await onDirectory(scratch, async (pawl) => {
    await run(pawl, Math.min(count, 10), Math.min(segments, 1_000))
    const all: Cost[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const cost = await measured(() => run(pawl, count, segments))
      say(`${count} x ${segments}: ${whole(cost.wallMs)} ms, cpu ${whole(cost.cpuMs)} ms`)
      all.push(cost)
    }
    return all
  })
  return { wallMs: median(costs, 'wallMs'), cpuMs: median(costs, 'cpuMs') }
}

async function benchOne(scratch: Scratch, say: Say): Promise<string[]> {
  const cost = await rounds(scratch, say, 1, 10_000)
  return [
    '',
    ...table(HEAD, [row('1 pipeline of 10,000 segments', 10_000, cost)]),
    atMost('seconds for 10,000 segments', cost.wallMs / 1_000, 2),
  ]
}

async function benchMany(scratch: Scratch, say: Say): Promise<string[]> {
  const cost = await rounds(scratch, say, 1_000, 10)
  return ['', ...table(HEAD, [row('1,000 pipelines of 10 segments', 10_000, cost)])]
}

async function benchGrowth(scratch: Scratch, say: Say): Promise<string[]> {
  const small = await rounds(scratch, say, 20, 1_000)
  const large = await rounds(scratch, say, 1, 100_000)
  const ratio = large.cpuMs / 100_000 / (small.cpuMs / 20_000)
  const wall = large.wallMs / 100_000 / (small.wallMs / 20_000)
  return [
    '',
    ...table(HEAD, [
      row('20 pipelines of 1,000 segments', 20_000, small),
      row('1 pipeline of 100,000 segments', 100_000, large),
    ]),
    atMost('cpu of a segment among 100,000, to one among 1,000', ratio, 1.5),
    atMost('the same in wall time', wall, 1.5),
  ]
}
