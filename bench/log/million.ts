/**
 * Part `million`: very many waiting jobs. How long it takes to fill and to open, what a job
 * takes of memory, and whether a life costs more there than among few.
 */
import { fork } from 'node:child_process'
import { cpSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { table, whole } from '../table.ts'
import { atMost } from './aim.ts'
import type { LifeRate } from './callers.ts'
import { Callers } from './callers.ts'
import { HEADLINE } from './durable-lives.ts'
import type { Opened, OpenTask } from './opened.ts'
import type { Scratch } from './scratch.ts'
import { openStore } from './store.ts'

const FEW = 1_000
const WARM_UP_MS = 2_000
const LIVES_MS = 4_000
const RATIO_AIM = 1.5
/** As `scripts/bench.mjs` runs the bench itself: what was built. */
const NODE_OPTIONS = ['--max-old-space-size=8192', '--expose-gc']
/** Safe to lose, while the log is whole. */
const CHECKPOINT = /^(?:checkpoint|live|finished)-/

export async function benchMillion(
  scratch: Scratch,
  jobs: number,
  say: (line: string) => void,
): Promise<string[]> {
  say(`filling with ${whole(jobs)} jobs …`)
  const many = scratch.fresh('many')
  const filled = await fill(many, jobs)
  const bytes = sizeOf(many)
  const bare = scratch.fresh('bare')
  cpSync(many, bare, { recursive: true })
  for (const name of readdirSync(bare)) if (CHECKPOINT.test(name)) scratch.drop(join(bare, name))
  const few = scratch.fresh('few')
  await fill(few, FEW)

  say('opening without a checkpoint …')
  const replayed = await opened(bare, 1, 0)
  scratch.drop(bare)
  // The few before and after the many: other load on the machine falls on both.
  say(`lives at ${whole(FEW)} waiting …`)
  const before = await opened(few, 1, LIVES_MS / 2)
  say(`opening, and lives at ${whole(jobs)} waiting …`)
  const large = await opened(many, 1, LIVES_MS)
  scratch.drop(many)
  say(`lives at ${whole(FEW)} waiting …`)
  const small = mean(costIn(before), costIn(await opened(few, 2, LIVES_MS / 2)))
  const crowded = costIn(large)
  scratch.drop(few)

  const perJob = (total: number): string => whole(total / jobs)
  return [
    '',
    `${whole(jobs)} waiting jobs with payloads of 200 bytes`,
    `filled in ${seconds(filled.ms)} (${whole((jobs / filled.ms) * 1e3)} submits/s), then a checkpoint in ${seconds(filled.checkpointMs)}; ${perJob(bytes)} bytes of files per job`,
    ...table(
      ['', 'open', 'cpu', 'entries replayed', 'heap bytes/job', 'rss bytes/job'],
      [
        ['without a checkpoint', replayed] as const,
        [large.hasCheckpoint ? 'with its checkpoint' : 'NO CHECKPOINT WAS THERE', large] as const,
      ].map(([name, one]) => [
        name,
        seconds(one.openMs),
        seconds(one.openCpuMs),
        whole(one.entries),
        perJob(one.heapBytes),
        perJob(one.rssBytes),
      ]),
    ),
    'files in the cache of the system; memory: what opening added, after collecting garbage',
    '',
    ...table(
      ['waiting', 'ns/life', 'cpu ns/life', 'gc ns/life'],
      [costRow(FEW, small), costRow(jobs, crowded)],
    ),
    atMost(
      `cost of a life at ${whole(jobs)} against ${whole(FEW)}, wall time`,
      crowded.wallNsPerLife / small.wallNsPerLife,
      RATIO_AIM,
    ),
    atMost('the same in cpu time', crowded.cpuNsPerLife / small.cpuNsPerLife, RATIO_AIM),
  ]
}

async function fill(folder: string, jobs: number): Promise<{ ms: number; checkpointMs: number }> {
  const store = await openStore(folder)
  const started = performance.now()
  await new Callers(store).fill(jobs)
  const done = performance.now()
  // The thread that makes it does not keep a process alive that has nothing else to do.
  const alive = setInterval(() => undefined, 1_000)
  // Twice: one that is being made holds only what was there when it began.
  await store.checkpoint()
  await store.checkpoint()
  clearInterval(alive)
  const checkpointMs = performance.now() - done
  await store.close()
  return { ms: done - started, checkpointMs }
}

function sizeOf(folder: string): number {
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
}

/** `run`: counts the runs in one folder, from 1; each has numbers for its jobs that no other has. */
function opened(folder: string, run: number, livesMs: number): Promise<Opened> {
  const task: OpenTask = { folder, first: run * 1e12, livesMs, warmUpMs: WARM_UP_MS, ...HEADLINE }
  const file = new URL('./opened.js', import.meta.url)
  return new Promise((resolve, reject) => {
    const child = fork(file, [JSON.stringify(task)], {
      execArgv: NODE_OPTIONS,
    })
    child.once('message', (told) => resolve(told as Opened))
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      reject(new Error(`The process that opens ${folder} ended with ${signal ?? code}.`))
    })
  })
}

type Cost = Pick<LifeRate, 'wallNsPerLife' | 'cpuNsPerLife' | 'gcNsPerLife'>

function costIn({ rate }: Opened): Cost {
  if (rate === null) throw new Error('Lives were not measured.')
  return rate
}

function mean(a: Cost, b: Cost): Cost {
  return {
    wallNsPerLife: (a.wallNsPerLife + b.wallNsPerLife) / 2,
    cpuNsPerLife: (a.cpuNsPerLife + b.cpuNsPerLife) / 2,
    gcNsPerLife: (a.gcNsPerLife + b.gcNsPerLife) / 2,
  }
}

function costRow(waiting: number, one: Cost): string[] {
  return [whole(waiting), whole(one.wallNsPerLife), whole(one.cpuNsPerLife), whole(one.gcNsPerLife)]
}

function seconds(ms: number): string {
  return `${(ms / 1e3).toFixed(2)} s`
}
