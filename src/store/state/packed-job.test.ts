/** Suspended jobs as bytes: in every way like the jobs themselves, until something happens to them. */
import { describe, expect, it } from 'vitest'
import { Dice } from '../../../test/model/properties/dice.ts'
import { plausibleCommand } from '../../../test/model/properties/plausible.ts'
import { Bench } from '../../../test/support/directory-bench.ts'
import { onRecord, plain } from '../../../test/support/specs.ts'
import type { Command, Job, LeaseAddress, WaitSpec } from '../../kernel/index.ts'
import { copyJob, isSuspended } from '../../kernel/index.ts'
import { loadDirectory } from '../directory/load-directory.ts'
import type { Claimed } from '../store.ts'
import { Ledger } from './ledger.ts'
import { PackedJob, packJob } from './packed-job.ts'

const CHANNEL = { queue: 'default', type: 'test', stage: null }
const FIELDS: readonly (keyof Job)[] = [
  'id',
  'spec',
  'version',
  'time',
  'submittedAt',
  'dueAt',
  'deadlineAt',
  'held',
  'cancelled',
  'erased',
  'opened',
  'task',
  'messages',
  'replaced',
  'firstPosition',
  'lastPosition',
]

describe('a packed job', () => {
  it('reads as the job does, and is the same when it is taken back', () => {
    const ledger = new Ledger()
    const dice = new Dice(7)
    let packed = 0
    for (let now = 1_000, count = 1; count <= 4_000; count++) {
      if (dice.chance(30)) now += dice.below(12)
      ledger.perform(plausibleCommand(dice, ledger.world, now, count), now)
      for (const job of ledger.world.jobs.values()) {
        if (job.task === null || !isSuspended(job.task)) continue
        const one = packJob(job, job.task)
        if (one === null) continue
        packed += 1
        expect(one.unpack()).toEqual(copyJob(job))
        for (const field of FIELDS) expect(one[field], field).toEqual(job[field])
      }
    }
    expect(packed).toBeGreaterThan(100)
  })

  it('cannot be changed', () => {
    const ledger = new Ledger()
    ledger.perform({ type: 'SubmitJob', job: 'a', spec: plain() }, 1)
    const job = ledger.world.jobs.get('a') as Job
    const one = packJob(job, job.task as never) as PackedJob
    expect(() => Object.assign(one, { held: true })).toThrow(TypeError)
  })
})

function suspension(address: LeaseAddress, waits: readonly WaitSpec[]): Command {
  const more = { needs: 'any', waits, unfit: [], definitionVersion: 1 } as const
  return { type: 'SuspendExecution', ...address, ...more }
}

/** A directory with jobs that sleep until a time, or wait for a message. */
class Waiting extends Bench {
  #requests = 100

  async claimed(max = 10): Promise<readonly Claimed[]> {
    this.#requests += 1
    const request = {
      worker: 'w',
      request: this.#requests,
      channels: [CHANNEL],
      max,
      started: true,
    }
    return this.store.claim(request)
  }

  async suspend(ids: readonly string[], dueAt: number | null, input = '1'): Promise<void> {
    const spec = plain({ input })
    await this.must(...ids.map((job): Command => ({ type: 'SubmitJob', job, spec })))
    const wait = { name: 'w', schema: null, ask: null, delayMs: null, callee: null }
    const waits = [{ ...wait, message: dueAt === null ? 'go' : null, dueAt }]
    const leases = await this.claimed(ids.length)
    await this.must(
      ...leases.map(({ job, stage, segment, lease }) => {
        return suspension({ job, stage, segment, lease, worker: 'w' }, waits)
      }),
    )
  }

  async must(...commands: readonly Command[]): Promise<void> {
    const answers = await this.store.execute(commands)
    expect(answers.map(({ rejection }) => rejection)).toEqual(commands.map(() => null))
  }

  async stateOf(job: string): Promise<string | undefined> {
    return (await this.store.query({ kind: 'job', job }))?.state
  }

  /** Which jobs a store that is opened here keeps as bytes. */
  async packedJobs(): Promise<string[]> {
    const { state } = await loadDirectory(this.disk, '/store', () => undefined)
    const jobs = [...state.ledger.world.jobs.values()]
    await state.close()
    return jobs.flatMap((job) => (job instanceof PackedJob ? job.id : []))
  }
}

function message(job: string): Command {
  return {
    type: 'SendMessage',
    job,
    stage: 0,
    segment: 0,
    id: 'm',
    name: 'go',
    value: '2',
    checked: null,
    ...onRecord,
  }
}

describe.each([
  ['from the log', async () => undefined],
  ['from a checkpoint', (bench: Waiting) => bench.store.checkpoint()],
] as const)('suspended jobs of a directory, read %s', (_, prepare) => {
  async function reopened(bench: Waiting): Promise<void> {
    await prepare(bench)
    await bench.store.close()
    await bench.open()
  }

  it('are bytes, and go on when they are due, in the order of their time', async () => {
    const bench = await new Waiting().open()
    await bench.suspend(['late'], 3_000)
    await bench.suspend(['soon'], 2_000)
    await reopened(bench)
    expect((await bench.packedJobs()).toSorted()).toEqual(['late', 'soon'])
    expect(await bench.stateOf('soon')).toBe('SUSPENDED')
    expect(await bench.claimed()).toEqual([])
    bench.now = 2_000
    expect((await bench.claimed()).map(({ job }) => job)).toEqual(['soon'])
    bench.now = 9_000
    expect((await bench.claimed()).map(({ job }) => job)).toEqual(['late'])
    expect(await bench.claimed()).toEqual([])
  })

  it('go on by a message, once, and are cancelled', async () => {
    const bench = await new Waiting().open()
    await bench.suspend(['a', 'b', 'c'], null)
    await reopened(bench)
    expect(await bench.packedJobs()).toHaveLength(3)
    await bench.must(message('a'), message('a'))
    expect((await bench.claimed()).map(({ job }) => job)).toEqual(['a'])
    await bench.must({ type: 'CancelJob', job: 'b', ...onRecord })
    expect(await bench.stateOf('b')).toBe('FAILED')
    expect(await bench.stateOf('c')).toBe('SUSPENDED')
    expect(await bench.packedJobs()).toEqual(['c'])
  })

  it('are listed in order, with the others', async () => {
    const bench = await new Waiting().open()
    await bench.suspend(['a', 'b'], 5_000)
    await bench.must({ type: 'SubmitJob', job: 'plain', spec: plain() })
    await bench.must({ type: 'CancelJob', job: 'a', ...onRecord })
    await reopened(bench)
    const { jobs } = await bench.store.query({ kind: 'jobs', limit: 10 })
    expect(jobs.map(({ id, state }) => `${id} ${state}`)).toEqual([
      'a FAILED',
      'b SUSPENDED',
      'plain QUEUED',
    ])
  })

  it('with large payloads stay as they are', async () => {
    const bench = await new Waiting().open({ segmentBytes: 1_000_000 })
    await bench.suspend(['large'], 2_000, JSON.stringify('x'.repeat(5_000)))
    await reopened(bench)
    expect(await bench.packedJobs()).toEqual([])
    bench.now = 2_000
    expect((await bench.claimed()).map(({ job }) => job)).toEqual(['large'])
  })
})

it('what was taken back leaves nothing behind: a job may be suspended again and again', async () => {
  const bench = await new Waiting().open()
  await bench.suspend(['a'], null)
  for (let round = 0; round < 300; round++) {
    bench.now += 1
    await bench.must({ ...message('a'), id: `m${round}` } as Command)
    const [lease] = await bench.claimed()
    expect(lease?.job).toBe('a')
    const { stage, segment } = lease as Claimed
    const address = { job: 'a', stage, segment, lease: lease?.lease ?? 0, worker: 'w' }
    const wait = { name: `w${round}`, message: 'go', schema: null, ask: null, delayMs: 1e9 }
    const waits = [{ ...wait, dueAt: null, callee: null }]
    await bench.must(suspension(address, waits))
  }
  expect(await bench.stateOf('a')).toBe('SUSPENDED')
})
