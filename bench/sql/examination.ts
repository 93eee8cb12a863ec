/**
 * Part `examination`: what it costs to go through the rows of many jobs, most of which are over, and how long a
 * pass takes. An engine makes such a call a second; here one follows the other, and each is for a second.
 */
import { atMost } from '../log/aim.ts'
import { table, whole } from '../table.ts'
import type { Database } from './databases.ts'
import { StoreLoad } from './load.ts'

const BATCH = 500
const CALLERS = 4
/** One in so many jobs waits. */
const WAITING = 100
/** Seconds of a pass, and the share of a core. */
const PASS_AIM_S = 60
const SHARE_AIM = 0.03

export async function benchExamination(
  database: Database,
  say: (line: string) => void,
  jobs: number,
): Promise<string[]> {
  const store = await database.store()
  const load = new StoreLoad(store)
  say(`${database.name}: ${whole(jobs)} jobs …`)
  await load.submit(jobs - jobs / WAITING, BATCH, CALLERS)
  await load.drain(BATCH, CALLERS)
  await load.submit(jobs / WAITING, BATCH, CALLERS)
  say(`${database.name}: examined …`)
  const call = (): Promise<{ readonly isRoundOver: boolean }> =>
    store.query({ kind: 'examination', limit: BATCH, waitedMs: Infinity })
  // The first round, in which code is compiled, is not counted.
  while (!(await call()).isRoundOver) continue
  const before = process.cpuUsage()
  const serverBefore = database.cpuUs()
  let calls = 0
  let longestMs = 0
  for (let isOver = false; !isOver; calls++) {
    const beganAt = performance.now()
    isOver = (await call()).isRoundOver
    longestMs = Math.max(longestMs, performance.now() - beganAt)
  }
  const { user, system } = process.cpuUsage(before)
  const cpuMs = (user + system + database.cpuUs() - serverBefore) / 1_000
  await store.close()
  return [
    '',
    `${database.name}: the examination of ${whole(jobs)} jobs, of which one in ${WAITING} waits`,
    ...table(
      ['calls', 'ms on a core a call', 'longest call, ms'],
      [[String(calls), (cpuMs / calls).toFixed(1), longestMs.toFixed(0)]],
    ),
    atMost('seconds of a pass, with a call a second', calls, PASS_AIM_S),
    atMost('of a core, with a call a second', cpuMs / calls / 1_000, SHARE_AIM),
  ]
}
