/**
 * Effects: what may be promised, and what they get.
 */
import { effect, job, typed } from '../../../src/index.ts'
import type { EffectCall } from '../../../src/index.ts'
import type { Equal, Expect } from './equal.ts'
import { meeting } from './equal.ts'

const receipt = effect('receipt', {
  input: typed<{ to: string; pdf?: string }>(),
  idempotent: true,
  run({ to }, { key, fence, job: { id, type }, signal }) {
    const cases: [
      Expect<Equal<typeof to, string>>,
      Expect<Equal<typeof key, string>>,
      Expect<Equal<typeof fence, number>>,
      Expect<Equal<typeof signal, AbortSignal>>,
    ] = [true, true, true, true]
    return [cases, id, type]
  },
})

const bell = effect('bell', { run: (input: undefined) => input })
const unlisted = effect('unlisted', { run: () => undefined })

const invite = effect('invite', {
  input: meeting,
  run: ({ at, minutes }) => at.getTime() + minutes,
  reconcile: async ({ at }, { key }) => (at.getTime() > key.length ? 'happened' : 'again'),
})

export const asked = effect('asked', {
  input: typed<number>(),
  run: () => undefined,
  // @ts-expect-error -- it happened, or it may be run again
  reconcile: () => 'perhaps',
})

export const order = job('order', {
  effects: [receipt, bell, invite],
  run({ commit }) {
    receipt({ to: 'a@b.c' })
    // @ts-expect-error -- a part of another type
    receipt({ to: 42 })
    // @ts-expect-error -- a part that does not exist
    receipt({ to: 'a@b.c', subject: 'Hello' })
    // @ts-expect-error -- no input
    receipt()
    // @ts-expect-error -- it takes no input
    bell({ loud: true })
    // @ts-expect-error -- what is given is text, what it gets is a date
    invite({ at: new Date(0) })
    // @ts-expect-error -- not listed among the effects of this job
    commit(1, [unlisted()])
    // @ts-expect-error -- not even among others
    commit(1, [bell(), unlisted()])
    // @ts-expect-error -- an effect is promised by calling it
    commit(1, [bell])
    // @ts-expect-error -- a list
    commit(1, bell())
    return commit(1, [receipt({ to: 'a@b.c' }), bell(), invite({ at: '2026-01-01' })])
  },
})

export const without = job('without', {
  run({ commit }) {
    // @ts-expect-error -- this job lists no effects
    commit(1, [bell()])
    return commit(1, [])
  },
})

export const misspelt = job('misspelt', {
  // @ts-expect-error -- no such effect
  effects: [reciept],
  run: () => undefined,
})

export const notAnEffect = job('not-an-effect', {
  // @ts-expect-error -- a name is no effect
  effects: ['receipt'],
  run: () => undefined,
})

export type Cases = [
  Expect<Equal<ReturnType<typeof receipt>, EffectCall<'receipt'>>>,
  Expect<Equal<Parameters<typeof bell>, []>>,
  Expect<
    Equal<Parameters<typeof invite>, [input: { readonly at: string; readonly minutes?: number }]>
  >,
]
