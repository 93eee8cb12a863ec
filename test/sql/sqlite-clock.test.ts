/**
 * A store in a SQLite file goes by the clock of its machine. If that was far ahead once, time goes on from there:
 * no job waits for as long as the clock was wrong.
 */
import { afterEach, describe, expect, it } from 'vitest'
import type { Clock, StoreNotice } from '../../src/store/index.ts'
import { steadyClock } from '../../src/store/clock.ts'
import { openSqliteStore } from '../../src/store/sql/open-sql.ts'
import type { SqlStore } from '../../src/store/sql/sql-store.ts'
import { deferred } from '../support/engines.ts'
import { plain } from '../support/specs.ts'
import { freshFile } from '../support/sqlite.ts'

const YEAR_MS = 365 * 86_400_000
const MINUTE_MS = 60_000
const DELAY_MS = 1_000
const channels = [{ queue: 'default', type: 'test', stage: null }]

/** A machine whose wall clock can be set. */
class Machine {
  wall = 1_700_000_000_000
  monotonic = 0
  readonly clock = steadyClock({ wallMs: () => this.wall, monotonicMs: () => this.monotonic })

  run(ms: number): void {
    this.wall += ms
    this.monotonic += ms
  }
}

const open: SqlStore[] = []
afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
})

async function openAt(
  path: string,
  clock: Clock,
  onNotice?: (notice: StoreNotice) => void,
): Promise<SqlStore> {
  const notices = onNotice === undefined ? {} : { onNotice }
  const store = await openSqliteStore({ path, clock, ...notices })
  open.push(store)
  return store
}

/** A job with a delay, submitted while the clock was this far ahead. */
async function submittedAhead(path: string, aheadMs: number): Promise<void> {
  const wrong = new Machine()
  wrong.wall += aheadMs
  const store = await openAt(path, wrong.clock)
  await store.execute([{ type: 'SubmitJob', job: 'late', spec: plain({ delayMs: DELAY_MS }) }])
}

let requests = 0
async function claimed(store: SqlStore): Promise<string[]> {
  requests += 1
  const request = { worker: 'w', request: requests, channels, max: 1, started: true }
  return (await store.claim(request)).map(({ job }) => job)
}

describe('a SQLite file whose newest entry is far ahead of the machine', () => {
  it('goes on from there: a delay of a second ends after a second, and not in years', async () => {
    const path = await freshFile()
    await submittedAhead(path, 3 * YEAR_MS)
    const machine = new Machine()
    const notices: StoreNotice[] = []
    const store = await openAt(path, machine.clock, (notice) => notices.push(notice))
    expect(notices).toEqual([{ kind: 'clock-behind', byMs: 3 * YEAR_MS }])
    expect(await claimed(store)).toEqual([])
    machine.run(DELAY_MS)
    expect(await claimed(store)).toEqual(['late'])
  })

  it('would hold up its jobs for years if the clock could not', async () => {
    const path = await freshFile()
    await submittedAhead(path, 3 * YEAR_MS)
    const machine = new Machine()
    const store = await openAt(path, { now: () => machine.wall })
    machine.run(100 * DELAY_MS)
    expect(await claimed(store)).toEqual([])
  })

  it('is waited for when it is only a little ahead', async () => {
    const path = await freshFile()
    await submittedAhead(path, 9 * MINUTE_MS)
    const machine = new Machine()
    const notices: StoreNotice[] = []
    const store = await openAt(path, machine.clock, (notice) => notices.push(notice))
    expect(notices).toEqual([])
    machine.run(DELAY_MS)
    expect(await claimed(store)).toEqual([])
    machine.run(9 * MINUTE_MS)
    expect(await claimed(store)).toEqual(['late'])
  })

  it('is followed by a process that has it open when another one writes ahead', async () => {
    const path = await freshFile()
    const machine = new Machine()
    const told = deferred<StoreNotice>()
    const store = await openAt(path, machine.clock, told.resolve)
    store.onNews(() => undefined)
    await submittedAhead(path, YEAR_MS)
    expect(await told.promise).toMatchObject({ kind: 'clock-behind' })
    machine.run(DELAY_MS)
    expect(await claimed(store)).toEqual(['late'])
  })

  it('goes on at its own pace in a process whose wall clock is set back', async () => {
    const path = await freshFile()
    const machine = new Machine()
    machine.wall += YEAR_MS
    const store = await openAt(path, machine.clock)
    await store.execute([{ type: 'SubmitJob', job: 'late', spec: plain({ delayMs: DELAY_MS }) }])
    machine.wall -= YEAR_MS
    machine.run(DELAY_MS)
    expect(await claimed(store)).toEqual(['late'])
  })
})
