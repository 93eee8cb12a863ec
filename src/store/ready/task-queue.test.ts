import { describe, expect, it } from 'vitest'
import { Dice } from '../../../test/model/properties/dice.ts'
import { plain } from '../../../test/support/specs.ts'
import type { Task } from '../../kernel/index.ts'
import { createJob } from '../../kernel/index.ts'
import { TaskQueue } from './task-queue.ts'

function makeTask(dueAt: number): Task {
  const spec = plain({ dueAt })
  return createJob({ type: 'JobSubmitted', at: 0, version: 1, job: 'a', spec, dueAt }).task as Task
}

const waits = (task: Task, at: number): boolean => task.state === 'WAITING' && task.dueAt === at

function drain(line: TaskQueue): Task[] {
  const tasks: Task[] = []
  while (!line.isEmpty) tasks.push(line.pop())
  return tasks
}

describe('a line', () => {
  it('gives tasks by time, and those of one time by arrival', () => {
    const line = new TaskQueue(waits)
    const [late, early, same] = [makeTask(20), makeTask(10), makeTask(20)]
    line.push(same, 20, 3)
    line.push(late, 20, 1)
    line.push(early, 10, 2)
    const drained = drain(line)
    expect(drained.map((task) => [early, late, same].indexOf(task))).toEqual([0, 1, 2])
  })

  it('skips what left it, wherever that stood', () => {
    const line = new TaskQueue(waits)
    const tasks = [1, 2, 3, 4, 5].map(makeTask)
    tasks.forEach((task, i) => line.push(task, task.dueAt, i))
    for (const i of [0, 2, 4]) {
      ;(tasks[i] as Task).state = 'FAILED'
      line.discard()
    }
    expect(drain(line)).toEqual([tasks[1], tasks[3]])
  })

  it('is swept when more than half of it is garbage', () => {
    const line = new TaskQueue(waits)
    const tasks = Array.from({ length: 1_000 }, (_, i) => makeTask(i))
    tasks.forEach((task, i) => line.push(task, task.dueAt, i))
    for (const task of tasks.slice(1)) {
      task.state = 'FAILED'
      line.discard()
    }
    expect(line.size).toBeLessThan(100)
    expect(drain(line)).toEqual([tasks[0]])
  })

  it('collects what is due without taking it out', () => {
    const line = new TaskQueue(waits)
    for (const [i, time] of [5, 9, 1, 7, 3].entries()) line.push(makeTask(time), time, i)
    const found: Task[] = []
    line.collect(5, 10, found)
    expect(found.map((task) => task.dueAt).toSorted((a, b) => a - b)).toEqual([1, 3, 5])
    const few: Task[] = []
    line.collect(9, 2, few)
    expect(few).toHaveLength(2)
    expect(line.size).toBe(5)
  })

  it.each([1, 2, 3, 4])('agrees with a sorted list, whatever comes and goes (seed %i)', (seed) => {
    const dice = new Dice(seed)
    const line = new TaskQueue(waits)
    let model: { task: Task; place: number }[] = []
    let time = 0
    for (let place = 1; place <= 5_000; place++) {
      const way = dice.below(10)
      if (way < 5 || model.length === 0) {
        time += dice.below(3)
        const task = makeTask(dice.chance(70) ? time : dice.below(time + 1))
        line.push(task, task.dueAt, place)
        model.push({ task, place })
        model.sort((a, b) => a.task.dueAt - b.task.dueAt || a.place - b.place)
      } else if (way < 8) {
        const gone = dice.pick(model)
        gone.task.state = 'FAILED'
        line.discard()
        model = model.filter((one) => one !== gone)
      } else {
        expect(line.pop()).toBe(model.shift()?.task)
      }
      expect(line.isEmpty).toBe(model.length === 0)
      if (model.length > 0) expect(line.headTask).toBe(model[0]?.task)
    }
    expect(drain(line)).toEqual(model.map(({ task }) => task))
  })
})
