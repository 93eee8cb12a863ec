/**
 * A small store with something of everything: jobs that wait, ask a person, are held by a limit, are leased, done,
 * dead and forgotten; a pipeline with segments; a parent with its child; a queue with a rate; a
 * schedule that has fired.
 */
import { expect } from 'vitest'
import type { Command } from '../../../src/kernel/index.ts'
import { childId, tickId } from '../../../src/kernel/index.ts'
import type { ClaimRequest, Clock, Store } from '../../../src/store/index.ts'
import { child, failure, onRecord, pipeline, plain, promise, stage } from '../../support/specs.ts'

export const ONE_AT_A_TIME = { key: 'one', concurrency: 1, rate: null }
const TWO = { key: 'two', concurrency: 2, rate: null }
export const CHILD = childId({ job: 'parent', stage: 0, segment: 0, effect: 0 })
export const TICK = tickId('hourly', 500)

const at = (job: string, lease = 1, stageIndex = 0, segment = 0) =>
  ({ job, stage: stageIndex, segment, lease, worker: 'w' }) as const
const commit = (job: string, output = '"out"'): Command => ({
  type: 'CommitExecution',
  ...at(job),
  output,
  effects: [],
})
const channel = (type: string, stageName: string | null, queue = 'default') => ({
  queue,
  type,
  stage: stageName,
})

export class SampleStore {
  now = 1_000
  #store!: Store
  #request = 0

  /** The store that it was told to. */
  async tell<S extends Store>(open: (clock: Clock) => Promise<S>): Promise<S> {
    const store = await open({ now: () => this.now })
    this.#store = store
    await this.#queuesAndSchedules()
    await this.#plainJobs()
    await this.#pipeline()
    await this.#family()
    await this.#question()
    await this.#lives()
    return store
  }

  async #queuesAndSchedules(): Promise<void> {
    await this.#must(
      {
        type: 'ConfigureQueue',
        queue: 'slow',
        concurrency: 3,
        rate: { count: 2, perMs: 1_000 },
        ageingMs: 50,
        ...onRecord,
      },
      { type: 'PauseQueue', queue: 'other', ...onRecord },
      {
        type: 'SetSchedule',
        schedule: 'hourly',
        definition: 'every hour',
        seen: null,
        ...onRecord,
      },
      {
        type: 'SubmitJob',
        job: TICK,
        spec: plain({ schedule: { id: 'hourly', tick: 500 }, priority: 2 }, { queue: 'slow' }),
      },
      { type: 'FireSchedule', schedule: 'hourly', tick: 500, skipped: false },
    )
  }

  async #plainJobs(): Promise<void> {
    const limits = [ONE_AT_A_TIME]
    await this.#must(
      { type: 'SubmitJob', job: 'held', spec: plain({ type: 'limited' }, { limits }) },
      { type: 'SubmitJob', job: 'parked', spec: plain({ type: 'limited' }, { limits }) },
      { type: 'SubmitJob', job: 'waiting', spec: plain({ key: 'k', group: 'g', priority: 3 }) },
      { type: 'SubmitJob', job: 'free', spec: plain({ type: 'free' }, { limits: [TWO] }) },
      { type: 'SubmitJob', job: 'later', spec: plain({ delayMs: 5_000, type: 'late' }) },
      { type: 'SubmitJob', job: 'done', spec: plain({ type: 'quick' }) },
      { type: 'SubmitJob', job: 'dead', spec: plain({ type: 'bad' }, { retry: noRetry }) },
    )
    expect(await this.#claim(channel('limited', null))).toEqual(['held'])
    // The next one waits for the limit from here on.
    expect(await this.#claim(channel('limited', null))).toEqual([])
    expect(await this.#claim(channel('quick', null))).toEqual(['done'])
    expect(await this.#claim(channel('bad', null))).toEqual(['dead'])
    await this.#must(commit('done'), { type: 'FailTask', ...at('dead'), error: failure() })
  }

  async #pipeline(): Promise<void> {
    const spec = pipeline(
      [stage('split'), stage('work', { after: ['split'], each: 'split' }), stage('join')],
      { type: 'pipe', key: 'p' },
    )
    await this.#must(
      { type: 'SubmitJob', job: 'pipe', spec },
      { type: 'OpenStage', job: 'pipe', stage: 0 },
    )
    expect(await this.#claim(channel('pipe', 'split'))).toEqual(['pipe'])
    await this.#must(commit('pipe', '[1,2,3]'), { type: 'OpenStage', job: 'pipe', stage: 1 })
    expect(await this.#claim(channel('pipe', 'work'))).toEqual(['pipe'])
  }

  async #family(): Promise<void> {
    const spec = plain({ type: 'parent' })
    const parent = { job: 'parent', stage: 0, segment: 0, effect: 0 }
    const born = plain({ type: 'child', input: '{"of":"parent"}' })
    await this.#must({ type: 'SubmitJob', job: 'parent', spec })
    expect(await this.#claim(channel('parent', null))).toEqual(['parent'])
    await this.#must(
      {
        type: 'CommitExecution',
        ...at('parent'),
        output: '1',
        effects: [child(born), promise({ idempotent: true })],
      },
      { type: 'StartEffect', ...at('parent'), effect: 0 },
      { type: 'SubmitJob', job: CHILD, spec: { ...born, parent } },
      { type: 'FinishEffect', ...at('parent'), effect: 0 },
    )
  }

  /** An id that is used again, and a job that is gone. */
  async #lives(): Promise<void> {
    for (const job of ['again', 'forgotten']) {
      await this.#must({ type: 'SubmitJob', job, spec: plain({ type: 'short' }) })
      expect(await this.#claim(channel('short', null))).toEqual([job])
      await this.#must(commit(job))
      this.now += 1
      await this.#must({ type: 'ForgetJob', job, endedBefore: this.now })
    }
    await this.#must({ type: 'SubmitJob', job: 'again', spec: plain({ type: 'other' }) })
  }

  /** A job that waits for a person. */
  async #question(): Promise<void> {
    await this.#must({ type: 'SubmitJob', job: 'asks', spec: plain({ type: 'asks' }) })
    expect(await this.#claim(channel('asks', null))).toEqual(['asks'])
    const ask = JSON.stringify({ name: 'approval', ask: 'Well?', for: ['ada'] })
    const wait = { name: 'approval', message: 'approval', ask }
    const terms = { schema: null, delayMs: null, dueAt: null, callee: null }
    await this.#must({
      type: 'SuspendExecution',
      ...at('asks'),
      needs: 'all',
      waits: [{ ...wait, ...terms }],
      unfit: [],
      definitionVersion: 1,
    })
  }

  async #must(...commands: readonly Command[]): Promise<void> {
    for (const command of commands) {
      const [answer] = await this.#store.execute([command])
      expect([command.type, answer?.verdict, answer?.rejection?.message]).toEqual([
        command.type,
        'committed',
        undefined,
      ])
    }
  }

  async #claim(name: ClaimRequest['channels'][number]): Promise<string[]> {
    const request = { worker: 'w', request: ++this.#request, channels: [name], max: 1 }
    const leases = await this.#store.claim({ ...request, started: true })
    return leases.map(({ job }) => job)
  }
}

const noRetry = {
  max: 0,
  backoff: 'fixed',
  delayMs: 0,
  capMs: 0,
  delaysMs: [],
  jitter: 0,
} as const
