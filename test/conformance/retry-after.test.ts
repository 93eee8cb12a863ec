/** Errors that say when to try again, and what that costs; and jobs that must end by a time. */
import { describe, expect, it } from 'vitest'
import type { Aborted } from '../../src/index.ts'
import { effect, job, pipeline, RetryAfter, typed } from '../../src/index.ts'
import { deferred, EVERY_ENGINE } from '../support/engines.ts'

/** What a client of an API throws. */
class TooManyRequests extends Error {
  readonly status = 429
  readonly retryAfterSeconds: number

  constructor(seconds: number) {
    super('Too many requests')
    this.retryAfterSeconds = seconds
  }
}

describe.each(EVERY_ENGINE)('an error that says when to try again %s', (_name, open) => {
  it('puts the job off for so long, and costs a retry', async () => {
    const pawl = await open()
    const busy = job('busy', {
      retry: { max: 1, delay: 0 },
      run: () => {
        throw new RetryAfter('1h', { message: 'The bank is closed' })
      },
    })
    pawl.work([busy])
    const handle = await pawl.submit(busy)
    await expect.poll(() => handle.state()).toBe('RETRYING')
    const info = await handle.info()
    expect(info).toMatchObject({
      retryCount: 1,
      error: { type: 'RETRYABLE', code: 'RetryAfter', message: 'The bank is closed' },
    })
    const failedAt = info.executions[0]?.finishedAt?.getTime() ?? 0
    expect(info.dueAt.getTime() - failedAt).toBe(3_600_000)
    expect((await pawl.explain(handle.id)).reasons).toMatchObject([
      { what: 'waits-for-retry', until: info.dueAt },
    ])
    await pawl.reschedule(handle.id, { delay: 0 })
    await expect(handle.result()).rejects.toMatchObject({ code: 'JobQuarantined' })
  })

  it('costs none if it is free', async () => {
    const pawl = await open()
    const limited = job('limited', {
      retry: { max: 0 },
      run: ({ job: { attempt } }) => {
        if (attempt < 4) throw new RetryAfter(5, { free: true })
        return attempt
      },
    })
    pawl.work([limited])
    const handle = await pawl.submit(limited)
    expect(await handle.result()).toBe(4)
    expect(await handle.info()).toMatchObject({ retryCount: 0, attempt: 4 })
  })

  it('is what classify makes of an error of a library', async () => {
    const pawl = await open()
    const limited = job('limited', {
      retry: { max: 0 },
      classify: (error) =>
        error instanceof TooManyRequests
          ? new RetryAfter(`${error.retryAfterSeconds}s`, { free: true })
          : undefined,
      run: () => {
        throw new TooManyRequests(3_600)
      },
    })
    pawl.work([limited])
    const handle = await pawl.submit(limited)
    await expect.poll(() => handle.state()).toBe('RETRYING')
    const info = await handle.info()
    // Its own code and message are on record.
    expect(info).toMatchObject({ retryCount: 0, error: { message: 'Too many requests' } })
    const failedAt = info.executions[0]?.finishedAt?.getTime() ?? 0
    expect(info.dueAt.getTime() - failedAt).toBe(3_600_000)
    expect((await pawl.explain(handle.id)).reasons).toMatchObject([{ what: 'waits-for-retry' }])
  })

  it('puts off an effect, and costs a retry of it', async () => {
    const pawl = await open()
    let runs = 0
    const mail = effect('mail', {
      retry: { max: 1, delay: '1h' },
      run: () => {
        runs += 1
        if (runs === 1) throw new RetryAfter(5)
        if (runs === 2) throw new RetryAfter(5, { free: true })
      },
    })
    const order = job('order', { effects: [mail], run: ({ commit }) => commit(1, [mail()]) })
    pawl.work([order])
    const handle = await pawl.submit(order)
    await expect(handle.result()).rejects.toMatchObject({ code: 'JobQuarantined' })
    expect(runs).toBe(2)
  })

  it('is said of a timeout, too, and of a stage', async () => {
    const pawl = await open()
    const slow = pipeline('slow', { retry: { max: 0 } }).stage('only', {
      timeout: 200,
      classify: (error) =>
        (error as Aborted).reason === 'timed-out' ? new RetryAfter(5, { free: true }) : undefined,
      run: ({ job: { attempt } }) => (attempt > 1 ? attempt : new Promise<number>(() => undefined)),
    })
    pawl.work([slow])
    expect(await (await pawl.submit(slow)).result()).toBe(2)
  })
})

describe.each(EVERY_ENGINE)('a handler that is stalled and recovered %s', (_name, open) => {
  it('is tried again after the delay that its definition says', async () => {
    const pawl = await open()
    const silent = job('silent', {
      lease: '1s',
      stalled: { after: 50, recover: true, delay: '1h' },
      run: ({ job: { attempt } }) => (attempt > 1 ? attempt : new Promise<number>(() => undefined)),
    })
    pawl.work([silent], { shutdown: 0 })
    const handle = await pawl.submit(silent)
    await expect.poll(() => handle.state(), { timeout: 5_000 }).toBe('RETRYING')
    const { dueAt, updatedAt, retryCount } = await handle.info()
    expect(dueAt.getTime() - updatedAt.getTime()).toBe(3_600_000)
    expect(retryCount).toBe(1)
    await pawl.reschedule(handle.id, { delay: 0 })
    expect(await handle.result()).toBe(2)
  })
})

describe.each(EVERY_ENGINE)('a deadline %s', (_name, open) => {
  it('ends a job that is not committed by then, whatever it does', async () => {
    const pawl = await open()
    const stopped = deferred<Aborted>()
    const slow = job('slow', {
      deadline: 300,
      run: ({ signal }) =>
        new Promise<void>(() => {
          signal.addEventListener('abort', () => stopped.resolve(signal.reason as Aborted))
        }),
    })
    const failing = job('failing', {
      deadline: '1h',
      retry: { delay: '1h' },
      run: () => {
        throw new Error('not yet')
      },
    })
    pawl.work([slow, failing], { shutdown: 0 })
    const running = await pawl.submit(slow)
    const { submittedAt, deadlineAt } = await running.info()
    expect(Number(deadlineAt) - Number(submittedAt)).toBe(300)
    const retrying = await pawl.submit(failing, undefined, { deadline: 300 })
    const waiting = await pawl.submit(slow, undefined, {
      delay: '1h',
      deadline: new Date(Number(submittedAt) + 300),
    })
    for (const handle of [running, retrying, waiting]) {
      await expect(handle.result()).rejects.toMatchObject({
        code: 'JobDeadlinePassed',
        message: expect.stringMatching(/was not committed by its deadline/) as string,
        details: { job: handle.id },
      })
      expect(await handle.info()).toMatchObject({ state: 'FAILED', failure: { why: 'deadline' } })
      const { reasons } = await pawl.explain(handle.id)
      expect(reasons).toMatchObject([
        { what: 'over', message: expect.stringMatching(/Its deadline passed/) as string },
      ])
    }
    expect(await stopped.promise).toMatchObject({ reason: 'cancelled', by: 'deadline' })
    await expect(retrying.result()).rejects.toMatchObject({ failure: { message: 'not yet' } })
  })

  it('is of a pipeline as a whole, and not of a commit that is finished', async () => {
    const pawl = await open()
    const film = pipeline('film', { deadline: 200 })
      .stage('cut', { run: () => 1 })
      .stage('wait', { after: 'cut', run: () => new Promise<void>(() => undefined) })
    const mail = effect('mail', { retry: { delay: 400 }, run: () => sent() })
    let tries = 0
    const sent = (): void => {
      tries += 1
      if (tries === 1) throw new Error('not yet')
    }
    const order = job('order', {
      deadline: 200,
      effects: [mail],
      run: ({ commit }) => commit('done', [mail()]),
    })
    pawl.work([film, order], { shutdown: 0 })
    const late = await pawl.submit(film)
    // Long enough that its commit is in time on a busy machine.
    const inTime = await pawl.submit(order, undefined, { deadline: '20s' })
    await expect(late.result()).rejects.toMatchObject({ code: 'JobDeadlinePassed' })
    expect(await late.info()).toMatchObject({ failure: { why: 'deadline' } })
    expect(await inTime.result()).toBe('done')
    const again = await pawl.rerun(late.id)
    const { submittedAt, deadlineAt } = await again.info()
    expect(Number(deadlineAt) - Number(submittedAt)).toBe(200)
  })

  it('that was a moment is not that of the job that is run again', async () => {
    const pawl = await open()
    const later = job('later', { run: () => 'done' })
    const handle = await pawl.submit(later, undefined, { delay: '1h', deadline: new Date(1) })
    await expect(handle.result()).rejects.toMatchObject({ code: 'JobDeadlinePassed' })
    pawl.work([later])
    const again = await pawl.rerun(handle.id)
    expect(await again.result()).toBe('done')
    expect((await again.info()).deadlineAt).toBeNull()
  })
})

const run = (): null => null
/** As a program without types may write it. */
const STAGE = { run, deadline: '1h' }

describe('what makes no sense', () => {
  it.each<[string, () => unknown, RegExp]>([
    ['a deadline of 0', () => job('a', { deadline: 0, run }), /deadline of job 'a' must be more/],
    [
      'a deadline in other words',
      () => job('a', { deadline: 'soon' as '1s', run }),
      /deadline of job 'a' must be a duration/,
    ],
    [
      'a deadline of a stage',
      () => pipeline('p').stage('s', STAGE),
      /no `deadline` of stage 's' of pipeline 'p'.*give it to the pipeline/,
    ],
    [
      'a delay of what is not recovered',
      () => job('a', { stalled: { delay: '1s' }, run }),
      /`stalled.delay` of job 'a'.*say `recover: true`/,
    ],
    [
      'a delay of a hundred days',
      () => job('a', { stalled: { recover: true, delay: '100d' }, run }),
      /`stalled.delay` of job 'a' must be at most 30 days/,
    ],
    [
      'a RetryAfter of words',
      () => new RetryAfter('later' as '1s'),
      /delay of a RetryAfter must be/,
    ],
    ['a RetryAfter of 31 days', () => new RetryAfter('31d'), /at most 30 days, not '31d'/],
    [
      'a RetryAfter that is free of something',
      () => new RetryAfter(1, { free: 'yes' as unknown as boolean }),
      /`free` of a RetryAfter is true or false, not yes/,
    ],
  ])('is refused where it is written: %s', (_what, make, message) => {
    expect(make).toThrow(message)
  })

  it.each(EVERY_ENGINE)('is refused where it is submitted %s', async (_name, open) => {
    const pawl = await open()
    const later = job('later', { input: typed<number>(), run })
    const bad = pawl.submit(later, 1, { deadline: new Date(Number.NaN) })
    await expect(bad).rejects.toThrow(/The deadline of job 'later' must be a date/)
    const none = pawl.submit(later, 1, { deadline: 0 })
    await expect(none).rejects.toThrow(/The deadline of job 'later' must be more than 0/)
    const terms = {
      job: later,
      input: 1,
      every: '1h',
      deadline: new Date() as unknown as '1h',
    } as const
    await expect(pawl.schedule('s', terms)).rejects.toThrow(
      /`deadline` of schedule 's' is a duration/,
    )
  })
})
