import { describe, expect, it, onTestFinished } from 'vitest'
import { ENGINES, deferred, temporaryFolder } from '../../../test/support/engines.ts'
import { HookedStore } from '../../../test/support/hooked-store.ts'
import { onRecord } from '../../../test/support/specs.ts'
import { job, typed, UnknownSchedule, UnreadableSchedule } from '../../index.ts'
import type { Command, Entry } from '../../kernel/index.ts'
import { tickId } from '../../kernel/index.ts'
import type { Clock, News, Store } from '../../store/index.ts'
import { MemoryStore, openDirectory } from '../../store/index.ts'
import { VirtualClock, neverFires } from '../../testing/clock.ts'
import type { PawlParts } from '../pawl-parts.ts'
import { Pawl } from '../pawl.ts'

const START = Date.UTC(2025, 0, 1)
const HOUR_MS = 3_600_000
const FIRST = START + HOUR_MS

const note = job('note', { input: typed<string>(), run: () => 'done' })
const HOURLY = { job: note, input: 'x', cron: '0 * * * *' } as const

const STORES: readonly [string, (clock: Clock) => Promise<Store>][] = [
  ['in memory', async (clock) => new MemoryStore(clock)],
  ['on a directory', async (clock) => openDirectory(await temporaryFolder(), { clock })],
]

function engineOn(store: Store, clock: VirtualClock, parts: Partial<PawlParts> = {}) {
  const errors: Error[] = []
  const pawl = new Pawl({
    store,
    timing: clock,
    upkeepTiming: neverFires,
    onError: (error) => errors.push(error),
    backup: null,
    onClose: () => undefined,
    ...parts,
  })
  onTestFinished(() => pawl.close())
  return { pawl, errors }
}

/** Two engines on one store, as two processes have them. */
async function twoEngines(open: (clock: Clock) => Promise<Store>) {
  const clock = new VirtualClock(START)
  const store = await open(clock)
  const [left, right] = [new HookedStore(store), new HookedStore(store)]
  return {
    clock,
    store,
    left: { ...engineOn(left, clock), store: left },
    right: { ...engineOn(right, clock), store: right },
  }
}

async function entriesOf(store: Store): Promise<Entry[]> {
  // Its own entry is the end: a watch goes on for ever.
  await store.execute([
    {
      type: 'ConfigureQueue',
      queue: 'end',
      concurrency: 1,
      rate: null,
      ageingMs: null,
      ...onRecord,
    },
  ])
  const entries: Entry[] = []
  for await (const { entry } of store.watch(0)) {
    if (entry.type === 'QueueConfigured') break
    entries.push(entry)
  }
  return entries
}

/** At the first call only. */
function once(act: () => Promise<void>): () => Promise<void> {
  let calls = 0
  return async () => {
    calls += 1
    if (calls === 1) await act()
  }
}

const isOf = (type: Command['type']) => (commands: readonly Command[]) =>
  commands.some((command) => command.type === type)
const isSubmit = isOf('SubmitJob')
const isFire = isOf('FireSchedule')

describe.each(STORES)('with several processes %s', (_, open) => {
  it('that all find a time due at once, it has one job, and is recorded once', async () => {
    const { clock, store, left, right } = await twoEngines(open)
    await left.pawl.schedule('s', HOURLY)
    clock.moveTo(FIRST)
    // Both have looked BEFORE either submits, and both have submitted BEFORE either records.
    const gates = { SubmitJob: meeting(2), FireSchedule: meeting(2) }
    for (const { store: hooked } of [left, right]) {
      hooked.beforeExecute = (commands) =>
        isSubmit(commands) ? gates.SubmitJob() : isFire(commands) ? gates.FireSchedule() : undefined
    }
    await Promise.all([left.pawl.upkeep(), right.pawl.upkeep()])
    expect((await entriesOf(store)).map(({ type }) => type)).toEqual([
      'ScheduleSet',
      'JobSubmitted',
      'ScheduleFired',
    ])
    expect([...left.errors, ...right.errors]).toEqual([])
  })

  it('one that comes late, when the time is fired and its job is there, changes nothing', async () => {
    const { clock, store, left, right } = await twoEngines(open)
    await left.pawl.schedule('s', HOURLY)
    clock.moveTo(FIRST)
    right.store.beforeExecute = async () => {
      right.store.beforeExecute = () => undefined
      await left.pawl.upkeep()
    }
    await right.pawl.upkeep()
    expect(await entriesOf(store)).toHaveLength(3)
    expect(right.errors).toEqual([])
  })

  it('one that dies between the submit and the record leaves both to the next', async () => {
    const { clock, store, left, right } = await twoEngines(open)
    await left.pawl.schedule('s', HOURLY)
    clock.moveTo(FIRST)
    left.store.beforeExecute = (commands) => {
      if (isFire(commands)) throw new Error('killed')
    }
    await expect(left.pawl.upkeep()).rejects.toThrow('killed')
    expect((await store.query({ kind: 'schedule', schedule: 's' }))?.firedTick).toBeNull()
    await right.pawl.upkeep()
    await right.pawl.upkeep()
    const entries = await entriesOf(store)
    expect(entries.map(({ type }) => type)).toEqual([
      'ScheduleSet',
      'JobSubmitted',
      'ScheduleFired',
    ])
    expect(entries[2]).toMatchObject({ tick: FIRST, skipped: false })
  })

  it('a job that was made by what the schedule was before stands for its time', async () => {
    const { clock, store, left, right } = await twoEngines(open)
    await left.pawl.schedule('s', HOURLY)
    clock.moveTo(FIRST)
    left.store.beforeExecute = (commands) => {
      if (isFire(commands)) throw new Error('killed')
    }
    await expect(left.pawl.upkeep()).rejects.toThrow('killed')
    await right.pawl.schedule('s', { ...HOURLY, input: 'changed' })
    await right.pawl.upkeep()
    expect((await entriesOf(store)).at(-1)).toMatchObject({ tick: FIRST, skipped: false })
    expect(await right.pawl.get(tickId('s', FIRST))).toMatchObject({ input: 'x' })
    expect(right.errors).toEqual([])
  })

  it('a schedule that is removed meanwhile makes no job', async () => {
    const { clock, left, right } = await twoEngines(open)
    const handle = await left.pawl.schedule('s', HOURLY)
    clock.moveTo(FIRST)
    right.store.beforeExecute = async (commands) => {
      if (isSubmit(commands)) await handle.remove()
    }
    await right.pawl.upkeep()
    expect((await right.pawl.list()).jobs).toEqual([])
    expect(right.errors).toEqual([])
  })

  it.each([
    ['removal', (pawl: Pawl) => pawl.scheduleHandle('s').remove()],
    ['pause', (pawl: Pawl) => pawl.scheduleHandle('s').pause()],
    ['new timing', (pawl: Pawl) => pawl.schedule('s', { job: note, input: 'x', every: '1d' })],
  ])('a %s records the time whose job was made by one that died', async (_what, change) => {
    const { clock, store, left, right } = await twoEngines(open)
    await left.pawl.schedule('s', HOURLY)
    clock.moveTo(FIRST)
    left.store.beforeExecute = (commands) => {
      if (isFire(commands)) throw new Error('killed')
    }
    await expect(left.pawl.upkeep()).rejects.toThrow('killed')
    await change(right.pawl)
    // Else its job could never be forgotten.
    const schedule = await store.query({ kind: 'schedule', schedule: 's' })
    expect(schedule?.firedTick).toBe(FIRST)
    expect((await entriesOf(store)).map(({ type }) => type).slice(2, 3)).toEqual(['ScheduleFired'])
  })

  it('loses neither of two changes that are made at the same moment', async () => {
    const { left, right } = await twoEngines(open)
    await left.pawl.schedule('s', HOURLY)
    // Both have read BEFORE either writes.
    const gate = meeting(2)
    for (const { store: hooked } of [left, right]) hooked.beforeExecute = once(gate)
    const there = right.pawl.scheduleHandle('s')
    await Promise.all([left.pawl.schedule('s', { ...HOURLY, input: 'new' }), there.pause()])
    expect(await there.info()).toMatchObject({ input: 'new', paused: { by: 'client' } })
  })

  it('does not bring back by a pause what is removed at the same moment', async () => {
    const { left, right } = await twoEngines(open)
    await left.pawl.schedule('s', HOURLY)
    right.store.beforeExecute = once(() => left.pawl.scheduleHandle('s').remove())
    await expect(right.pawl.scheduleHandle('s').pause()).rejects.toThrow(UnknownSchedule)
    expect(await right.pawl.schedules()).toEqual([])
  })
})

describe('an engine', () => {
  it('fires nothing any more once a pause was answered, whatever it was about to fire', async () => {
    const clock = new VirtualClock(START)
    const store = new HookedStore(new MemoryStore(clock))
    const { pawl } = engineOn(store, clock)
    const handle = await pawl.schedule('s', HOURLY)
    clock.moveTo(FIRST)
    const [held, reached] = [deferred(), deferred()]
    store.beforeExecute = (commands) => {
      if (!isSubmit(commands)) return undefined
      reached.resolve()
      return held.promise
    }
    const looking = pawl.upkeep()
    await reached.promise
    const pausing = handle.pause()
    held.resolve()
    await Promise.all([looking, pausing])
    const types = (await entriesOf(store)).map(({ type }) => type)
    expect(types).toEqual(['ScheduleSet', 'JobSubmitted', 'ScheduleFired', 'ScheduleSet'])
    clock.moveTo(FIRST + HOUR_MS)
    await pawl.upkeep()
    expect(await entriesOf(store)).toHaveLength(types.length)
  })

  it('passes over a time whose id another job has, and says so', async () => {
    const clock = new VirtualClock(START)
    const store = new MemoryStore(clock)
    const { pawl, errors } = engineOn(store, clock)
    await pawl.submit(note, 'mine', { id: tickId('s', FIRST) })
    await pawl.schedule('s', HOURLY)
    clock.moveTo(FIRST)
    await pawl.upkeep()
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringContaining('The job of schedule s for 2025-01-01T01:00:00.000Z was refused'),
    ])
    expect((await entriesOf(store)).at(-1)).toMatchObject({ type: 'ScheduleFired', skipped: true })
  })

  it('tells once of a schedule that it cannot read, fires the others, and takes a new one', async () => {
    const clock = new VirtualClock(START)
    const store = new MemoryStore(clock)
    const { pawl, errors } = engineOn(store, clock)
    for (const [schedule, definition] of [
      ['alien', 'hourly'],
      ['newer', '{"format":2}'],
      ['nothing', 'null'],
      ['spec', '{"format":1,"timing":{"cron":"0 * * * *","timezone":"UTC"}}'],
      ['zone', '{"format":1,"timing":{"cron":"0 * * * *","timezone":"Mars/Olympus"}}'],
    ] as const) {
      await store.execute([{ type: 'SetSchedule', schedule, definition, seen: null, ...onRecord }])
    }
    await pawl.schedule('s', HOURLY)
    clock.moveTo(FIRST)
    await pawl.upkeep()
    await pawl.upkeep()
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringContaining('schedule alien cannot be read, and it is not fired'),
      expect.stringContaining('it is of format 2, and this version knows 1'),
      expect.stringContaining('it is no object'),
      expect.stringContaining("'Mars/Olympus', which this system does not know"),
    ])
    expect((await pawl.list()).jobs).toHaveLength(1)
    const listed = await pawl.schedules()
    expect(listed.map(({ id, type }) => [id, type])).toEqual([
      ['alien', null],
      ['newer', null],
      ['nothing', null],
      ['s', 'note'],
      ['spec', null],
      ['zone', null],
    ])
    const wrong = listed.filter(({ unreadable }) => unreadable !== null)
    expect(wrong.map(({ unreadable }) => unreadable?.message)).toEqual([
      expect.stringContaining('schedule alien cannot be read, and it is not fired'),
      expect.stringContaining('it is of format 2, and this version knows 1'),
      expect.stringContaining('it is no object'),
      expect.stringContaining('schedule spec cannot be read'),
      expect.stringContaining("'Mars/Olympus', which this system does not know"),
    ])
    await expect(pawl.scheduleHandle('zone').info()).rejects.toThrow(UnreadableSchedule)
    for (const id of ['alien', 'nothing', 'spec', 'zone']) await pawl.schedule(id, HOURLY)
    await pawl.scheduleHandle('newer').remove()
    const ids = (await pawl.schedules()).map(({ id }) => id)
    expect(ids).toEqual(['alien', 'nothing', 's', 'spec', 'zone'])
  })

  it('has one timer for all schedules, for the next time that is due', async () => {
    const clock = new VirtualClock(START)
    const { pawl } = engineOn(new MemoryStore(clock), clock, { upkeepTiming: clock })
    const looked = async (): Promise<void> => {
      while (clock.fireOne()) await clock.turn()
    }
    await looked()
    for (const [id, every] of [
      ['a', '2s'],
      ['b', '3s'],
      ['c', '1h'],
    ] as const) {
      await pawl.schedule(id, { job: note, input: 'x', every })
    }
    await looked()
    const due = async (): Promise<number> => {
      // The caretaker has a timer of its own.
      for (;;) {
        const next = clock.nextAt
        clock.moveTo(next)
        const { length } = (await pawl.list()).jobs
        await looked()
        if ((await pawl.list()).jobs.length > length) return next - START
      }
    }
    expect([await due(), await due(), await due(), await due()]).toEqual([
      2_000, 3_000, 4_000, 6_000,
    ])
  })

  it('does not look again and again for a schedule that was removed', async () => {
    const clock = new VirtualClock(START)
    const store = new HookedStore(new MemoryStore(clock))
    const { pawl } = engineOn(store, clock, { upkeepTiming: clock })
    const handle = await pawl.schedule('s', HOURLY)
    clock.moveTo(START + 1_000)
    while (clock.fireOne()) await clock.turn()
    await handle.remove()
    let looks = 0
    store.beforeQuery = ({ kind }) => {
      if (kind === 'schedules') looks += 1
    }
    clock.moveTo(FIRST)
    for (let i = 0; i < 50 && clock.fireOne(); i++) await clock.turn()
    expect(looks).toBe(1)
  })

  it('reads none of the others when one is set, and knows when the new one is due', async () => {
    const clock = new VirtualClock(START)
    const store = new HookedStore(new MemoryStore(clock))
    const { pawl } = engineOn(store, clock, { upkeepTiming: clock })
    while (clock.fireOne()) await clock.turn()
    let looks = 0
    store.beforeQuery = ({ kind }) => {
      if (kind === 'schedules') looks += 1
    }
    for (let i = 0; i < 10; i++) {
      await pawl.schedule(`s${i}`, { job: note, input: 'x', every: '1s' })
      clock.moveTo(START + i)
      while (clock.fireOne()) await clock.turn()
    }
    expect(looks).toBe(0)
    clock.moveTo(START + 1_000)
    while (clock.fireOne()) await clock.turn()
    expect((await pawl.list()).jobs).toHaveLength(10)
    // Those that are due, before they are fired and after.
    expect(looks).toBe(2)
  })

  it('takes what another process set after news of it, and reads all for a small part of the time', async () => {
    const clock = new VirtualClock(START)
    const inMemory = new MemoryStore(clock)
    const store = new HookedStore(inMemory)
    const listeners: ((news: News) => void)[] = []
    const onNews: NonNullable<Store['onNews']> = (listener) => {
      listeners.push(listener)
      return () => void listeners.pop()
    }
    Object.assign(store, { onNews })
    const { pawl } = engineOn(store, clock, { upkeepTiming: clock })
    const fired = async (): Promise<void> => {
      while (clock.fireOne()) await clock.turn()
    }
    await fired()
    let looks = 0
    store.beforeQuery = ({ kind }) => {
      if (kind !== 'schedules') return
      looks += 1
      // So long it takes.
      clock.moveTo(clock.now() + 10)
    }
    const other = engineOn(new HookedStore(inMemory), clock).pawl
    await other.schedule('s', { job: note, input: 'x', every: '1h' })
    for (let i = 0; i < 100; i++) {
      for (const tell of listeners) tell(new Set(['schedules'] as const))
      clock.moveTo(clock.now() + 10)
      await fired()
    }
    expect(looks).toBeGreaterThan(2)
    expect(looks).toBeLessThan(10)
    store.beforeQuery = () => undefined
    clock.moveTo(FIRST)
    await fired()
    expect((await pawl.list()).jobs).toHaveLength(1)
  })

  it('fires more than a page of schedules, so many at a time', async () => {
    const clock = new VirtualClock(START)
    const store = new HookedStore(new MemoryStore(clock))
    const { pawl } = engineOn(store, clock)
    for (let i = 0; i < 1_100; i++) await pawl.schedule(`s${i}`, HOURLY)
    clock.moveTo(FIRST)
    const sizes: number[] = []
    store.beforeExecute = (commands) => {
      if (isSubmit(commands)) sizes.push(commands.length)
    }
    await pawl.upkeep()
    expect(sizes).toEqual([500, 500, 100])
    expect(await pawl.schedules()).toHaveLength(1_100)
  })

  it('whose store fails is told, and tries again', async () => {
    const clock = new VirtualClock(START)
    const store = new HookedStore(new MemoryStore(clock))
    const { pawl, errors } = engineOn(store, clock, { upkeepTiming: clock })
    await pawl.schedule('s', HOURLY)
    store.beforeExecute = () => {
      store.beforeExecute = () => undefined
      throw new Error('the disk is full')
    }
    while (clock.now() < FIRST + 1_100) {
      clock.moveTo(clock.nextAt)
      while (clock.fireOne()) await clock.turn()
    }
    expect(errors.map(({ message }) => message)).toEqual(['the disk is full'])
    expect((await pawl.list()).jobs).toHaveLength(1)
  })
})

describe.each(ENGINES)('in real time %s', (_, open) => {
  it('a schedule fires by itself, and its handler is told for when', async () => {
    const pawl = await open()
    const told = deferred<{ id: string; time: Date } | null>()
    const tell = job('tell', { run: ({ job: { schedule } }) => told.resolve(schedule) })
    pawl.work([tell], { signals: [] })
    await pawl.schedule('second', { job: tell, every: '1s' })
    const schedule = await told.promise
    expect(schedule?.id).toBe('second')
    expect((schedule?.time.getTime() ?? 1) % 1_000).toBe(0)
  })
})

it('a schedule outlives its process: what was set, fired, missed and paused', async () => {
  const folder = await temporaryFolder()
  const clock = new VirtualClock(START)
  const start = async () => engineOn(await openDirectory(folder, { clock }), clock)
  const first = await start()
  await first.pawl.schedule('s', { ...HOURLY, missed: 'all' })
  const other = await first.pawl.schedule('paused', HOURLY)
  await other.pause({ by: 'ada' })
  clock.moveTo(FIRST)
  await first.pawl.upkeep()
  await first.pawl.close()
  clock.moveTo(FIRST + 2 * HOUR_MS)
  // It is not set again: this process does not even know the definition of its job.
  const second = await start()
  await second.pawl.upkeep()
  const { jobs } = await second.pawl.list()
  expect(jobs.map(({ id }) => id)).toEqual(
    [0, 1, 2].map((hours) => tickId('s', FIRST + hours * HOUR_MS)),
  )
  expect(await second.pawl.schedules()).toMatchObject([
    { id: 'paused', paused: { by: 'ada' }, lastTime: null },
    { id: 's', lastTime: new Date(FIRST + 2 * HOUR_MS) },
  ])
})

/** Callers wait until so many are there. */
function meeting(count: number): () => Promise<void> {
  const all = deferred()
  let here = 0
  return () => {
    here += 1
    if (here === count) all.resolve()
    return all.promise
  }
}
