/**
 * Part `processes`: many processes that claim and commit at once: no errors, and nobody goes without.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { table, whole } from '../table.ts'
import type { Database } from './databases.ts'
import { StoreLoad } from './load.ts'
import type { FromWorker, ToWorker } from './worker-process.ts'

const PROCESSES = 16
const JOBS = 20_000
const BATCH = 500
const LONGEST_MS = 120_000

export async function benchProcesses(
  database: Database,
  say: (line: string) => void,
): Promise<string[]> {
  say(`${database.name}: ${PROCESSES} processes …`)
  const { location, schema } = database.location()
  const store = await database.openAt(location, schema)
  await new StoreLoad(store).submit(JOBS, BATCH, 2)
  await store.close()
  const reports = await Promise.all(
    Array.from({ length: PROCESSES }, () => worked({ location, schema: schema ?? null })),
  )
  const done = reports.map((report) => report.done)
  const total = done.reduce((sum, one) => sum + one, 0)
  const ms = Math.max(...reports.map((report) => report.ms))
  return [
    '',
    `${database.name}: ${PROCESSES} processes that claim at once, ${whole(JOBS)} jobs`,
    ...table(
      ['', 'jobs/s', 'least of one', 'most of one', 'errors'],
      [
        [
          'claims of 10, each with its commits',
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
  ]
}

function worked(to: ToWorker): Promise<FromWorker> {
  const child = fork(fileURLToPath(new URL('worker-process.js', import.meta.url)))
  return new Promise((resolve, reject) => {
    const deadline = setTimeout(() => child.kill('SIGKILL'), LONGEST_MS)
    child.once('message', (report) => {
      clearTimeout(deadline)
      resolve(report as FromWorker)
    })
    child.once('exit', (code, signal) => reject(new Error(`A worker ended: ${code ?? signal}.`)))
    child.send(to)
  })
}
