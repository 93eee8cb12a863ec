/**
 * What the type tests are written with. Nothing here runs: `npm run types` is the test.
 *
 * A case holds if it compiles; what must not compile is marked, and a mark without a mistake
 * under it is an error too.
 */
import type { Handle, StandardSchema } from '../../../src/index.ts'

// oxlint-disable typescript/no-unnecessary-type-parameters -- both are compared under any T
export type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
// oxlint-enable typescript/no-unnecessary-type-parameters

export type Expect<T extends true> = T

export type ResultIn<H> = H extends Handle<infer R> ? R : never

/** A schema that turns text into a date, as zod's `z.coerce.date()` does. */
export const dateFromText: StandardSchema<string, Date> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => ({ value: new Date(String(value)) }),
  },
}

/** A part of an object that is turned: what is given and what comes out differ inside. */
export const meeting: StandardSchema<
  { readonly at: string; readonly minutes?: number },
  { readonly at: Date; readonly minutes: number }
> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => {
      const { at, minutes = 30 } = value as { at: string; minutes?: number }
      return { value: { at: new Date(at), minutes } }
    },
  },
}

/** As libraries write it: a class with more to it than the interface, and a promise. */
export class LibrarySchema<In, Out> {
  declare readonly _input: In
  declare readonly _output: Out
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => Promise<{ readonly value: Out }>
    readonly types?: { readonly input: In; readonly output: Out } | undefined
  } = {
    version: 1,
    vendor: 'library',
    validate: (value) => Promise.resolve({ value: value as Out }),
  }
}
