/**
 * What may be submitted, and what a handler gets of it.
 */
import type { Pawl } from '../../../src/index.ts'
import { child, job, typed } from '../../../src/index.ts'
import type { Equal, Expect } from './equal.ts'
import { dateFromText, LibrarySchema, meeting } from './equal.ts'

const greet = job('greet', {
  input: typed<{ name: string; times?: number }>(),
  run({ input }) {
    const cases: [
      Expect<Equal<typeof input.name, string>>,
      Expect<Equal<typeof input.times, number | undefined>>,
    ] = [true, true]
    // @ts-expect-error -- no such part
    void input.nane
    return cases
  },
})

const nothing = job('nothing', {
  run({ input }) {
    const none: undefined = input
    return none
  },
})

const either = job('either', {
  input: typed<{ kind: 'mail'; to: string } | { kind: 'call'; number: number }>(),
  run({ input }) {
    // @ts-expect-error -- only a mail has it
    void input.to
    return input.kind === 'mail' ? input.to : input.number
  },
})

const dated = job('dated', {
  input: dateFromText,
  run: ({ input }) => input.getTime(),
})

const planned = job('planned', {
  input: meeting,
  run({ input }) {
    const cases: [
      Expect<Equal<typeof input.at, Date>>,
      Expect<Equal<typeof input.minutes, number>>,
    ] = [true, true]
    return cases
  },
})

const fromLibrary = job('from-library', {
  input: new LibrarySchema<{ at: string }, { at: Date }>(),
  run: ({ input }) => input.at.getTime(),
})

const listed = job('listed', {
  input: typed<readonly number[]>(),
  run: ({ input }) => input.length,
})
const anything = job('anything', { input: typed<unknown>(), run: ({ input }) => typeof input })

export async function submitted(pawl: Pawl): Promise<void> {
  await pawl.submit(greet, { name: 'Ada' })
  await pawl.submit(greet, { name: 'Ada', times: 2 }, { key: 'a', delay: '5s', priority: 1 })
  // @ts-expect-error -- a part of another type
  await pawl.submit(greet, { name: 42 })
  // @ts-expect-error -- a part is missing
  await pawl.submit(greet, {})
  // @ts-expect-error -- a part that does not exist
  await pawl.submit(greet, { name: 'Ada', title: 'Countess' })
  // @ts-expect-error -- no input
  await pawl.submit(greet)
  // @ts-expect-error -- options are no input
  await pawl.submit(greet, { key: 'a' })
  // @ts-expect-error -- no such option
  await pawl.submit(greet, { name: 'Ada' }, { prioritty: 1 })

  await pawl.submit(nothing)
  await pawl.submit(nothing, undefined, { key: 'a' })
  // @ts-expect-error -- it takes no input
  await pawl.submit(nothing, { name: 'Ada' })
  // @ts-expect-error -- null is an input
  await pawl.submit(nothing, null)

  await pawl.submit(either, { kind: 'mail', to: 'a@b.c' })
  await pawl.submit(either, { kind: 'call', number: 1 })
  // @ts-expect-error -- parts of two kinds
  await pawl.submit(either, { kind: 'call', to: 'a@b.c' })

  await pawl.submit(listed, [1, 2])
  await pawl.submit(anything, 'what you like')
}

export async function transformed(pawl: Pawl): Promise<void> {
  await pawl.submit(dated, '2026-01-01')
  // @ts-expect-error -- what the handler gets is not what is given
  await pawl.submit(dated, new Date())
  await pawl.submit(planned, { at: '2026-01-01' })
  // @ts-expect-error -- inside an object too
  await pawl.submit(planned, { at: new Date(0) })
  await pawl.submit(fromLibrary, { at: '2026-01-01' })
  // @ts-expect-error -- with a schema that is a class, too
  await pawl.submit(fromLibrary, { at: new Date(0) })
}

export async function many(pawl: Pawl): Promise<void> {
  const handles = await pawl.submitMany(greet, [
    { input: { name: 'Ada' } },
    { input: { name: 'Grace' }, options: { key: 'b' } },
  ])
  const cases: [Expect<Equal<(typeof handles)['length'], number>>] = [true]
  void cases
  // @ts-expect-error -- one of them is of another type
  await pawl.submitMany(greet, [{ input: { name: 'Ada' } }, { input: { name: 42 } }])
  // @ts-expect-error -- one has no input
  await pawl.submitMany(greet, [{}])
  // @ts-expect-error -- the inputs alone
  await pawl.submitMany(greet, [{ name: 'Ada' }])
  await pawl.submitMany(nothing, [{ input: undefined, options: { key: 'a' } }])
  // @ts-expect-error -- it takes no input
  await pawl.submitMany(nothing, [{ input: { name: 'Ada' } }])
}

export const parent = job('parent', {
  run({ commit }) {
    // @ts-expect-error -- a part of another type
    child(greet, { name: 42 })
    // @ts-expect-error -- no input
    child(greet)
    // @ts-expect-error -- it takes no input
    child(nothing, { name: 'Ada' })
    // @ts-expect-error -- a child's id is made from its parent's
    child(greet, { name: 'Ada' }, { id: 'mine' })
    // @ts-expect-error -- children are promised by `child`
    commit(1, [], [greet])
    return commit(1, [], [child(greet, { name: 'Ada' }, { delay: '1h' }), child(nothing)])
  },
})
