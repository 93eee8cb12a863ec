import { describe, expect, it, onTestFinished } from 'vitest'
import { ENGINES } from '../../test/support/engines.ts'
import type { AnyJob } from '../definition/index.ts'
import { job, pipeline, typed } from '../definition/index.ts'
import type { Store } from '../store/index.ts'
import { MemoryStore } from '../store/index.ts'
import { testEngine } from '../testing/index.ts'
import { Pawl } from './pawl.ts'
import { realTiming } from '../store/clock.ts'

/** An engine whose worker is played by the test. */
class Stage {
  now = 1_000
  readonly store: Store = new MemoryStore({ now: () => this.now })
  readonly pawl = new Pawl({
    store: this.store,
    timing: realTiming(() => this.now),
    onError: () => undefined,
    backup: null,
    onClose: () => undefined,
  })
  #requests = 0

  constructor() {
    onTestFinished(() => this.pawl.close())
  }

  /** What is next of the type, taken by a worker of which nothing is heard again. */
  async take(type: string, stage: string | null = null): Promise<void> {
    this.#requests += 1
    const channels = [{ queue: 'default', type, stage }]
    const claim = { worker: 'w', request: this.#requests, channels, max: 1, started: true }
    expect(await this.store.claim(claim)).toHaveLength(1)
  }

  async runOut(): Promise<void> {
    this.now += 60_000
    await this.pawl.upkeep()
  }
}

async function submitted(stage: Stage, definition: AnyJob): Promise<string> {
  const { id } = await stage.pawl.submit(definition as typeof silent)
  return id
}

const silent = job('silent', { retry: { max: 0 }, run: () => 1 })
const failing = job('silent', { retry: { max: 0 }, quarantine: 'never', run: () => 1 })

const RAN_OUT =
  'The lease of its last attempt ran out (LeaseExpired): worker w fell silent while IN_PROGRESS: lease 1 ran out 30000 ms ago.'
const GIVEN_UP =
  'waits for an operator. It used up its retries: retry, force or discard it. The lease of its'

describe('a job whose lease ran out', () => {
  it('and that failed by it says who fell silent', async () => {
    const stage = new Stage()
    const id = await submitted(stage, failing)
    await stage.take('silent')
    await stage.runOut()
    await expect(stage.pawl.handle(id).result()).rejects.toMatchObject({
      code: 'JobFailed',
      message: `Job ${id} (silent) failed. ${RAN_OUT} Its retries are used up.`,
      failure: null,
    })
  })

  it('and that is in quarantine by it says so where it is explained and waited for', async () => {
    const stage = new Stage()
    const id = await submitted(stage, silent)
    await stage.take('silent')
    await stage.runOut()
    const [first] = (await stage.pawl.explain(id)).reasons
    expect(first?.message).toBe(
      `Job ${id} waits for an operator. It used up its retries: retry, force or discard it. ${RAN_OUT}`,
    )
    const message = `Job ${id} (silent) is in quarantine and waits for an operator. Retry, force or discard it. ${RAN_OUT}`
    await expect(stage.pawl.handle(id).result()).rejects.toMatchObject({ message })
    // A late report is noted behind it.
    const late = { type: 'ReleaseLease', stage: 0, segment: 0, lease: 1, worker: 'w' } as const
    await stage.store.execute([{ ...late, job: id }])
    await expect(stage.pawl.handle(id).result()).rejects.toMatchObject({ message })
  })

  it('names the error of an attempt before it as such', async () => {
    const stage = new Stage()
    const twice = job('silent', { retry: { max: 1, delay: 0 }, run: () => 1 })
    const id = await submitted(stage, twice)
    await stage.take('silent')
    const error = { type: 'RETRYABLE', code: 'Error', message: 'no', stack: null } as const
    const report = { type: 'FailTask', stage: 0, segment: 0, lease: 1, worker: 'w', error } as const
    await stage.store.execute([{ ...report, job: id }])
    await stage.take('silent')
    await stage.runOut()
    await expect(stage.pawl.handle(id).result()).rejects.toThrow(
      /ran out \(LeaseExpired\): worker w fell silent .* Before that: Error: no$/,
    )
    const [first] = (await stage.pawl.explain(id)).reasons
    expect(first?.message).toMatch(/retries \(Error: no\): .* ran out \(LeaseExpired\): worker w/)
  })

  it('says where to look if the log cannot be read', async () => {
    const stage = new Stage()
    const id = await submitted(stage, silent)
    await stage.take('silent')
    await stage.runOut()
    const query = stage.store.query.bind(stage.store)
    stage.store.query = (asked) =>
      asked.kind === 'history' ? Promise.reject(new Error('no')) : query(asked)
    await expect(stage.pawl.handle(id).result()).rejects.toThrow(
      'The lease of its last attempt was lost (LeaseExpired): history() says why.',
    )
  })
})

describe('a job whose lease was taken away', () => {
  it('says who revoked it and why', async () => {
    const stage = new Stage()
    const id = await submitted(stage, silent)
    await stage.take('silent')
    const lease = { job: id, stage: 0, segment: 0, lease: 1 }
    await stage.store.execute([
      { type: 'RevokeLease', ...lease, by: 'ada', reason: 'The host is going down.' },
    ])
    const [first] = (await stage.pawl.explain(id)).reasons
    expect(first?.message).toBe(
      `Job ${id} ${GIVEN_UP} last attempt was taken away (LeaseRevoked) by ada: The host is going down.`,
    )
  })

  it('because nothing was heard of its handler says for how long', async () => {
    const pawl = testEngine()
    onTestFinished(() => pawl.close())
    const stalled = job('stalled', {
      stalled: { after: '10m', recover: true },
      retry: { max: 0 },
      run: () => new Promise<never>(() => undefined),
    })
    const { name } = pawl.work([stalled])
    const { id } = await pawl.submit(stalled)
    await pawl.advance('11m')
    const [first] = (await pawl.explain(id)).reasons
    expect(first?.message).toBe(
      `Job ${id} ${GIVEN_UP} last attempt was taken away (LeaseRevoked) by ${name}: Stalled: nothing was heard of it for 600000 ms.`,
    )
  })
})

describe('a pipeline', () => {
  it('says of the task that is to blame why its lease was lost', async () => {
    const stage = new Stage()
    const policy = { retry: { max: 0 } }
    const line = pipeline('line', { input: typed<number[]>() })
      .stage('each', { ...policy, each: 'input', run: () => 1 })
      .stage('other', { ...policy, run: () => 1 })
    const { id } = await stage.pawl.submit(line, [1, 2])
    await stage.pawl.upkeep()
    await stage.take('line', 'each')
    await stage.runOut()
    await stage.take('line', 'each')
    const second = { job: id, stage: 0, segment: 1, lease: 1 }
    await stage.store.execute([{ type: 'RevokeLease', ...second, by: 'ada', reason: 'No.' }])
    const [first] = (await stage.pawl.explain(id)).reasons
    expect(first?.message).toContain(RAN_OUT)
  })
})

describe.each(ENGINES)('on any store %s', (_, open) => {
  it('the log says why a lease was lost', async () => {
    const pawl = await open()
    const stalled = job('stalled', {
      stalled: { after: '50ms', recover: true },
      retry: { max: 0 },
      run: () => new Promise<never>(() => undefined),
    })
    pawl.work([stalled])
    const handle = await pawl.submit(stalled)
    await expect(handle.result()).rejects.toThrow('Stalled: nothing was heard of it for 50 ms.')
  })
})
