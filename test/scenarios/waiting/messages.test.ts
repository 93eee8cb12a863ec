/**
 * Messages to jobs: kept from the moment that they are sent, taken in order and once, checked by what the job
 * asks for.
 */
import { describe, expect, it } from 'vitest'
import type { StandardSchema } from '../../../src/index.ts'
import {
  batchJob,
  contract,
  handle as handleContract,
  job,
  message,
  pipeline,
  typed,
} from '../../../src/index.ts'
import { deferred, EVERY_ENGINE, OWN_ENGINES } from '../../support/engines.ts'

interface Approval {
  readonly ok: boolean
  readonly note: string
}

/** As a library would make it. */
function approvalSchema(notes: readonly string[] = []): StandardSchema<Approval> {
  const jsonSchema = {
    type: 'object',
    properties: {
      ok: { type: 'boolean' },
      note: notes.length === 0 ? { type: 'string' } : { enum: notes },
    },
    required: ['ok', 'note'],
  }
  const fits = (value: unknown): value is Approval => {
    const { ok, note } = (value ?? {}) as Partial<Approval>
    const isKnown = notes.length === 0 || notes.includes(note ?? '')
    return typeof ok === 'boolean' && typeof note === 'string' && isKnown
  }
  return {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) =>
        fits(value) ? { value } : { issues: [{ message: 'is no approval', path: ['note'] }] },
      jsonSchema: { input: () => jsonSchema },
    } as StandardSchema<Approval>['~standard'],
  }
}

const approval = message('approval', { input: approvalSchema() })

const refund = job('refund', {
  messages: [approval],
  run: async ({ waitFor, step, job: { attempt } }) => {
    await step('first', () => attempt)
    const answer = await waitFor(approval, { timeout: '2d' })
    return answer === null ? 'too late' : `${answer.note} ${attempt}`
  },
})

describe.each(EVERY_ENGINE)('a message %s', (_name, open) => {
  it('that is sent before the wait is not lost, and the job does not suspend for it', async () => {
    const pawl = await open()
    const handle = await pawl.submit(refund)
    await pawl.send(handle.id, approval, { ok: true, note: 'early' })
    pawl.work([refund])
    expect(await handle.result()).toBe('early 1')
    const types = (await pawl.history(handle.id)).map(({ type }) => type)
    expect(types).toContain('WaitEnded')
    expect(types).not.toContain('ExecutionSuspended')
  })

  it('that is sent between the look and the wait is not lost', async () => {
    const pawl = await open()
    const began = deferred()
    const mayWait = deferred()
    const slow = job('slow', {
      messages: [approval],
      run: async ({ waitFor, step }) => {
        await step('prepare', () => began.resolve())
        await mayWait.promise
        return (await waitFor(approval)).note
      },
    })
    pawl.work([slow])
    const handle = await pawl.submit(slow)
    await began.promise
    await pawl.send(handle.id, approval, { ok: true, note: 'between' })
    mayWait.resolve()
    expect(await handle.result()).toBe('between')
  })

  it('ends the wait, says who sent it, and is one message however often it is sent', async () => {
    const pawl = await open()
    pawl.work([refund])
    const handle = await pawl.submit(refund)
    await expect.poll(() => handle.state()).toBe('SUSPENDED')
    const told = (await pawl.explain(handle.id)).reasons[0]
    expect(told).toMatchObject({ what: 'suspended' })
    expect(told?.message).toMatch(
      /^It waits since .*Z for message 'approval', until .*Z at the latest\.$/,
    )
    expect(told?.until?.getTime()).toBeGreaterThan(Date.now() + 86_400_000)
    const [wait] = (await handle.info()).waits
    expect(wait).toMatchObject({ name: 'approval', message: 'approval', callee: null })
    expect(wait?.until?.getTime()).toBe((wait?.since.getTime() ?? 0) + 2 * 86_400_000)
    const sent = { id: 'web-7', by: 'ada', reason: 'looks right' }
    await pawl.send(handle.id, approval, { ok: true, note: 'fine' }, sent)
    await pawl.send(handle.id, approval, { ok: true, note: 'again' }, sent)
    expect(await handle.result()).toBe('fine 2')
    const messages = (await pawl.history(handle.id)).filter(({ type }) => type === 'MessageSent')
    expect(messages.map(({ by, reason }) => [by, reason])).toEqual([['ada', 'looks right']])
    const over = await pawl
      .send(handle.id, approval, { ok: true, note: 'x' })
      .catch((e: unknown) => e)
    expect(over).toMatchObject({ code: 'TaskFinal' })
  })

  it('that does not come in time leaves null', async () => {
    const pawl = await open()
    const hasty = job('hasty', {
      messages: [approval],
      run: async ({ waitFor }) => waitFor(approval, { timeout: 200 }),
    })
    pawl.work([hasty])
    expect(await (await pawl.submit(hasty)).result()).toBeNull()
  })
})

describe.each(OWN_ENGINES)('messages %s', (_name, open) => {
  it('are taken in order, each by the wait that is named', async () => {
    const pawl = await open()
    const note = message('note', { input: typed<number>() })
    const agent = job('agent', {
      messages: [note],
      run: async ({ waitFor }) => {
        const got: number[] = []
        for (let turn = 1; turn <= 3; turn++)
          got.push(await waitFor(note, { name: `turn-${turn}` }))
        return got
      },
    })
    const handle = await pawl.submit(agent)
    await pawl.send(handle.id, note, 1)
    await pawl.send(handle.id, note, 2)
    pawl.work([agent])
    await expect.poll(() => handle.state()).toBe('SUSPENDED')
    await pawl.send(handle.id, note, 3)
    expect(await handle.result()).toEqual([1, 2, 3])
  })

  it('that do not fit are refused where they are sent, and leave the wait open', async () => {
    const pawl = await open()
    pawl.work([refund])
    const handle = await pawl.submit(refund)
    await expect.poll(() => handle.state()).toBe('SUSPENDED')
    const bad = { ok: 'yes', note: 'x' } as unknown as Approval
    await expect(pawl.send(handle.id, approval, bad)).rejects.toThrow('does not fit its schema')
    const unknown = message('aproval')
    await expect(pawl.send(handle.id, unknown)).rejects.toThrow(
      `There is no message 'aproval' of job 'refund': it takes 'approval'`,
    )
    await expect(pawl.send('nothing', approval, { ok: true, note: '' })).rejects.toMatchObject({
      code: 'UnknownJob',
    })
    expect(await handle.state()).toBe('SUSPENDED')
    await pawl.send(handle.id, 'approval', { ok: true, note: 'by name' })
    expect(await handle.result()).toBe('by name 2')
  })

  it('that a later wait cannot use are skipped, on record', async () => {
    const pawl = await open()
    const lax = message('approval', { input: typed<Approval>() })
    const before = job('refund', { messages: [lax], run: () => 'before' })
    const handle = await pawl.submit(before)
    await pawl.send(handle.id, lax, { ok: 1, note: 'odd' } as unknown as Approval, { id: 'odd' })
    await pawl.send(handle.id, lax, { ok: true, note: 'good' }, { id: 'good' })
    pawl.work([refund])
    expect(await handle.result()).toBe('good 1')
    const ended = (await pawl.history(handle.id)).find(({ type }) => type === 'WaitEnded')
    expect(ended?.entry).toMatchObject({ message: 'good', unfit: ['odd'] })
  })

  it('are checked by what waits, whichever version the sender has', async () => {
    const pawl = await open()
    const strict = message('approval', { input: approvalSchema(['yes', 'no']) })
    const waiting = job('refund', {
      messages: [strict],
      run: async ({ waitFor }) => (await waitFor(strict)).note,
    })
    pawl.work([waiting])
    const handle = await pawl.submit(waiting)
    await expect.poll(() => handle.state()).toBe('SUSPENDED')
    await expect(pawl.send(handle.id, approval, { ok: true, note: 'maybe' })).rejects.toThrow(
      'note: must be one of ["yes","no"]',
    )
    expect(await handle.state()).toBe('SUSPENDED')
    await pawl.send(handle.id, approval, { ok: true, note: 'yes' })
    expect(await handle.result()).toBe('yes')
  })

  it('go to the stage that takes them, also before it is open, and to a segment', async () => {
    const pawl = await open()
    const go = message('go', { input: typed<string>() })
    const mayEnd = deferred()
    const film = pipeline('film', { input: typed<string[]>() })
      .stage('first', { run: () => mayEnd.promise })
      .stage('cut', {
        after: 'first',
        each: 'input',
        messages: [go],
        run: async ({ segment, waitFor }) => `${segment} ${await waitFor(go)}`,
      })
    pawl.work([film])
    const handle = await pawl.submit(film, ['a', 'b'])
    await pawl.send(handle.id, go, 'one', { segment: 1 })
    mayEnd.resolve()
    await pawl.send(handle.id, go, 'zero', { stage: 'cut' })
    const outputs: string[] = []
    for await (const { output } of await handle.result()) outputs.push(output)
    expect(outputs).toEqual(['a zero', 'b one'])
    await expect(pawl.send(handle.id, message('stop'))).rejects.toThrow('Give a `stage`')
    await expect(pawl.send(handle.id, go, 'x', { stage: 'cutt' })).rejects.toThrow(
      `no stage 'cutt'`,
    )
  })

  it('of a contract are known to those that have only the contract', async () => {
    const pawl = await open()
    const agreed = contract('agreed', { messages: [approval] })
    const worked = handleContract(agreed, {
      run: async ({ waitFor }) => (await waitFor(approval)).note,
    })
    const handled = await pawl.submit(agreed)
    await pawl.send(handled.id, 'approval', { ok: true, note: 'agreed' })
    pawl.work([worked])
    expect(await handled.result()).toBe('agreed')
  })
})

describe('a message that is written wrongly', () => {
  const [, open] = OWN_ENGINES[0] as (typeof OWN_ENGINES)[number]

  it('is refused: one that is not listed, two of a name, an unknown option, one of a batch', async () => {
    const pawl = await open()
    const unlisted = job('unlisted', {
      retry: { max: 0 },
      run: async ({ waitFor }) => waitFor(approval as never),
    })
    pawl.work([unlisted])
    const handle = await pawl.submit(unlisted)
    await expect(handle.result()).rejects.toThrow('which is not in its `messages`')
    expect(() => job('two', { messages: [approval, approval], run: () => 1 })).toThrow('two named')
    expect(() => job('odd', { messages: ['approval'] as never, run: () => 1 })).toThrow(
      'list what message(',
    )
    expect(() => message('m', { schema: 1 } as never)).toThrow('There is no option `schema`')
    expect(() => batchJob('b', { max: 1, messages: [], run: () => [] } as never)).toThrow(
      'cannot wait',
    )
    await expect(
      pawl.send(handle.id, approval, null as never, { key: 'x' } as never),
    ).rejects.toThrow('There is no option `key` of send()')
    await expect(pawl.send(handle.id, 7 as never)).rejects.toThrow('send() takes what message(')
  })
})
