import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Entry, ScheduleOptions } from '../../index.ts'
import { InvalidDefinition, job, pipeline, typed, UnknownSchedule } from '../../index.ts'
import type { TestEngine } from '../../testing/index.ts'
import { testEngine } from '../../testing/index.ts'
import { MOST_TIMES, ON_TIME_MS } from './due-times.ts'

/** A Wednesday, midnight UTC. */
const START = Date.UTC(2025, 0, 1)
const HOUR_MS = 3_600_000
const hour = (count: number): Date => new Date(START + count * HOUR_MS)

const HOURLY = { cron: '0 * * * *' } as const

/** An engine, and a job that notes for which hours it was run. */
function bench() {
  const pawl = testEngine({ start: START })
  onTestFinished(() => pawl.close())
  const ran: string[] = []
  const note = job('note', {
    input: typed<string>(),
    run: ({ input, job: { schedule } }) => {
      ran.push(`${input} ${((schedule?.time.getTime() ?? 0) - START) / HOUR_MS}`)
    },
  })
  const entries: Entry[] = []
  const follow = async (): Promise<void> => {
    for await (const { entry } of pawl.watch()) entries.push(entry)
  }
  void follow()
  return { pawl, ran, note, entries }
}

/** Time passes, and no round runs: as if no process were there. */
async function passWithoutEngine(pawl: TestEngine, hours: number): Promise<void> {
  const looks = vi.spyOn(pawl, 'upkeep').mockResolvedValue(0)
  const lists = vi.spyOn(pawl, 'schedules').mockResolvedValue([])
  await pawl.advance(hours * HOUR_MS)
  looks.mockRestore()
  lists.mockRestore()
}

describe('a schedule', () => {
  it('makes one job for each due time, at that time', async () => {
    const { pawl, ran, note } = bench()
    await pawl.schedule('hourly', { job: note, input: 'at', ...HOURLY })
    expect(ran).toEqual([])
    await pawl.advance('3h')
    expect(ran).toEqual(['at 1', 'at 2', 'at 3'])
    const { jobs } = await pawl.list()
    expect(jobs.map(({ submittedAt }) => submittedAt)).toEqual([1, 2, 3].map((n) => hour(n)))
    expect(jobs[0]?.id).toBe(`hourly@${+hour(1)}`)
    expect((await pawl.get(jobs[0]?.id ?? ''))?.schedule).toEqual({ id: 'hourly', time: hour(1) })
  })

  it('may go by an interval', async () => {
    const { pawl, ran, note } = bench()
    await pawl.schedule('often', { job: note, input: 'at', every: '30m' })
    await pawl.advance('1h')
    expect(ran).toEqual(['at 0.5', 'at 1'])
  })

  it('may make pipelines', async () => {
    const { pawl } = bench()
    const days: unknown[] = []
    const film = pipeline('film', { input: typed<string[]>() })
      .stage('cut', { each: 'input', run: ({ segment }) => segment.toUpperCase() })
      .stage('join', {
        after: 'cut',
        run: async ({ outputs, job: { schedule } }) => {
          days.push(schedule?.time, ...(await outputs.cut.toArray()))
        },
      })
    await pawl.schedule('films', { job: film, input: ['a', 'b'], ...HOURLY })
    await pawl.advance('1h')
    expect(days).toEqual([hour(1), 'A', 'B'])
  })

  it('is read in its time zone', async () => {
    const { pawl, ran, note } = bench()
    const terms = { job: note, input: 'at', cron: '0 9 * * *' }
    await pawl.schedule('tokyo', { ...terms, timezone: 'Asia/Tokyo' })
    await pawl.schedule('utc', terms)
    expect((await pawl.schedules()).map(({ timezone }) => timezone)).toEqual(['Asia/Tokyo', 'UTC'])
    await pawl.advance('23h')
    expect(ran).toEqual(['at 9'])
    await pawl.advance('1h')
    expect(ran).toEqual(['at 9', 'at 24'])
  })

  it('does nothing before its start and after its end', async () => {
    const { pawl, ran, note } = bench()
    const bounds = { start: hour(2), end: +hour(3) }
    const handle = await pawl.schedule('short', { job: note, input: 'at', ...HOURLY, ...bounds })
    expect(await handle.nextTimes(9)).toEqual([hour(2), hour(3)])
    await pawl.advance('9h')
    expect(ran).toEqual(['at 2', 'at 3'])
    expect(await handle.info()).toMatchObject({
      start: hour(2),
      end: hour(3),
      nextTime: null,
      lastTime: hour(3),
    })
    // Every start of the program sets it again.
    await pawl.schedule('short', { job: note, input: 'at', ...HOURLY, ...bounds })
  })

  it('gives its jobs the options of a submit', async () => {
    const { pawl, note } = bench()
    const options = {
      queue: 'slow',
      priority: 7,
      tags: ['nightly'],
      group: 'tenant-1',
      key: 'one-at-a-time',
      unique: true,
      hold: true,
      startWithin: '5m' as const,
      limits: [{ key: 'database', concurrency: 1 }],
    }
    await pawl.schedule('dressed', { job: note, input: 'x', ...HOURLY, ...options })
    await pawl.advance('1h')
    const { jobs } = await pawl.list({ key: 'one-at-a-time' })
    const info = await pawl.get(jobs[0]?.id ?? '')
    expect(info).toMatchObject({
      state: 'CREATED',
      queue: 'slow',
      priority: 7,
      tags: ['nightly'],
      group: 'tenant-1',
      key: 'one-at-a-time',
    })
    const [submitted] = await pawl.history(info?.id ?? '')
    expect(submitted?.entry).toMatchObject({
      spec: {
        startWithinMs: 300_000,
        unique: true,
        held: true,
        policy: { limits: [{ key: 'database' }] },
      },
    })
  })

  it('with a unique key passes over a time while the job of an earlier one is not over', async () => {
    const { pawl, note } = bench()
    const unique = { key: 'only', unique: true, hold: true }
    const handle = await pawl.schedule('calm', { job: note, input: 'x', ...HOURLY, ...unique })
    await pawl.advance('3h')
    const { jobs } = await pawl.list()
    expect(jobs.map(({ id }) => id)).toEqual([`calm@${+hour(1)}`])
    expect((await handle.info()).lastTime).toEqual(hour(3))
    await pawl.release(jobs[0]?.id ?? '')
    await pawl.advance('1h')
    expect((await pawl.list()).jobs.map(({ id }) => id)).toContain(`calm@${+hour(4)}`)
  })
})

async function afterAbsence(
  options: Pick<ScheduleOptions, 'missed'>,
  lateMs = 0,
): Promise<{ ran: string[]; skipped: number[] }> {
  const { pawl, ran, note, entries } = bench()
  await pawl.schedule('s', { job: note, input: 'at', ...HOURLY, ...options })
  await pawl.advance('1h')
  await passWithoutEngine(pawl, 3 + lateMs / HOUR_MS)
  await pawl.advance(0)
  await pawl.advance('1h')
  const skipped = entries.flatMap((entry) =>
    entry.type === 'ScheduleFired' && entry.skipped ? [(entry.tick - START) / HOUR_MS] : [],
  )
  return { ran, skipped }
}

describe('times that were missed', () => {
  it("are run all with 'all', each for its own time", async () => {
    expect((await afterAbsence({ missed: 'all' })).ran).toEqual(
      [1, 2, 3, 4, 5].map((n) => `at ${n}`),
    )
  })

  it("are run once with 'once', for the newest of them, and that is the default", async () => {
    expect((await afterAbsence({ missed: 'once' }, 30 * 60_000)).ran).toEqual([
      'at 1',
      'at 4',
      'at 5',
    ])
    expect((await afterAbsence({}, 30 * 60_000)).ran).toEqual(['at 1', 'at 4', 'at 5'])
  })

  it("are not run with 'skip', and the log says that they were skipped", async () => {
    const { ran, skipped } = await afterAbsence({ missed: 'skip' }, 30 * 60_000)
    expect(ran).toEqual(['at 1', 'at 5'])
    expect(skipped).toEqual([4])
  })

  it("are those that are a minute late, or have a later one after them, for 'skip'", async () => {
    expect((await afterAbsence({ missed: 'skip' }, ON_TIME_MS)).ran).toEqual([
      'at 1',
      'at 4',
      'at 5',
    ])
    expect((await afterAbsence({ missed: 'skip' }, ON_TIME_MS + 1)).ran).toEqual(['at 1', 'at 5'])
  })

  it('however many, are made up for a bounded number at a time', async () => {
    const { pawl, note } = bench()
    const all = { job: note, input: 'x', missed: 'all' } as const
    await pawl.schedule('many', { ...all, every: '1s', hold: true })
    await pawl.schedule('few', { ...all, every: '1h', hold: true })
    // Three years: nearly a hundred million times.
    await passWithoutEngine(pawl, 3 * 365 * 24)
    const sent = await pawl.upkeep()
    expect(sent).toBe(2 * (MOST_TIMES + 1))
    expect(await pawl.upkeep()).toBe(2 * (MOST_TIMES + 1))
    const { jobs } = await pawl.list({ limit: 1_000 })
    expect(jobs.filter(({ id }) => id.startsWith('few'))).toHaveLength(2 * MOST_TIMES)
    // The others are found at once, however many they are.
    await pawl.schedule('many', { ...all, every: '1s', hold: true, missed: 'once' })
    expect(await pawl.upkeep()).toBe(2 + MOST_TIMES + 1)
  })
})

describe('a schedule that is set again', () => {
  it('with the same terms changes nothing, and writes nothing', async () => {
    const { pawl, note, entries } = bench()
    const terms = { job: note, input: 'x', ...HOURLY, tags: ['a'] }
    await pawl.schedule('s', terms)
    await pawl.advance('1h')
    await pawl.schedule('s', { ...terms, tags: ['a'] })
    await pawl.advance('1h')
    expect(entries.filter(({ type }) => type === 'ScheduleSet')).toHaveLength(1)
    expect((await pawl.list()).jobs).toHaveLength(2)
  })

  it('with another input keeps what was fired, and what is still to be made up for', async () => {
    const { pawl, ran, note } = bench()
    const terms = { job: note, ...HOURLY, missed: 'all' } as const
    await pawl.schedule('s', { ...terms, input: 'old' })
    await pawl.advance('1h')
    await passWithoutEngine(pawl, 2)
    await pawl.schedule('s', { ...terms, input: 'new' })
    await pawl.advance(0)
    expect(ran).toEqual(['old 1', 'new 2', 'new 3'])
  })

  it('with another timing begins anew: what was missed before is not made up for', async () => {
    const { pawl, ran, note } = bench()
    const terms = { job: note, input: 'at', missed: 'all' } as const
    await pawl.schedule('s', { ...terms, ...HOURLY })
    await passWithoutEngine(pawl, 2.25)
    await pawl.schedule('s', { ...terms, cron: '*/30 * * * *' })
    await pawl.advance('30m')
    expect(ran).toEqual(['at 2.5'])
  })

  it('stays paused, and keeps who resumed it', async () => {
    const { pawl, ran, note } = bench()
    const terms = { job: note, input: 'at', ...HOURLY }
    const handle = await pawl.schedule('s', terms)
    await handle.pause()
    await handle.resume({ by: 'ada' })
    await handle.pause()
    await pawl.schedule('s', { ...terms, tags: ['changed'] })
    await pawl.advance('2h')
    expect(ran).toEqual([])
    expect((await handle.info()).resumed).toMatchObject({ by: 'ada' })
  })

  it('after it was removed begins anew, and never goes back to what was fired', async () => {
    const { pawl, ran, note } = bench()
    const terms = { job: note, input: 'at', ...HOURLY, missed: 'all' } as const
    const handle = await pawl.schedule('s', terms)
    await pawl.advance('1h')
    await handle.remove()
    await handle.remove()
    expect(await pawl.schedules()).toEqual([])
    await pawl.advance('2h')
    await pawl.schedule('s', terms)
    await pawl.advance('1h')
    expect(ran).toEqual(['at 1', 'at 4'])
    expect((await handle.info()).lastTime).toEqual(hour(4))
  })
})

describe('a pause', () => {
  it('lasts until it is resumed, and what passed meanwhile is not made up for', async () => {
    const { pawl, ran, note } = bench()
    const handle = await pawl.schedule('s', { job: note, input: 'at', ...HOURLY, missed: 'all' })
    await pawl.advance('1h')
    await handle.pause({ by: 'ada', reason: 'the database moves' })
    await handle.pause({ by: 'bob' })
    await pawl.advance('2h')
    expect(await handle.info()).toMatchObject({
      paused: { at: hour(1), by: 'ada', reason: 'the database moves' },
      resumed: null,
      nextTime: null,
    })
    expect(await handle.nextTimes(3)).toEqual([])
    await handle.resume({ by: 'bob' })
    await handle.resume({ by: 'eve' })
    expect(await handle.info()).toMatchObject({
      paused: null,
      resumed: { at: hour(3), by: 'bob', reason: 'Resumed' },
      nextTime: hour(4),
    })
    await pawl.advance('1h')
    expect(ran).toEqual(['at 1', 'at 4'])
  })

  it('and all else, of a schedule that is not there, is an error', async () => {
    const { pawl } = bench()
    const handle = pawl.scheduleHandle('nobody')
    for (const call of [
      () => handle.pause(),
      () => handle.resume(),
      () => handle.info(),
      () => handle.nextTimes(1),
    ]) {
      await expect(call()).rejects.toThrow(UnknownSchedule)
    }
  })
})

describe('asking', () => {
  it('lists what is set, in order of ids, with the last time and the next', async () => {
    const { pawl, note } = bench()
    await pawl.schedule('b', { job: note, input: 'x', every: '2h', missed: 'skip' })
    await pawl.schedule('a', { job: note, input: 'y', ...HOURLY, timezone: 'Europe/Berlin' })
    await pawl.advance('1h')
    expect(await pawl.schedules()).toEqual([
      {
        id: 'a',
        type: 'note',
        input: 'y',
        cron: '0 * * * *',
        timezone: 'Europe/Berlin',
        everyMs: null,
        start: null,
        end: null,
        missed: 'once',
        paused: null,
        resumed: null,
        lastTime: hour(1),
        nextTime: hour(2),
        unreadable: null,
      },
      {
        id: 'b',
        type: 'note',
        input: 'x',
        cron: null,
        timezone: null,
        everyMs: 2 * HOUR_MS,
        start: null,
        end: null,
        missed: 'skip',
        paused: null,
        resumed: null,
        lastTime: null,
        nextTime: hour(2),
        unreadable: null,
      },
    ])
  })

  it('gives the next times, as many as are asked for', async () => {
    const { pawl, note } = bench()
    const handle = await pawl.schedule('s', { job: note, input: 'x', ...HOURLY })
    expect(await handle.nextTimes(3)).toEqual([hour(1), hour(2), hour(3)])
    for (const count of [0, 1_001, 1.5]) {
      await expect(handle.nextTimes(count)).rejects.toThrow('a whole number from 1 to 1000')
    }
  })
})

describe('terms that make no sense', () => {
  const note = job('note', { input: typed<string>(), run: () => 0 })

  it.each<[string, object, string]>([
    ['cron', { cron: '99 * * * *' }, 'cannot be read'],
    ['cron that never comes', { cron: '0 0 30 2 *' }, 'never comes'],
    ['timezone', { ...HOURLY, timezone: 'Mars/Olympus' }, 'does not know'],
    ['every of 0', { every: 0 }, 'from one second to ten years, not 0'],
    ['every of nonsense', { every: 'often' }, 'must be a duration'],
    ['every of 20 years', { every: '7300d' }, 'from one second to ten years'],
    ['neither', {}, 'either `cron` or `every`'],
    ['both', { ...HOURLY, every: '1h' }, 'either `cron` or `every`'],
    ['timezone of an interval', { every: '1h', timezone: 'UTC' }, 'has no time zone'],
    ['missed', { ...HOURLY, missed: 'never' }, "must be 'skip', 'once' or 'all'"],
    ['start', { ...HOURLY, start: Number.NaN }, '`start` of schedule'],
    ['end before start', { ...HOURLY, start: 2, end: 1 }, 'is before its `start`'],
    ['key without unique', { ...HOURLY, key: 'k' }, 'say `unique: true`'],
    ['at', { ...HOURLY, at: 5 }, '`at` and `delay` say nothing here'],
    ['delay', { ...HOURLY, delay: '5s' }, '`at` and `delay` say nothing here'],
    ['priority', { ...HOURLY, priority: 5_000 }, 'priority must be'],
    ['no job', { ...HOURLY, job: undefined }, '`job` of schedule'],
    ['an input that is too large', { ...HOURLY, input: 'x'.repeat(70_000) }, 'more than 65536'],
  ])('%s: they are refused where they are given', async (_, terms, message) => {
    const { pawl } = bench()
    const setting = async () => pawl.schedule('s', { job: note, input: 'x', ...terms } as never)
    await expect(setting()).rejects.toThrow(InvalidDefinition)
    await expect(setting()).rejects.toThrow(message)
    expect(await pawl.schedules()).toEqual([])
  })

  it('an input is checked by the schema of its job, and an id is a name', async () => {
    const { pawl } = bench()
    await expect(pawl.schedule('', { job: note, input: 'x', ...HOURLY })).rejects.toThrow(
      'A schedule needs a name',
    )
    const big = 1n as unknown as string
    await expect(pawl.schedule('s', { job: note, input: big, ...HOURLY })).rejects.toThrow('input')
  })
})
