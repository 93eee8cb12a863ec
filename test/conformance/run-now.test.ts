/**
 * A schedule that a person runs now: one job as the schedule would submit it, which stands for none of its times.
 */
import { describe, expect, it } from 'vitest'
import type { Entry, Pawl } from '../../src/index.ts'
import { job, typed, UnknownSchedule, UnreadableSchedule } from '../../src/index.ts'
import { engineOf } from '../../src/operations/operation-context.ts'
import { EVERY_ENGINE } from '../support/engines.ts'
import { onRecord } from '../support/specs.ts'

const report = job('report', {
  input: typed<string>(),
  run: ({ input, job: { schedule } }) => `${input} ${schedule?.id ?? 'of no time'}`,
})
const NIGHTLY = { job: report, input: 'sales', cron: '0 3 * * *' } as const

/** Of schedules, up to now. */
async function entriesOf(pawl: Pawl): Promise<Entry['type'][]> {
  const types: Entry['type'][] = []
  await pawl.pause('end')
  for await (const { entry } of pawl.watch()) {
    if (entry.type === 'QueuePaused') break
    if ('schedule' in entry) types.push(entry.type)
  }
  return types
}

describe.each(EVERY_ENGINE)('a schedule that is run now %s', (_name, open) => {
  it('submits one job with its input and options, on record with who and why, and fires nothing', async () => {
    const pawl = await open()
    pawl.work([report])
    const nightly = await pawl.schedule('nightly', { ...NIGHTLY, priority: 7, tags: ['night'] })
    const before = await nightly.info()
    const now = await nightly.run({ by: 'ann', reason: 'the numbers were late' })
    expect(await now.result()).toBe('sales of no time')
    expect(await now.info()).toMatchObject({
      type: 'report',
      priority: 7,
      tags: ['night'],
      schedule: null,
      asked: {
        by: 'ann',
        reason: "the numbers were late (run now from schedule 'nightly')",
      },
    })
    const second = await nightly.run()
    expect(second.id).not.toBe(now.id)
    expect((await second.info()).asked?.reason).toBe("Run now from schedule 'nightly'")
    expect(await nightly.info()).toEqual(before)
    expect(await entriesOf(pawl)).toEqual(['ScheduleSet'])
  })

  it('does so while it is paused, and stays paused', async () => {
    const pawl = await open()
    pawl.work([report])
    const nightly = await pawl.schedule('nightly', NIGHTLY)
    await nightly.pause({ by: 'ann' })
    expect(await (await nightly.run()).result()).toBe('sales of no time')
    expect(await nightly.info()).toMatchObject({ paused: { by: 'ann' }, nextTime: null })
  })

  it('makes one job of an id, however often it is asked', async () => {
    const pawl = await open()
    const nightly = await pawl.schedule('nightly', NIGHTLY)
    const all = [
      await nightly.run({ id: 'a', by: 'ann' }),
      await nightly.run({ id: 'a', by: 'bob' }),
    ]
    expect(all.map(({ id }) => id)).toEqual(['a', 'a'])
    expect((await pawl.list()).jobs).toHaveLength(1)
    expect((await pawl.get('a'))?.asked?.by).toBe('ann')
  })

  it('is refused while another job of its unique key is not over, which is named', async () => {
    const pawl = await open()
    const nightly = await pawl.schedule('nightly', { ...NIGHTLY, key: 'one', unique: true })
    const first = await nightly.run({ id: 'a' })
    await expect(nightly.run()).rejects.toMatchObject({
      name: 'Refused',
      code: 'KeyReused',
      message: expect.stringContaining("Job a has its key 'one' and is not over"),
    })
    await first.cancel()
    expect((await (await nightly.run({ id: 'b' })).info()).state).toBe('QUEUED')
  })

  it('is refused if it was never set, was removed, or cannot be read', async () => {
    const pawl = await open()
    await expect(pawl.scheduleHandle('never').run()).rejects.toThrow(UnknownSchedule)
    const gone = await pawl.schedule('gone', NIGHTLY)
    await gone.remove()
    await expect(gone.run()).rejects.toThrow(UnknownSchedule)
    const { store } = engineOf(pawl)
    const [set] = await store.execute([
      { type: 'SetSchedule', schedule: 'odd', definition: '{"format":9}', seen: 0, ...onRecord },
    ])
    expect(set?.rejection).toBe(null)
    await expect(pawl.scheduleHandle('odd').run()).rejects.toThrow(UnreadableSchedule)
    expect((await pawl.list()).jobs).toEqual([])
  })
})
