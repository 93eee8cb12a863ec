/**
 * Part `processes`: many processes that work at once with the defaults: no errors, each job once, and each
 * process has its share.
 */
import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { job, open, typed } from '../../src/index.ts'
import { atLeast } from '../log/aim.ts'
import { table, whole } from '../table.ts'
import type { Database } from './databases.ts'
import type { FromWorker, ToWorker } from './worker-process.ts'

const PROCESSES = 16
const JOBS = 20_000
const BATCH = 500
const LONGEST_MS = 180_000
/** Of its share, for each process. */
const LEAST_SHARE = 0.5

const shared = job('shared', { input: typed<number>(), run: () => null })

export async function benchProcesses(
  database: Database,
  say: (line: string) => void,
): Promise<string[]> {
  say(`${database.name}: ${PROCESSES} processes …`)
  const { location, schema = null } = database.location()
  const pawl = await open(location, schema === null ? {} : { schema })
  for (let first = 0; first < JOBS; first += BATCH) {
    await pawl.submitMany(
      shared,
      Array.from({ length: BATCH }, (_, i) => ({ input: first + i })),
    )
  }
  await pawl.close()
  const workers = Array.from({ length: PROCESSES }, () => new WorkerProcess({ location, schema }))
  await Promise.all(workers.map((worker) => worker.heard('open')))
  for (const worker of workers) worker.begin()
  const reports = await Promise.all(workers.map((worker) => worker.heard('done')))
  const done = reports.map((report) => report.done)
  const total = done.reduce((sum, one) => sum + one, 0)
  const ms = Math.max(...reports.map((report) => report.ms))
  return [
    '',
    `${database.name}: ${PROCESSES} processes that work at once with the defaults, ${whole(JOBS)} jobs`,
    ...table(
      ['', 'jobs/s', 'least of one', 'most of one', 'errors'],
      [
        [
          'claimed and committed',
          whole((total / ms) * 1e3),
          whole(Math.min(...done)),
          whole(Math.max(...done)),
          whole(reports.reduce((sum, { errors }) => sum + errors, 0)),
        ],
      ],
    ),
    total === JOBS
      ? 'each job was done once'
      : `NOT all jobs were done once: ${whole(total)} of ${whole(JOBS)}`,
    atLeast(
      'share of the process with the fewest',
      (Math.min(...done) * PROCESSES) / JOBS,
      LEAST_SHARE,
    ),
  ]
}

type Said<Is extends FromWorker['is']> = Extract<FromWorker, { readonly is: Is }>

class WorkerProcess {
  readonly #child: ChildProcess

  constructor(to: ToWorker) {
    this.#child = fork(fileURLToPath(new URL('worker-process.js', import.meta.url)))
    this.#child.send(to)
  }

  begin(): void {
    this.#child.send('begin')
  }

  heard<Is extends FromWorker['is']>(is: Is): Promise<Said<Is>> {
    return new Promise((resolve, reject) => {
      const deadline = setTimeout(() => this.#child.kill('SIGKILL'), LONGEST_MS)
      const listen = (said: unknown): void => {
        if ((said as FromWorker).is !== is) return
        clearTimeout(deadline)
        this.#child.off('message', listen)
        resolve(said as Said<Is>)
      }
      this.#child.on('message', listen)
      this.#child.once('exit', (code, signal) => {
        clearTimeout(deadline)
        reject(new Error(`A worker ended: ${code ?? signal}.`))
      })
    })
  }
}
