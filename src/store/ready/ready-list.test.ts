/** The tasks of a lane, whatever comes and goes, and the places that all lanes share. */
import { describe, expect, it } from 'vitest'
import { Dice } from '../../../test/model/properties/dice.ts'
import { plain } from '../../../test/support/specs.ts'
import type { Task } from '../../kernel/index.ts'
import { createJob } from '../../kernel/index.ts'
import { ReadyChannel } from './channel.ts'
import type { ReadyList } from './ready-list.ts'
import { SlotTable } from './slot-table.ts'
import { QueueState } from './queue-state.ts'

interface Standing {
  readonly task: Task
  readonly dueAt: number
  readonly submission: number
}

function makeTask(): Task {
  const entry = { type: 'JobSubmitted', at: 0, version: 1, job: 'a', dueAt: 0 } as const
  return createJob({ ...entry, spec: plain() }).task as Task
}

function lanes(count: number): { lanes: ReadyList[]; places: SlotTable } {
  const places = new SlotTable()
  const queue = new QueueState('default')
  const channel = new ReadyChannel(queue, places, { comparisons: 0 }, { given: 0 })
  return {
    lanes: Array.from({ length: count }, (_, i) => channel.addLane(0, `group ${i}`, [])),
    places,
  }
}

function come(lane: ReadyList, { task, dueAt, submission }: Standing): void {
  lane.came()
  lane.push(task, dueAt, submission)
}

function leave(lane: ReadyList, { task }: Standing): void {
  task.state = 'FAILED'
  lane.left()
  lane.discard()
}

function take(lane: ReadyList): Task {
  lane.trim()
  const task = lane.pop()
  lane.left()
  if (lane.ready === 0) lane.clear()
  return task
}

describe('lanes', () => {
  const seeds = Array.from({ length: 6 }, (_, i) => i + 1)

  it.each(seeds)('give what a list that is sorted each time gives (seed %i)', (seed) => {
    const dice = new Dice(seed)
    const made = lanes(5)
    const lists = made.lanes.map((): Standing[] => [])
    for (let step = 1; step <= 6_000; step++) {
      const which = dice.below(lists.length)
      const lane = made.lanes[which] as ReadyList
      const list = lists[which] as Standing[]
      const way = dice.below(step % 2_000 < 1_000 ? 12 : 20)
      if (list.length === 0 || way < 8) {
        const dueAt = dice.chance(80) ? step : dice.below(step)
        const one = { task: makeTask(), dueAt, submission: dice.chance(90) ? step : -step }
        list.push(one)
        list.sort((a, b) => a.dueAt - b.dueAt || a.submission - b.submission)
        come(lane, one)
      } else if (way < 14) {
        expect(take(lane)).toBe(list.shift()?.task)
      } else {
        leave(lane, list.splice(dice.below(list.length), 1)[0] as Standing)
      }
      lane.trim()
      expect(lane.isEmpty).toBe(list.length === 0)
      expect(lane.isEmpty || lane.head).toBe(list[0]?.task ?? true)
      expect(lane.dueAt).toBe(list[0]?.dueAt ?? Infinity)
    }
    made.lanes.forEach((lane, i) => {
      for (const { task } of lists[i] as Standing[]) expect(take(lane)).toBe(task)
    })
    expect(made.places.taken).toBe(0)
  })

  it('are swept when more than half of what stands there is garbage', () => {
    const made = lanes(1)
    const [lane] = made.lanes as [ReadyList]
    const all = Array.from({ length: 1_000 }, (_, i) => {
      return { task: makeTask(), dueAt: i, submission: i }
    })
    for (const one of all) come(lane, one)
    for (const one of all.slice(1)) leave(lane, one)
    expect(made.places.taken).toBeLessThan(100)
    expect(take(lane)).toBe(all[0]?.task)
    expect(made.places.taken).toBe(0)
  })

  it('use places of others again, and give the memory back when nobody waits', () => {
    const { lanes: all, places } = lanes(10)
    const few = places.rows
    const [keeps, ...others] = all as [ReadyList, ...ReadyList[]]
    come(keeps, { task: makeTask(), dueAt: 0, submission: 0 })
    for (const lane of others) {
      for (let i = 0; i < 1_000; i++) come(lane, { task: makeTask(), dueAt: i, submission: i })
      while (lane.ready > 0) take(lane)
    }
    expect([places.taken, places.rows]).toEqual([1, 1_024])
    take(keeps)
    expect([places.taken, places.rows]).toEqual([0, few])
  })
})
