/**
 * Jobs that are run many at once: the types of one, in a list.
 */
import type { Pawl } from '../../../src/index.ts'
import { batchJob, effect, failed, typed } from '../../../src/index.ts'
import type { Equal, Expect, ResultIn } from './equal.ts'
import { dateFromText, meeting } from './equal.ts'

const bell = effect('bell', { run: () => undefined })
const unlisted = effect('unlisted', { run: () => undefined })

const totals = batchJob('totals', {
  input: meeting,
  effects: [bell],
  max: 10,
  run: (items) =>
    items.map(({ input, commit }) => {
      // @ts-expect-error -- not listed
      commit(1, [unlisted()])
      return input.minutes > 0 ? commit({ at: input.at.getTime() }, [bell()]) : failed('empty')
    }),
})

const dates = batchJob('dates', {
  input: typed<number>(),
  output: dateFromText,
  max: 10,
  run: async (items) => items.map(({ input }) => String(input)),
})

const submitOf = (pawl: Pawl) => ({
  totals: pawl.submit(totals, { at: '2026-01-01' }),
  dates: pawl.submit(dates, 1),
})

type Of<K extends keyof ReturnType<typeof submitOf>> = ResultIn<
  Awaited<ReturnType<typeof submitOf>[K]>
>

export type Cases = [Expect<Equal<Of<'totals'>, { at: number }>>, Expect<Equal<Of<'dates'>, Date>>]

export async function submitted(pawl: Pawl): Promise<void> {
  // @ts-expect-error -- of another type
  await pawl.submit(dates, 'one')
  // @ts-expect-error -- no input
  await pawl.submit(totals)
}

// @ts-expect-error -- how many at most
batchJob('a', { run: () => [] })
// @ts-expect-error -- a list of answers
batchJob('a', { max: 2, run: () => 1 })
// @ts-expect-error -- the answers do not fit the output schema
batchJob('a', { max: 2, output: typed<string>(), run: (items) => items.map(() => 1) })
