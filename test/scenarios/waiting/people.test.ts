/**
 * Questions to people: the inbox shows them, oldest first, and an answer counts once, for its question alone.
 */
import { describe, expect, it } from 'vitest'
import type { Pawl, StandardSchema } from '../../../src/index.ts'
import { job, message, typed } from '../../../src/index.ts'
import { EVERY_ENGINE, OWN_ENGINES } from '../../support/engines.ts'

const schema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value: unknown) =>
      typeof (value as { ok?: unknown } | null)?.ok === 'boolean'
        ? { value: value as { ok: boolean } }
        : { issues: [{ message: 'is no approval' }] },
    jsonSchema: {
      input: () => ({
        type: 'object',
        properties: { ok: { type: 'boolean' } },
        required: ['ok'],
      }),
    },
  },
} as StandardSchema<{ ok: boolean }>
const approval = message('approval', { input: schema })

const refund = job('refund', {
  input: typed<number>(),
  messages: [approval],
  run: async ({ input, waitFor }) => {
    const answer = await waitFor(approval, {
      ask: `Refund ${input}?`,
      for: ['finance'],
      timeout: '2d',
    })
    return answer?.ok ?? null
  },
})

async function asked(pawl: Pawl, count: number): Promise<void> {
  await expect.poll(async () => (await pawl.inbox()).questions.length).toBe(count)
}

describe.each(EVERY_ENGINE)('a question %s', (_name, open) => {
  it('stands in the inbox with what is asked, and is answered by a person, with a reason', async () => {
    const pawl = await open()
    pawl.work([refund])
    const handle = await pawl.submit(refund, 7, { by: 'bob' })
    await asked(pawl, 1)
    const second = await pawl.submit(refund, 8)
    await asked(pawl, 2)
    const {
      questions: [item, next],
    } = await pawl.inbox({ for: 'finance' })
    expect(item).toMatchObject({
      job: handle.id,
      type: 'refund',
      stage: null,
      name: 'approval',
      message: 'approval',
      ask: 'Refund 7?',
      for: ['finance'],
      schema: { type: 'object', required: ['ok'] },
      quorum: 1,
      answers: 0,
      submittedBy: 'bob',
    })
    expect(item?.until?.getTime()).toBe((item?.since.getTime() ?? 0) + 2 * 86_400_000)
    expect(next?.job).toBe(second.id)
    expect((await pawl.explain(handle.id)).reasons[0]?.message).toContain(
      `for message 'approval', an answer to 'Refund 7?', for finance`,
    )
    expect(await pawl.inbox({ for: 'legal' })).toEqual({ questions: [], next: null })
    if (item === undefined) throw new Error('No question.')
    const misnamed = { ...item, name: 'aproval' }
    await expect(pawl.answer(misnamed, { ok: true }, { by: 'ada' })).rejects.toThrow(
      `It asks 'approval'.`,
    )
    await expect(pawl.answer(item, { ok: 'yes' }, { by: 'ada' })).rejects.toMatchObject({
      code: 'InvalidValue',
    })
    expect((await pawl.inbox({ job: handle.id })).questions).toHaveLength(1)
    await pawl.answer(item, { ok: true }, { by: 'ada', reason: 'a regular' })
    expect(await handle.result()).toBe(true)
    const sent = (await pawl.history(handle.id)).find(({ type }) => type === 'MessageSent')
    expect(sent).toMatchObject({ by: 'ada', reason: 'a regular' })
    await expect(pawl.answer(item, { ok: false }, { by: 'eve' })).rejects.toMatchObject({
      code: 'AnswerRefused',
    })
    // A program may answer with a message, too.
    await pawl.send(second.id, approval, { ok: false })
    expect(await second.result()).toBe(false)
    expect((await pawl.inbox()).questions).toEqual([])
  })
})

describe.each(OWN_ENGINES)('questions %s', (_name, open) => {
  it('that need several people count each once, and not the one who submitted', async () => {
    const pawl = await open()
    const two = job('two', {
      messages: [approval],
      run: async ({ waitFor }) => {
        const all = await waitFor(approval, { ask: 'Both?', quorum: 2, notBySubmitter: true })
        return all.map(({ ok }) => ok)
      },
    })
    pawl.work([two])
    const handle = await pawl.submit(two, undefined, { by: 'bob' })
    await asked(pawl, 1)
    const question = { job: handle.id, name: 'approval' }
    await expect(pawl.answer(question, { ok: true }, { by: 'bob' })).rejects.toThrow(
      'bob submitted the job',
    )
    await pawl.answer(question, { ok: true }, { by: 'ada' })
    await pawl.answer(question, { ok: false }, { by: 'ada' })
    const {
      questions: [item],
    } = await pawl.inbox()
    expect(item).toMatchObject({ quorum: 2, answers: 1 })
    await pawl.answer(question, { ok: false }, { by: 'eve' })
    expect(await handle.result()).toEqual([true, false])
  })

  it('take no answer that was meant for another one, however it is timed', async () => {
    const pawl = await open()
    const steps = job('steps', {
      messages: [approval],
      run: async ({ waitFor }) => {
        const manager = await waitFor(approval, { name: 'manager', ask: 'Manager?' })
        const director = await waitFor(approval, { name: 'director', ask: 'Director?' })
        return [manager.ok, director.ok]
      },
    })
    const worker = pawl.work([steps])
    const handle = await pawl.submit(steps)
    await asked(pawl, 1)
    await worker.stop()
    const manager = { job: handle.id, name: 'manager' }
    const answers = await Promise.allSettled([
      pawl.answer(manager, { ok: true }, { by: 'ada' }),
      pawl.answer(manager, { ok: false }, { by: 'eve' }),
    ])
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    pawl.work([steps])
    await expect.poll(async () => (await pawl.inbox()).questions[0]?.name).toBe('director')
    await expect(pawl.answer(manager, { ok: true }, { by: 'max' })).rejects.toMatchObject({
      code: 'AnswerRefused',
    })
    await pawl.answer({ job: handle.id, name: 'director' }, { ok: false }, { by: 'zoe' })
    expect(await handle.result()).toEqual([true, false])
  })

  it('that no person answers have a value then, or fail', async () => {
    const pawl = await open()
    const late = { ask: 'Soon?', timeout: 50 } as const
    const value = job('value', {
      messages: [approval],
      run: async ({ waitFor }) =>
        waitFor(approval, { ...late, onTimeout: { value: { ok: false } } }),
    })
    const fails = job('fails', {
      messages: [approval],
      run: async ({ waitFor }) => waitFor(approval, { ...late, onTimeout: 'fail' }),
    })
    pawl.work([value, fails])
    expect(await (await pawl.submit(value)).result()).toEqual({ ok: false })
    await expect((await pawl.submit(fails)).result()).rejects.toMatchObject({
      failure: { code: 'NotAnswered', type: 'TERMINAL' },
    })
  })

  it('are refused if they are written wrongly', async () => {
    const pawl = await open()
    const odd = job('odd', {
      retry: { max: 0 },
      input: typed<object>(),
      messages: [approval],
      run: async ({ input, waitFor }) => waitFor(approval, input),
    })
    pawl.work([odd])
    const said = async (options: object): Promise<string> => {
      const handle = await pawl.submit(odd, options)
      return handle.result().then(String, (error: unknown) => (error as Error).message)
    }
    expect(await said({ for: 'ada' })).toContain('give it an `ask`')
    expect(await said({ ask: 'x', quorum: 0 })).toContain('`quorum` of waitFor(approval, …)')
    expect(await said({ ask: 7 })).toContain('is a text')
    expect(await said({ ask: 'x', onTimeout: 'fail' })).toContain('needs a `timeout`')
    expect(await said({ ask: 'x', timeout: 1, onTimeout: 'later' })).toContain(`is 'fail' or`)
    expect(await said({ ask: 'x', for: ['finance', ''] })).toContain('the name of a person')
    expect(await said({ ask: 'x', for: 'x'.repeat(257) })).toContain('the name of a person')
    expect(await said({ asks: 'x' })).toContain('There is no option `asks`')
    const nowhere = { job: 'nowhere', name: 'x' }
    await expect(pawl.answer(nowhere, 1, { by: 'ada' })).rejects.toMatchObject({
      code: 'UnknownJob',
    })
    await expect(pawl.answer(nowhere, 1, {} as never)).rejects.toThrow('says who answers')
    await expect(pawl.inbox({ who: 'ada' } as never)).rejects.toThrow('no option `who`')
    await expect(pawl.inbox({ for: ['ada'] } as never)).rejects.toThrow('is one name')
    await expect(pawl.inbox({ after: 'nowhere' })).rejects.toThrow('`next` of a page')
  })
})
