/**
 * What `handle.result()` gives: from what a handler returns, or from an output schema.
 */
import type { Client } from 'pg'
import type { HandlerCommit, Pawl } from '../../../src/index.ts'
import { job, typed } from '../../../src/index.ts'
import type { Equal, Expect, ResultIn } from './equal.ts'
import { dateFromText, meeting } from './equal.ts'

const plain = job('plain', { run: () => ({ total: 1 }) })
const later = job('later', { run: async () => ({ total: 1 }) })
const none = job('none', { run: () => undefined })
const noneLater = job('none-later', { async run() {} })
const committed = job('committed', { run: ({ commit }) => commit({ total: 1 }) })
const writing = job('writing', {
  run: ({ commit }) => commit({ total: 1 }).with((client: Client) => client.query('select 1')),
})
const writingEither = job('writing-either', {
  run: ({ commit }) =>
    commit({ total: 1 }).with(
      (client) => ('query' in client ? client.query('select 1') : client.exec('select 1')),
      { within: '1s' },
    ),
})
const committedLater = job('committed-later', {
  async run({ commit, step }) {
    const total = await step('total', async () => 1)
    return commit({ total })
  },
})
const eitherWay = job('either-way', {
  input: typed<{ isEmpty: boolean }>(),
  async run({ input, commit }) {
    if (input.isEmpty) return 'empty' as const
    return commit({ total: 1 })
  },
})
type Size = { kind: 'big'; by: number } | { kind: 'small' }
const union = job('union', {
  input: typed<number>(),
  run: ({ input }): Size => (input > 0 ? { kind: 'big', by: input } : { kind: 'small' }),
})
const checked = job('checked', {
  output: typed<{ total: number }>(),
  run: () => ({ total: 1 }),
})
const checkedLater = job('checked-later', {
  output: typed<{ total: number }>(),
  run: async ({ commit }) => commit({ total: 1 }),
})
const dated = job('dated', { output: dateFromText, run: () => '2026-01-01' })
const datedLater = job('dated-later', {
  output: dateFromText,
  run: async ({ commit }) => commit('2026-01-01'),
})
const planned = job('planned', { output: meeting, run: () => ({ at: '2026-01-01' }) })

export async function results(pawl: Pawl): Promise<unknown> {
  const handle = await pawl.submit(plain)
  const { total } = await handle.result()
  // @ts-expect-error -- a number is no text
  const text: string = total
  // @ts-expect-error -- no such part
  void (await handle.result()).sum
  const date = await (await pawl.submit(dated)).result({ timeout: '5s' })
  // @ts-expect-error -- the handler returned text, and the schema made a date of it
  date.toUpperCase()
  const one = await (await pawl.submit(union, 1)).result()
  // @ts-expect-error -- only the big one has it
  void one.by
  const many = await pawl.submitMany(plain, [{}, { options: { priority: 1 } }])
  const sums = await Promise.all(many.map((each) => each.result()))
  const added: number = sums.reduce((sum, each) => sum + each.total, 0)
  return [text, date.getTime(), one.kind === 'big' ? one.by : 0, added]
}

const submitOf = (pawl: Pawl) => ({
  plain: pawl.submit(plain),
  later: pawl.submit(later),
  none: pawl.submit(none),
  noneLater: pawl.submit(noneLater),
  committed: pawl.submit(committed),
  committedLater: pawl.submit(committedLater),
  writing: pawl.submit(writing),
  writingEither: pawl.submit(writingEither),
  eitherWay: pawl.submit(eitherWay, { isEmpty: true }),
  union: pawl.submit(union, 1),
  checked: pawl.submit(checked),
  checkedLater: pawl.submit(checkedLater),
  dated: pawl.submit(dated),
  datedLater: pawl.submit(datedLater),
  planned: pawl.submit(planned),
  known: pawl.handle('id', dated),
  unknown: pawl.handle('id'),
  many: pawl
    .submitMany(union, [{ input: 1 }])
    .then(([first]) => first as NonNullable<typeof first>),
})

type Of<K extends keyof ReturnType<typeof submitOf>> = ResultIn<
  Awaited<ReturnType<typeof submitOf>[K]>
>

export type Cases = [
  Expect<Equal<Of<'plain'>, { total: number }>>,
  Expect<Equal<Of<'later'>, { total: number }>>,
  Expect<Equal<Of<'none'>, null>>,
  Expect<Equal<Of<'noneLater'>, null>>,
  Expect<Equal<Of<'committed'>, { total: number }>>,
  Expect<Equal<Of<'committedLater'>, { total: number }>>,
  Expect<Equal<Of<'writing'>, { total: number }>>,
  Expect<Equal<Of<'writingEither'>, { total: number }>>,
  Expect<Equal<Of<'eitherWay'>, 'empty' | { total: number }>>,
  Expect<Equal<Of<'union'>, Size>>,
  Expect<Equal<Of<'checked'>, { total: number }>>,
  Expect<Equal<Of<'checkedLater'>, { total: number }>>,
  Expect<Equal<Of<'dated'>, Date>>,
  Expect<Equal<Of<'datedLater'>, Date>>,
  Expect<Equal<Of<'planned'>, { readonly at: Date; readonly minutes: number }>>,
  Expect<Equal<Of<'known'>, Date>>,
  Expect<Equal<Of<'unknown'>, unknown>>,
  Expect<Equal<Of<'many'>, Of<'union'>>>,
]

// @ts-expect-error -- what is returned does not fit the output schema
export const wrong = job('wrong', { output: typed<{ total: number }>(), run: () => ({ sum: 1 }) })

export const wrongLater = job('wrong-later', {
  output: dateFromText,
  // @ts-expect-error -- text is to be returned, the schema makes the date
  run: async () => new Date(0),
})

export const wrongCommit = job('wrong-commit', {
  output: typed<{ total: number }>(),
  // @ts-expect-error -- through `commit` too
  run: ({ commit }) => commit({ total: '1' }),
})

export const wrongWriting = job('wrong-writing', {
  output: typed<{ total: number }>(),
  // @ts-expect-error -- and with what it writes
  run: ({ commit }) => commit({ total: '1' }).with(() => undefined),
})

export function notCommits(commit: HandlerCommit<string>): string {
  // @ts-expect-error -- a commit is not its output
  return commit
}
