/**
 * Part `presence`: what it costs that sixteen processes say what they do and look after each other: time on a
 * core for a job, with presence and without, by turns.
 */
import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { open } from '../../src/index.ts'
import { table, whole } from '../table.ts'
import type { Database } from './databases.ts'
import { noop } from './presence-process.ts'
import type { ToPresenceProcess } from './presence-process.ts'

const PROCESSES = 16
const TURNS = 3

interface Cost {
  /** Microseconds on a core for a job. */
  readonly jobUs: number
  readonly jobsPerSecond: number
}

export async function benchPresence(
  database: Database,
  say: (line: string) => void,
  jobs: number,
): Promise<string[]> {
  const costs: { readonly [presence in 'on' | 'off']: Cost[] } = { on: [], off: [] }
  for (let turn = 0; turn < TURNS; turn++) {
    for (const presence of turn % 2 === 0 ? (['off', 'on'] as const) : (['on', 'off'] as const)) {
      say(`${database.name}: ${PROCESSES} processes, presence ${presence} …`)
      costs[presence].push(await costOf(database, presence === 'on', jobs))
    }
  }
  const [on, off] = [least(costs.on), least(costs.off)]
  return [
    '',
    `${database.name}: ${PROCESSES} processes with and without presence, ${whole(jobs)} jobs, the best of ${TURNS} turns`,
    ...table(['presence', 'µs on a core a job', 'jobs/s'], [row('on', on), row('off', off)]),
    `with presence: ${(100 * (on.jobUs / off.jobUs - 1)).toFixed(1)} % more`,
  ]
}

function row(name: string, { jobUs, jobsPerSecond }: Cost): string[] {
  return [name, whole(jobUs), whole(jobsPerSecond)]
}

function least(costs: readonly Cost[]): Cost {
  return costs.toSorted((a, b) => a.jobUs - b.jobUs)[0] as Cost
}

async function costOf(database: Database, presence: boolean, jobs: number): Promise<Cost> {
  const { location, schema } = database.location()
  const options = { ...(schema === undefined ? {} : { schema }), presence }
  const pawl = await open(location, options)
  const processes = await Promise.all(
    Array.from({ length: PROCESSES }, () => started({ location, options })),
  )
  const usedBefore = database.cpuUs()
  const began = performance.now()
  const inputs = Array.from({ length: jobs }, (_, input) => ({ input }))
  const handles = await pawl.submitMany(noop, inputs)
  await Promise.all(handles.map((handle) => handle.result()))
  const ms = performance.now() - began
  const used = await Promise.all(processes.map(cpuUsOf))
  const total = used.reduce((sum, one) => sum + one, database.cpuUs() - usedBefore)
  for (const child of processes) child.kill('SIGKILL')
  await pawl.close()
  return { jobUs: total / jobs, jobsPerSecond: (jobs / ms) * 1_000 }
}

async function started(to: ToPresenceProcess): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL('presence-process.js', import.meta.url)), ['work'])
  child.send(to)
  await once(child, 'message')
  return child
}

/** Since it was ready. */
async function cpuUsOf(child: ChildProcess): Promise<number> {
  child.send('cost')
  const [us] = (await once(child, 'message')) as [number]
  return us
}
