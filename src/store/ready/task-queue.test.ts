import { describe, expect, it } from 'vitest'
import { Dice } from '../../../test/model/properties/dice.ts'
import { plain } from '../../../test/support/specs.ts'
import type { Task } from '../../kernel/index.ts'
import { createJob } from '../../kernel/index.ts'
import { TaskQueue, TaskSlots } from './task-queue.ts'

function makeTask(dueAt: number): Task {
  const spec = plain({ dueAt })
  return createJob({ type: 'JobSubmitted', at: 0, version: 1, job: 'a', spec, dueAt }).task as Task
}

function makeSlots(): TaskSlots {
  return new TaskSlots((task, time) => task.state === 'WAITING' && task.dueAt === time)
}

function stopTask(task: Task, queue: TaskQueue): void {
  task.state = 'FAILED'
  queue.discard()
}

function drain(queue: TaskQueue): Task[] {
  const tasks: Task[] = []
  for (queue.trim(); !queue.isEmpty; queue.trim()) tasks.push(queue.pop())
  return tasks
}

describe('a queue of tasks', () => {
  it('gives tasks by time, and tasks of one time by their numbers', () => {
    const queue = new TaskQueue(makeSlots())
    const [late, early, same] = [makeTask(20), makeTask(10), makeTask(20)]
    queue.push(same, 20, 3)
    queue.push(late, 20, 1)
    queue.push(early, 10, 2)
    const drained = drain(queue)
    expect(drained.map((task) => [early, late, same].indexOf(task))).toEqual([0, 1, 2])
  })

  it('skips tasks that left it, from the head, the middle and the end', () => {
    const queue = new TaskQueue(makeSlots())
    const tasks = [1, 2, 3, 4, 5].map(makeTask)
    tasks.forEach((task, i) => queue.push(task, task.dueAt, i))
    for (const i of [0, 2, 4]) stopTask(tasks[i] as Task, queue)
    expect(drain(queue)).toEqual([tasks[1], tasks[3]])
  })

  it.each(['in order', 'out of order'])(
    'is swept when more than half of it is garbage (%s)',
    (how) => {
      const slots = makeSlots()
      const queue = new TaskQueue(slots)
      const tasks = Array.from({ length: 1_000 }, (_, i) => makeTask(i))
      const order = how === 'in order' ? tasks : tasks.toReversed()
      order.forEach((task, i) => queue.push(task, task.dueAt, i))
      for (const task of tasks.slice(1)) stopTask(task, queue)
      expect([queue.size < 100, slots.used < 100]).toEqual([true, true])
      expect(drain(queue)).toEqual([tasks[0]])
      expect(slots.used).toBe(0)
    },
  )

  it('collects what is due without taking it out', () => {
    const queue = new TaskQueue(makeSlots())
    for (const [i, time] of [5, 9, 1, 7, 3].entries()) queue.push(makeTask(time), time, i)
    const found: Task[] = []
    queue.collect(5, 10, found)
    expect(found.map((task) => task.dueAt).toSorted((a, b) => a - b)).toEqual([1, 3, 5])
    const few: Task[] = []
    queue.collect(9, 2, few)
    expect(few).toHaveLength(2)
    expect(queue.size).toBe(5)
  })

  it('uses slots of other queues again, and gives the memory back when no task waits', () => {
    const slots = makeSlots()
    const capacity = slots.capacity
    const [first, ...others] = Array.from({ length: 10 }, () => new TaskQueue(slots))
    first?.push(makeTask(0), 0, 0)
    for (const queue of others) {
      for (let i = 0; i < 1_000; i++) queue.push(makeTask(i), i, i)
      drain(queue)
    }
    expect([slots.used, slots.capacity]).toEqual([1, 1_024])
    first?.pop()
    expect([slots.used, slots.capacity]).toEqual([0, capacity])
  })
})

interface Waiting {
  readonly task: Task
  readonly number: number
}

describe('queues that share their slots', () => {
  const seeds = Array.from({ length: 10 }, (_, i) => i + 1)

  it.each(seeds)('give what lists that are sorted each time give (seed %i)', (seed) => {
    const dice = new Dice(seed)
    const slots = makeSlots()
    const pairs = Array.from({ length: dice.pick([1, 5]) }, () => ({
      queue: new TaskQueue(slots),
      list: [] as Waiting[],
    }))
    // Compared by hand: a call of `expect` takes a hundred times as long as a step.
    const wrong: string[] = []
    const same = (what: string, step: number, found: unknown, wanted: unknown): void => {
      if (!Object.is(found, wanted)) wrong.push(`step ${step}: ${what}`)
    }
    for (let step = 1; step <= 6_000; step++) {
      const { queue, list } = dice.pick(pairs)
      const way = dice.below(step % 2_000 < 1_000 ? 12 : 20)
      if (list.length === 0 || way < 8) {
        const task = makeTask(dice.chance(80) ? step : dice.below(step))
        const number = dice.chance(90) ? step : -step
        list.push({ task, number })
        list.sort((a, b) => a.task.dueAt - b.task.dueAt || a.number - b.number)
        const isHead = list[0]?.task === task
        same('push', step, queue.push(task, task.dueAt, number) || !isHead, true)
      } else if (way < 14) {
        same('pop', step, queue.pop(), list.shift()?.task)
      } else {
        const [left] = list.splice(dice.below(list.length), 1)
        stopTask(left?.task as Task, queue)
      }
      queue.trim()
      same('isEmpty', step, queue.isEmpty, list.length === 0)
      same('headTask', step, queue.isEmpty || queue.headTask, list[0]?.task ?? true)
      same('headTime', step, queue.headTime, list[0]?.task.dueAt ?? Infinity)
      same('headNumber', step, queue.headNumber, list[0]?.number ?? Infinity)
    }
    expect(wrong).toEqual([])
    for (const { queue, list } of pairs) expect(drain(queue)).toEqual(list.map(({ task }) => task))
    expect(slots.used).toBe(0)
  })
})
