/** Records come back: their values, what they share, and the order of their fields. */
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../test/model/properties/authority.ts'
import { Dice } from '../../../test/model/properties/dice.ts'
import { anyJob, anyQueue, anySchedule } from '../../../test/support/arbitrary-records.ts'
import { anyDamage, cutOff, damaged } from '../../../test/support/damaged-bytes.ts'
import { pipeline, plain, stage } from '../../../test/support/specs.ts'
import type { Job, StageTasks, Task } from '../../kernel/index.ts'
import { createJob, createQueue, createWorld, fold, NONE, policyOf } from '../../kernel/index.ts'
import { ByteReader, ByteWriter, MalformedBytes } from './bytes.ts'
import { Interning } from './interning.ts'
import type { JobRecord } from './record-codec.ts'
import { readQueue, readSchedule, writeQueue, writeSchedule } from './queue-codec.ts'
import { peekJobId, readJob, writeJob } from './record-codec.ts'

const interning = new Interning()

function written(write: (writer: ByteWriter) => void): Buffer {
  const writer = new ByteWriter(1)
  write(writer)
  return Buffer.from(writer.buffer.subarray(0, writer.at))
}

function bytesOf({ job, stages }: JobRecord): Buffer {
  return written((writer) => writeJob(writer, job, stages))
}

function expectEqual(copy: unknown, original: unknown): void {
  if (!isDeepStrictEqual(copy, original)) expect(copy).toStrictEqual(original)
  // The order of the fields as well.
  const [left, right] = [JSON.stringify(copy), JSON.stringify(original)]
  if (left !== right) expect(left).toBe(right)
}

/** What is more than equality: see the head of the codec. */
function expectShared(job: Job, task: Task): void {
  expect(task.job).toBe(job.id)
  const shared = policyOf(job.spec, task.stage)
  // A task that was moved to another queue has a policy of its own.
  const { queue } = task.policy
  if (queue === shared.queue) expect(task.policy).toBe(shared)
  else expect(task.policy).toEqual({ ...shared, queue })
  if (task.lease !== null) expect(task.lease).toBe(task.leases.at(-1))
  const effects = task.commit?.effects ?? NONE
  const lists = [task.leases, task.steps, task.interventions, effects].concat(
    effects.flatMap((effect) => [effect.starts, effect.resolutions] as never[]),
  )
  for (const list of lists) {
    expect(list === NONE).toBe(list.length === 0)
    expect(Object.isFrozen(list)).toBe(list.length === 0)
  }
}

function expectBack(record: JobRecord): JobRecord {
  const reader = new ByteReader(bytesOf(record))
  expect(peekJobId(reader)).toBe(record.job.id)
  expect(reader.at).toBe(0)
  const copy = readJob(reader, interning)
  if (reader.at !== reader.end) throw new Error(`${record.job.id}: not all of it was read`)
  expectEqual(copy, record)
  const tasks = copy.stages?.flatMap((list) => list ?? []) ?? [copy.job.task as Task]
  for (const task of tasks) expectShared(copy.job, task)
  return copy
}

describe('a queue', () => {
  it('with a field that is not known is refused', () => {
    const queue = { ...createQueue('q'), ageingMs: 5 }
    const bytes = written((writer) => writeQueue(writer, queue))
    expect(readQueue(new ByteReader(bytes), interning)).toEqual(queue)
    bytes.writeUInt8(bytes.readUInt8(0) | 16, 0)
    expect(() => readQueue(new ByteReader(bytes), interning)).toThrow(MalformedBytes)
  })
})

describe('job records come back', () => {
  it('with anything in them', () => {
    fc.assert(
      fc.property(anyJob, ({ job, stages }) => {
        expectBack({ job, stages })
      }),
      { numRuns: 600 },
    )
  })

  it('all those of random runs, and go on as the originals do', () => {
    for (let seed = 0; seed < 20; seed++) {
      const authority = new Authority()
      const dice = new Dice(seed)
      for (let step = 0; step < 300; step++) authority.send(authority.next(dice.below(2 ** 32)))
      const copy = createWorld()
      const { world } = authority
      for (const job of world.jobs.values()) {
        job.firstPosition = dice.below(2 ** 32)
        job.lastPosition = job.firstPosition + dice.below(2 ** 20)
        const back = expectBack({ job, stages: world.tasks.get(job.id) ?? null })
        copy.jobs.set(job.id, back.job)
        if (back.stages !== null) copy.tasks.set(job.id, back.stages)
      }
      for (const queue of world.queues.values()) copy.queues.set(queue.name, queueAgain(queue))
      for (const one of world.schedules.values()) copy.schedules.set(one.id, scheduleAgain(one))
      expect(isDeepStrictEqual(copy, world)).toBe(true)
      const before = authority.log.length
      for (let step = 0; step < 300; step++) authority.send(authority.next(dice.below(2 ** 32)))
      // Queues and schedules that are made later are in both.
      for (const entry of authority.log.slice(before)) fold(copy, entry)
      expectEqual([...copy.jobs, ...copy.tasks], [...world.jobs, ...world.tasks])
    }
  })

  it('with many stages, of which some are not opened or have no tasks, and many tasks', () => {
    const world = createWorld()
    const at = 1_763_000_000_000
    const spec = pipeline([stage('a'), stage('many'), stage('none'), stage('closed'), stage('z')])
    fold(world, { type: 'JobSubmitted', at, version: 1, job: 'p', spec, dueAt: at })
    const opened = { at: at + 5_000, job: 'p', error: null }
    const open = (one: number, segments: number, version: number): void =>
      fold(world, { type: 'StageOpened', stage: one, segments, version, ...opened })
    open(0, 1, 2)
    open(1, 5_000, 3)
    open(2, 0, 4)
    open(4, 0, 5)
    const record = {
      job: world.jobs.get('p') as Job,
      stages: world.tasks.get('p') as StageTasks,
    }
    expectBack(record)
    // Tasks that nothing happened to cost a byte each.
    expect(bytesOf(record).length).toBeLessThan(5_200)
    // Of very many tasks, a reader may want a few.
    const seen: Task[] = []
    const few = readJob(new ByteReader(bytesOf(record)), interning, (task) => {
      return seen.push(task) % 1_000 === 0
    })
    expect(seen).toEqual(record.stages.flatMap((tasks) => tasks ?? []))
    const kept = seen.filter((_, i) => i % 1_000 === 999)
    expect(few.stages).toEqual([[], kept, [], null, []])
    expect(few.job).toEqual(record.job)
  })
})

describe('a waiting plain job with an input of 200 bytes', () => {
  it('is a record of hardly more than that', () => {
    const at = 1_763_000_000_000
    const id = '0190a3b4-7c2d-7e1f-9a8b-0123456789ab'
    const spec = plain({ type: 'send-invoice', input: 'x'.repeat(200) })
    const job = createJob({ type: 'JobSubmitted', at, version: 1, job: id, spec, dueAt: at })
    job.firstPosition = 123_456_789
    job.lastPosition = 123_456_789
    expect(bytesOf({ job, stages: null }).length).toBeLessThan(280)
  })
})

function queueAgain(queue: Parameters<typeof writeQueue>[1]): typeof queue {
  const reader = new ByteReader(written((writer) => writeQueue(writer, queue)))
  const copy = readQueue(reader, interning)
  expect(reader.at).toBe(reader.end)
  expectEqual(copy, queue)
  return copy
}

function scheduleAgain(schedule: Parameters<typeof writeSchedule>[1]): typeof schedule {
  const reader = new ByteReader(written((writer) => writeSchedule(writer, schedule)))
  const copy = readSchedule(reader, interning)
  expect(reader.at).toBe(reader.end)
  expectEqual(copy, schedule)
  return copy
}

describe('queues and schedules come back', () => {
  it('with anything in them', () => {
    fc.assert(
      fc.property(anyQueue, anySchedule, (queue, schedule) => {
        queueAgain(queue)
        scheduleAgain(schedule)
      }),
    )
  })
})

/** Whether it is read as something; anything but a refusal goes through. */
function isRead(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch (error) {
    if (error instanceof MalformedBytes) return false
    throw error
  }
}

describe('damaged records', () => {
  it('that are cut off are refused', () => {
    fc.assert(
      fc.property(anyJob, anyQueue, anySchedule, (job, queue, schedule) => {
        for (const bytes of cutOff(bytesOf(job))) {
          expect(isRead(() => readJob(new ByteReader(bytes), interning))).toBe(false)
        }
        for (const bytes of cutOff(written((writer) => writeQueue(writer, queue)))) {
          expect(isRead(() => readQueue(new ByteReader(bytes), interning))).toBe(false)
        }
        for (const bytes of cutOff(written((writer) => writeSchedule(writer, schedule)))) {
          expect(isRead(() => readSchedule(new ByteReader(bytes), interning))).toBe(false)
        }
      }),
      { numRuns: 60 },
    )
  })

  it('are refused, or read as something: they do no other harm', () => {
    let read = 0
    fc.assert(
      fc.property(anyJob, fc.array(anyDamage, { minLength: 10, maxLength: 10 }), (job, damages) => {
        const bytes = bytesOf(job)
        for (const damage of damages) {
          const wrong = damaged(bytes, damage)
          if (isRead(() => readJob(new ByteReader(wrong), interning))) read += 1
          isRead(() => readQueue(new ByteReader(wrong), interning))
          isRead(() => readSchedule(new ByteReader(wrong), interning))
        }
      }),
      { numRuns: 400 },
    )
    expect(read).toBeGreaterThan(0)
  })

  it('that hold a lease which is not there, or a task without a policy, are refused', () => {
    const at = 5
    const entry = { type: 'JobSubmitted', at, version: 1, job: 'a', dueAt: at } as const
    const job = createJob({ ...entry, spec: plain() })
    const task = job.task as Task
    task.lease = {} as NonNullable<Task['lease']>
    expect(isRead(() => readJob(new ByteReader(bytesOf({ job, stages: null })), interning))).toBe(
      false,
    )
    const other = createJob({ ...entry, spec: pipeline([stage('one')]) })
    other.task = { ...task, lease: null }
    expect(
      isRead(() => readJob(new ByteReader(bytesOf({ job: other, stages: null })), interning)),
    ).toBe(false)
    other.task = null
    const stages = [[], [{ ...task, lease: null }]]
    expect(isRead(() => readJob(new ByteReader(bytesOf({ job: other, stages })), interning))).toBe(
      false,
    )
  })
})
