/**
 * The list of questions that wait for people, on every store: the oldest first, a page at a time, by person, type
 * and job; a question leaves it when it is answered, when its time is over, and when its job is.
 */
import { describe, expect, it } from 'vitest'
import type { Command, WaitSpec } from '../../src/kernel/index.ts'
import type { QuestionsFilter } from '../../src/store/index.ts'
import { onRecord, plain } from '../support/specs.ts'
import type { Bench } from './bench.ts'
import { CHANNEL, claim, reportOf, setUp, STORES } from './bench.ts'

function question(name: string, people: readonly string[], delayMs: number | null): WaitSpec {
  const ask = JSON.stringify({ name, ask: 'Well?', for: people, quorum: 1, notBySubmitter: false })
  return { name, message: 'approval', schema: null, ask, delayMs, dueAt: null, callee: null }
}

/** As a program may write it that is no worker of ours. */
function odd(name: string, text: string): WaitSpec {
  return { ...question(name, [], null), ask: text }
}

let requests = 0

/** Submits a job that asks these. */
async function submitAsking(
  { store, send }: Bench,
  job: string,
  waits: readonly WaitSpec[],
  type = 'test',
): Promise<void> {
  await send({ type: 'SubmitJob', job, spec: { ...plain({ type }), submittedBy: 'bob' } })
  requests += 1
  const channels = [{ ...CHANNEL, type }]
  const [lease] = await store.claim(claim({ request: requests, channels }))
  if (lease === undefined) throw new Error('Nothing was granted.')
  const terms = { needs: 'all', waits, unfit: [], definitionVersion: 1 } as const
  const suspended = await send({ type: 'SuspendExecution', ...reportOf(lease), ...terms })
  expect(suspended.verdict).toBe('committed')
}

function answer(job: string, id: string): Command {
  const to = { job, stage: 0, segment: 0, id, name: 'approval', value: 'true' }
  return { type: 'SendMessage', ...to, checked: null, by: 'ada', reason: 'why' }
}

/** Page after page. */
async function asked(
  { store }: Bench,
  filter: QuestionsFilter = {},
  limit = 100,
): Promise<string[]> {
  const found: string[] = []
  let after: string | null = null
  do {
    const from: { after?: string } = after === null ? {} : { after }
    const page = await store.query({ kind: 'questions', ...filter, ...from, limit })
    expect(page.questions.length).toBeLessThanOrEqual(limit)
    found.push(...page.questions.map(({ job, name }) => `${job} ${name}`))
    after = page.next
  } while (after !== null)
  return found
}

describe.each(Object.keys(STORES))('of questions, the %s store', (kind) => {
  it('lists the oldest first, page by page, those of a person, a type and a job', async () => {
    const bench = await setUp(kind)
    for (let i = 0; i < 7; i++) {
      bench.clock.time += i % 2
      const people = i % 3 === 0 ? ['ada', 'legal'] : ['eve']
      await submitAsking(
        bench,
        `j${6 - i}`,
        [question('q', people, null)],
        i < 5 ? 'test' : 'other',
      )
    }
    const all = ['j6 q', 'j5 q', 'j4 q', 'j3 q', 'j2 q', 'j1 q', 'j0 q']
    for (const limit of [1, 2, 7, 100]) expect(await asked(bench, {}, limit)).toEqual(all)
    expect(await asked(bench, { for: 'ada' }, 2)).toEqual(['j6 q', 'j3 q', 'j0 q'])
    expect(await asked(bench, { for: 'legal', type: 'test' })).toEqual(['j6 q', 'j3 q'])
    expect(await asked(bench, { type: 'other' }, 1)).toEqual(['j1 q', 'j0 q'])
    expect(await asked(bench, { job: 'j4' })).toEqual(['j4 q'])
    expect(await asked(bench, { job: 'j4', for: 'ada' })).toEqual([])
    expect(await asked(bench, { job: 'j4', type: 'other' })).toEqual([])
    expect(await asked(bench, { for: 'nobody' })).toEqual([])
    const [first] = (await bench.store.query({ kind: 'questions', limit: 1 })).questions
    expect(first).toMatchObject({
      job: 'j6',
      type: 'test',
      stage: 0,
      stageName: null,
      segment: 0,
      name: 'q',
      waits: [{ name: 'q', message: 'approval', endedAt: null }],
      submittedBy: 'bob',
    })
    await expect(
      bench.store.query({ kind: 'questions', after: '[1]', limit: 1 }),
    ).rejects.toMatchObject({ code: 'BadRequest' })
    await bench.store.close()
  })

  it('drops a question that is answered, whose time is over, or whose job is', async () => {
    const bench = await setUp(kind)
    await submitAsking(bench, 'a', [question('one', ['ada'], null), question('two', ['eve'], null)])
    await submitAsking(bench, 'b', [question('late', [], 1_000)])
    await submitAsking(bench, 'c', [question('gone', [], null)])
    expect(await asked(bench)).toEqual(['a one', 'a two', 'b late', 'c gone'])
    expect((await bench.send(answer('a', 'm1'))).verdict).toBe('committed')
    expect(await asked(bench)).toEqual(['a two', 'b late', 'c gone'])
    expect(await asked(bench, { for: 'ada' })).toEqual([])
    bench.clock.time += 1_000
    expect(await asked(bench, {}, 1)).toEqual(['a two', 'c gone'])
    const cancelled = await bench.send({ type: 'CancelJob', job: 'c', ...onRecord })
    expect(cancelled.verdict).toBe('committed')
    expect(await asked(bench)).toEqual(['a two'])
    expect((await bench.send(answer('a', 'm2'))).verdict).toBe('committed')
    expect(await asked(bench)).toEqual([])
    await bench.store.close()
  })

  it('lists what a program asks that says for whom in no way that is known', async () => {
    const bench = await setUp(kind)
    const waits = [
      odd('number', '7'),
      odd('nothing', 'null'),
      odd('names', JSON.stringify({ name: 7, for: ['ada', 7, '', 'a\0', 'x'.repeat(300), 'ada'] })),
      odd('many', JSON.stringify({ for: Array.from({ length: 99 }, (_, i) => `p${i}`) })),
    ]
    await submitAsking(bench, 'a', waits)
    expect(await asked(bench)).toEqual(['a many', 'a names', 'a nothing', 'a number'])
    expect(await asked(bench, { for: 'ada' })).toEqual(['a names'])
    expect(await asked(bench, { for: 'p31' })).toEqual(['a many'])
    expect(await asked(bench, { for: 'p32' })).toEqual([])
    await bench.store.close()
  })
})
