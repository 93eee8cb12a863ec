/**
 * What was tried, as records: each attempt, the times of the job, its last error, and why it FAILED, which
 * `get`, `result()` and `explain` say alike.
 */
import { describe, expect, it } from 'vitest'
import type { ExecutionInfo, JobInfo, Pawl } from '../../src/index.ts'
import { effect, job, pipeline, TerminalError, typed, UnknownJob } from '../../src/index.ts'
import { deferred, EVERY_ENGINE } from '../support/engines.ts'

const flaky = job('flaky', {
  retry: { max: 2, delay: 0 },
  run: ({ job: { attempt } }) => {
    if (attempt < 3) throw new Error(`no ${attempt}`)
    return 'yes'
  },
})

function brief({ attempt, status, endedBy, error }: ExecutionInfo): unknown[] {
  return [attempt, status, endedBy, error?.message ?? null]
}

describe.each(EVERY_ENGINE)('the record of a job %s', (_name, open) => {
  it('has each attempt with its worker, its times, how it ended and its error', async () => {
    const pawl = await open()
    const worker = pawl.work([flaky])
    const handle = await pawl.submit(flaky)
    await handle.result()
    const info = await handle.info()
    expect(info.executions.map(brief)).toEqual([
      [1, 'ABORTED', 'TaskFailed', 'no 1'],
      [2, 'ABORTED', 'TaskFailed', 'no 2'],
      [3, 'DONE', 'ExecutionCommitted', null],
    ])
    for (const one of info.executions) {
      expect(one).toMatchObject({ stage: null, segment: null, worker: worker.name, reason: null })
      const { leasedAt, startedAt, finishedAt, leaseExpiresAt } = one
      expect(leaseExpiresAt.getTime()).toBeGreaterThan(leasedAt.getTime())
      expect(startedAt?.getTime()).toBeGreaterThanOrEqual(leasedAt.getTime())
      expect(finishedAt?.getTime()).toBeGreaterThanOrEqual(startedAt?.getTime() ?? Infinity)
    }
    expect(info).toMatchObject({
      attempt: 3,
      retryCount: 2,
      maxRetries: 2,
      // Both are null on success.
      error: null,
      lastError: null,
      errorType: null,
      failure: null,
      startedAt: info.executions[0]?.startedAt,
      completedAt: info.executions[2]?.finishedAt,
      updatedAt: info.executions[2]?.finishedAt,
    })
    const all = await pawl.executions(handle.id)
    expect(all).toEqual({ executions: info.executions, next: null })
    const first = await pawl.executions(handle.id, { limit: 2 })
    expect(first).toEqual({ executions: info.executions.slice(0, 2), next: 2 })
    const rest = await pawl.executions(handle.id, { after: 2, limit: 2 })
    expect(rest).toEqual({ executions: info.executions.slice(2), next: null })
    await expect(pawl.executions('nobody')).rejects.toThrow(UnknownJob)
  })

  it('has what runs, what waits for its effects, and the newest of many', async () => {
    const pawl = await open()
    const inside = deferred()
    const gate = deferred()
    const doomed = effect('doomed', {
      retry: { max: 0 },
      run: () => {
        throw new Error('no answer')
      },
    })
    const slow = job('slow', {
      effects: [doomed],
      run: async ({ commit }) => {
        inside.resolve()
        await gate.promise
        return commit(1, [doomed()])
      },
    })
    const handle = await pawl.submit(slow)
    expect(await handle.info()).toMatchObject({ startedAt: null, completedAt: null })
    pawl.work([slow])
    await inside.promise
    const running = await handle.info()
    expect(running.executions).toMatchObject([
      { attempt: 1, status: 'IN_PROGRESS', finishedAt: null, endedBy: null },
    ])
    expect(running.startedAt).toEqual(running.executions[0]?.startedAt)
    gate.resolve()
    await expect(handle.result()).rejects.toMatchObject({ code: 'JobQuarantined' })
    const held = await handle.info()
    expect(held.executions.map(brief)).toEqual([[1, 'COMMITTED', 'EffectFailed', 'no answer']])
    expect(held).toMatchObject({ completedAt: null, lastError: 'Error: no answer' })
    const many = job('many', {
      retry: { max: 24, delay: 0 },
      run: ({ job: { attempt } }) => {
        throw new Error(`no ${attempt}`)
      },
    })
    pawl.work([many])
    const given = await pawl.submit(many)
    await given.result().catch(() => undefined)
    const { executions, lastError, errorType } = await given.info()
    expect(executions.map(({ attempt, error }) => [attempt, error?.message])).toEqual(
      Array.from({ length: 20 }, (_, i) => [i + 6, `no ${i + 6}`]),
    )
    expect([lastError, errorType]).toEqual(['Error: no 25', 'RETRYABLE'])
    const all = await pawl.executions(given.id)
    expect(all.executions.map(({ error }) => error?.message)).toEqual(
      Array.from({ length: 25 }, (_, i) => `no ${i + 1}`),
    )
  })

  it('of a pipeline is by stage and segment, and has a start, an attempt and an output', async () => {
    const pawl = await open()
    const parts = pipeline('parts', { input: typed<number[]>(), retry: { max: 1, delay: 0 } })
      .stage('each', {
        each: 'input',
        run: ({ segment, job: { attempt } }) => {
          if (segment === 2 && attempt === 1) throw new Error('once more')
          return segment * 10
        },
      })
      .stage('sum', { after: 'each', run: () => 'whole' })
      .stage('list', { after: 'each', each: 'input', run: ({ segment }) => segment })
    const handle = await pawl.submit(parts, [1, 2])
    expect(await handle.info()).toMatchObject({ startedAt: null, attempt: 0, output: undefined })
    pawl.work([parts], { concurrency: 1 })
    await handle.result()
    const info = await handle.info()
    expect(info).toMatchObject({
      attempt: 2,
      retryCount: 1,
      maxRetries: null,
      output: { sum: 'whole', list: [1, 2] },
      lastError: null,
      startedAt: info.executions[0]?.startedAt,
    })
    expect(info.updatedAt).toEqual(info.completedAt)
    const named = info.executions.map(({ stage, segment, attempt }) => [stage, segment, attempt])
    expect(named).toHaveLength(6)
    expect(named).toContainEqual(['each', 0, 1])
    expect(named).toContainEqual(['each', 1, 2])
    expect(named).toContainEqual(['sum', null, 1])
    const second = await pawl.executions(handle.id, { stage: 'each', segment: 1 })
    expect(second.executions.map(brief)).toEqual([
      [1, 'ABORTED', 'TaskFailed', 'once more'],
      [2, 'DONE', 'ExecutionCommitted', null],
    ])
    await expect(pawl.executions(handle.id, { stage: 'none' })).rejects.toMatchObject({
      code: 'InvalidDefinition',
    })
    await expect(pawl.executions(handle.id, { segment: 1 })).rejects.toThrow('Give a `stage`')
  })

  it('says after a lost lease that it was lost, and the error before it', async () => {
    const pawl = await open()
    const inside = deferred()
    const gate = deferred()
    const silent = job('silent', {
      lease: 250,
      retry: { max: 3, delay: 0 },
      run: async ({ job: { attempt } }) => {
        if (attempt === 1) throw new Error('no')
        if (attempt > 2) return
        inside.resolve()
        await gate.promise
      },
    })
    const worker = pawl.work([silent])
    const handle = await pawl.submit(silent)
    await inside.promise
    await worker.kill()
    await expect.poll(() => handle.state(), { timeout: 5_000 }).toBe('QUEUED')
    const info = await handle.info()
    expect(info).toMatchObject({ errorType: 'RETRYABLE', error: { message: 'no' }, retryCount: 2 })
    expect(info.lastError).toMatch(
      /^The lease of attempt 2 ran out \(LeaseExpired\): worker .* Before that: Error: no$/,
    )
    expect(info.executions[1]).toMatchObject({ status: 'ABORTED', endedBy: 'LeaseExpired' })
    expect(info.executions[1]?.reason).toMatch(/^worker .* fell silent/)
    pawl.work([silent])
    await handle.result()
    expect(await handle.info()).toMatchObject({ lastError: null, errorType: null, error: null })
    gate.resolve()
  })

  it('says who forced an attempt to end, and why', async () => {
    const pawl = await open()
    const inside = deferred()
    const gate = deferred()
    const stuck = job('stuck', {
      run: async ({ job: { attempt } }) => {
        if (attempt > 1) return
        inside.resolve()
        await gate.promise
      },
    })
    pawl.work([stuck])
    const handle = await pawl.submit(stuck)
    await inside.promise
    await pawl.force(handle.id, { to: 'QUEUED', by: 'ann', reason: 'it hangs' })
    await handle.result()
    gate.resolve()
    expect((await handle.info()).executions[0]).toMatchObject({
      status: 'ABORTED',
      endedBy: 'TaskForced',
      reason: 'by ann: it hangs',
      error: null,
    })
  })
})

const never = job('never', { input: typed<string>(), run: () => undefined })
const terminal = job('terminal', {
  run: () => {
    throw new TerminalError('no such customer', { code: 'Unknown' })
  },
})
const tired = job('tired', {
  retry: { max: 1, delay: 0 },
  quarantine: 'never',
  run: () => {
    throw new Error('busy')
  },
})
const inStages = pipeline('in-stages', { input: typed<number[]>() }).stage('each', {
  each: 'input',
  run: ({ segment }) => {
    if (segment === 2) throw new TerminalError('no two')
    return segment
  },
})

type Failing = (pawl: Pawl) => Promise<string>

/** How a job comes to be FAILED, and what is said of it. */
const CAUSES: Readonly<Record<string, [Failing, Partial<NonNullable<JobInfo['failure']>>]>> = {
  cancelled: [
    async (pawl) => {
      const { id } = await pawl.submit(never, 'a')
      await pawl.cancel(id, { by: 'ann', reason: 'enough' })
      return id
    },
    { why: 'cancelled', by: 'ann', reason: 'enough', message: 'It was cancelled by ann: enough.' },
  ],
  forced: [
    async (pawl) => {
      const { id } = await pawl.submit(never, 'a')
      await pawl.force(id, { to: 'FAILED', by: 'bob', reason: 'wrong input' })
      return id
    },
    {
      why: 'forced',
      by: 'bob',
      reason: 'wrong input',
      message: 'It was forced to FAILED by bob: wrong input.',
    },
  ],
  'start-by': [
    async (pawl) => (await pawl.submit(never, 'a', { startWithin: 1 })).id,
    { why: 'start-by', by: null, message: 'No worker took it before its start-by time.' },
  ],
  deadline: [
    async (pawl) => (await pawl.submit(never, 'a', { deadline: 1 })).id,
    { why: 'deadline', by: 'deadline', message: 'Its deadline passed before it was committed.' },
  ],
  terminal: [
    async (pawl) => {
      pawl.work([terminal])
      return (await pawl.submit(terminal)).id
    },
    { why: 'terminal', message: 'Unknown: no such customer. Its error is terminal.' },
  ],
  retries: [
    async (pawl) => {
      pawl.work([tired])
      return (await pawl.submit(tired)).id
    },
    { why: 'retries', message: 'Error: busy. Its retries are used up.' },
  ],
  'terminal in a stage': [
    async (pawl) => {
      pawl.work([inStages])
      return (await pawl.submit(inStages, [1, 2])).id
    },
    {
      why: 'terminal',
      stage: 'each',
      segment: 1,
      message: 'TerminalError: no two. Its error is terminal.',
    },
  ],
}

describe.each(EVERY_ENGINE)('why a job FAILED %s', (_name, open) => {
  it.each(Object.entries(CAUSES))(
    'is said alike by get, result() and explain: %s',
    async (_cause, [fail, expected]) => {
      const pawl = await open()
      const id = await fail(pawl)
      const handle = pawl.handle(id)
      const error = (await handle
        .result({ timeout: '10s' })
        .catch((one: unknown) => one)) as Error & {
        readonly details: object
      }
      const { failure } = (await pawl.get(id)) as JobInfo
      expect(failure).toMatchObject(expected)
      const { message = '', why, by = null } = failure ?? {}
      if (why === 'cancelled') {
        expect(error).toMatchObject({ code: 'JobWasCancelled', details: { by, reason: 'enough' } })
        expect(error.message).toContain('was cancelled by ann: enough')
      } else if (why === 'deadline') {
        expect(error).toMatchObject({ code: 'JobDeadlinePassed', details: { job: id } })
        expect(error.message).toContain('was not committed by its deadline')
      } else {
        expect(error).toMatchObject({ code: 'JobFailed', why, details: { why, by } })
        expect(error.message.endsWith(message)).toBe(true)
      }
      const { reasons } = await pawl.explain(id)
      expect(reasons).toMatchObject([
        { what: 'over', message: `It is FAILED, and never runs again. ${message}` },
      ])
    },
  )
})
