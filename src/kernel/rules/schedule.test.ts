import { describe, expect, it } from 'vitest'
import { Authority } from '../../../test/support/authority.ts'

describe('a schedule that is set by someone who says which version he saw', () => {
  it('is set if that is still the one, and of none if there was none', () => {
    const a = new Authority()
    a.must({ type: 'SetSchedule', definition: 'daily', seen: 0 })
    a.must({ type: 'SetSchedule', definition: 'hourly', seen: 1 })
    a.must({ type: 'RemoveSchedule' })
    a.must({ type: 'SetSchedule', definition: 'weekly', seen: 3 })
    expect(a.world.schedules.get('s')?.definition).toBe('weekly')
  })

  it('stays as it is if it was set, fired or removed meanwhile', () => {
    const a = new Authority()
    a.must({ type: 'SetSchedule', definition: 'daily', seen: null })
    const late = { type: 'SetSchedule', definition: 'hourly', seen: 0 } as const
    expect(a.send(late).rejection).toMatchObject({
      code: 'ScheduleChanged',
      check: 'version-seen',
      details: { version: 1 },
    })
    a.must({ type: 'FireSchedule', tick: 5, skipped: true })
    expect(a.send({ ...late, seen: 1 }).rejection?.code).toBe('ScheduleChanged')
    a.must({ type: 'RemoveSchedule' })
    expect(a.send({ ...late, seen: 2 }).rejection?.code).toBe('ScheduleChanged')
    expect(a.world.schedules.get('s')?.definition).toBeNull()
  })

  it('is answered as before when the same is sent again', () => {
    const a = new Authority()
    const set = { type: 'SetSchedule', definition: 'daily', seen: 0 } as const
    a.must(set)
    a.must({ type: 'FireSchedule', tick: 5, skipped: true })
    expect(a.send(set).verdict).toBe('committed')
    expect(a.log).toHaveLength(2)
  })

  it('is set whatever is there, if he does not say it', () => {
    const a = new Authority()
    a.must({ type: 'SetSchedule', definition: 'daily', seen: null })
    a.must({ type: 'SetSchedule', definition: 'hourly', seen: null })
    expect(a.world.schedules.get('s')?.definition).toBe('hourly')
  })
})
