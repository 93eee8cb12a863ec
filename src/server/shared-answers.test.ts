import { expect, it } from 'vitest'
import type { SharedQuestion } from './shared-answers.ts'
import { SharedAnswers } from './shared-answers.ts'

const READER = { scope: null, link: null, seesPayloads: true }

function question(changes: Partial<SharedQuestion> & { maxAge?: number } = {}): SharedQuestion {
  const { maxAge = 1, ...rest } = changes
  return {
    operation: { name: 'counts' },
    caller: READER,
    input: {},
    headers: new Headers(maxAge === 0 ? {} : { 'cache-control': `max-age=${maxAge}` }),
    ...rest,
  }
}

function counted() {
  const counter = {
    made: 0,
    make: () => {
      counter.made += 1
      return Promise.resolve(`answer ${counter.made}`)
    },
  }
  return counter
}

it('are made once for readers who take an answer that is a little old, and anew when it is older', async () => {
  let now = 0
  const shared = new SharedAnswers(() => now)
  const { make } = counted()
  const ten = await Promise.all(Array.from({ length: 10 }, () => shared.body(question(), make)))
  expect(new Set(ten)).toEqual(new Set(['answer 1']))
  now = 999
  expect(await shared.body(question(), make)).toBe('answer 1')
  now = 1_000
  expect(await shared.body(question(), make)).toBe('answer 2')
  now = 3_500
  expect(await shared.body(question({ maxAge: 3 }), make)).toBe('answer 2')
})

it('are not those of another question, of other rights, or for a reader who takes none that is old', async () => {
  const shared = new SharedAnswers(() => 0)
  const { make } = counted()
  await shared.body(question(), make)
  const others: readonly Partial<Parameters<typeof question>[0]>[] = [
    { maxAge: 0 },
    { input: { type: 'mail' } },
    { operation: { name: 'queues.list' } },
    { caller: { ...READER, seesPayloads: false } },
    { caller: { ...READER, scope: { types: ['mail'], queues: null } as never } },
    { operation: { name: 'jobs.list' } },
    { operation: { name: 'jobs.list' } },
  ]
  const answers = []
  for (const one of others) answers.push(await shared.body(question(one), make))
  expect(answers).toEqual(others.map((_, i) => `answer ${i + 2}`))
  expect(await shared.body(question(), make)).toBe('answer 1')
})

it('that failed are asked for again', async () => {
  const shared = new SharedAnswers(() => 0)
  const failure = new Error('The server is away.')
  await expect(shared.body(question(), () => Promise.reject(failure))).rejects.toThrow('away')
  expect(await shared.body(question(), counted().make)).toBe('answer 1')
})

it('are kept for as many questions as there may be, and no more', async () => {
  const shared = new SharedAnswers(() => 0)
  const { make } = counted()
  const ask = (type: number) => shared.body(question({ input: { type: `type ${type}` } }), make)
  for (let type = 0; type < 101; type++) await ask(type)
  expect(await ask(100)).toBe('answer 101')
  expect(await ask(0)).toBe('answer 102')
})
