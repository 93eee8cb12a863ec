/**
 * Pipelines: what a stage sees of the input and of earlier stages, and what results.
 */
import type { Pawl, StageOutputs } from '../../../src/index.ts'
import { effect, pipeline, typed } from '../../../src/index.ts'
import type { Equal, Expect, ResultIn } from './equal.ts'
import { dateFromText } from './equal.ts'

interface Source {
  readonly url: string
  readonly pages: readonly { readonly number: number }[]
}

/** Holds if the value is exactly of this type. */
const is =
  <T>() =>
  <V>(_value: V, ..._same: Equal<V, T> extends true ? [] : [never]): void =>
    undefined

// @ts-expect-error -- or it would find nothing
is<number>()('text')

const video = pipeline('video', { input: typed<Source>(), retry: { max: 1 } })
  .stage('split', {
    run: ({ input, outputs, stage }) => {
      is<Source>()(input)
      is<string>()(stage.name)
      // @ts-expect-error -- it comes after nothing
      void outputs.split
      return [{ from: 0 }, { from: 1 }]
    },
  })
  .stage('encode', {
    after: 'split',
    each: 'split',
    run: async ({ segment, index, outputs }) => {
      is<{ from: number }>()(segment)
      is<number>()(index)
      is<{ from: number }[]>()(outputs.split)
      return `${segment.from}`
    },
  })
  .stage('join', {
    after: 'encode',
    run: async ({ outputs }) => {
      is<StageOutputs<string, string>>()(outputs.encode)
      // @ts-expect-error -- not in `after`
      void outputs.split
      const all: string[] = await outputs.encode.toArray()
      for await (const { index, output } of outputs.encode) all.push(`${index} ${output}`)
      return all.length
    },
  })

const pages = pipeline('pages', { input: typed<Source>() })
  .stage('page', {
    each: 'input.pages',
    tolerate: 2,
    run: ({ segment, input }) => {
      is<{ readonly number: number }>()(segment)
      is<Source>()(input)
      return segment.number
    },
  })
  .stage('checked', {
    after: ['page'],
    each: 'page',
    output: dateFromText,
    run: ({ segment, outputs }) => {
      is<number | undefined>()(segment)
      is<StageOutputs<number, number | undefined>>()(outputs.page)
      return `${segment ?? 0}`
    },
  })

const forked = pipeline('forked')
  .stage('one', { run: () => ({ list: [1, 2], deep: { no: true } }) })
  .stage('maybe', { after: 'one', tolerate: 1, run: () => 'maybe' })
  .stage('left', {
    after: ['one', 'maybe'],
    each: 'one.list',
    run: ({ segment, outputs }) => {
      is<number>()(segment)
      is<string | undefined>()(outputs.maybe)
      return segment
    },
  })
  .stage('right', { after: ['one'], run: ({ commit }) => commit(true as const) })
  .stage('undo', {
    onFailure: true,
    run: ({ outputs, failure }) => {
      is<string | null>()(failure.stage)
      is<{ list: number[]; deep: { no: boolean } } | undefined>()(outputs.one)
      is<StageOutputs<number, number | undefined>>()(outputs.left)
    },
  })

export const list = pipeline('list', { input: typed<string[]>() }).stage('item', {
  each: 'input',
  run: ({ segment }) => segment.length,
})

const mail = effect('mail', { run: () => undefined })
const other = effect('other', { run: () => undefined })

export const effects = pipeline('effects').stage('send', {
  effects: [mail],
  run: ({ commit, step, signal, progress, log, job }) => {
    void [step, signal, progress, log, job.id]
    // @ts-expect-error -- not one of its effects
    if (job.attempt > 1) return commit('no', [other()])
    return commit('yes', [mail()])
  },
})

export async function results(pawl: Pawl): Promise<void> {
  const handle = await pawl.submit(video, { url: 'x', pages: [] })
  const total: number = await handle.result()
  void total
  // @ts-expect-error -- it needs an input
  await pawl.submit(video)
  // @ts-expect-error -- and of that shape
  await pawl.submit(video, { url: 1, pages: [] })
  await pawl.submitMany(forked, [{}, { options: { priority: 1 } }])
  pawl.work([video, pages, forked])
}

const submitOf = (pawl: Pawl) => ({
  video: pawl.submit(video, { url: 'x', pages: [] }),
  pages: pawl.submit(pages, { url: 'x', pages: [] }),
  forked: pawl.submit(forked),
  list: pawl.submit(list, ['a']),
  known: pawl.handle('id', forked),
})

type Of<K extends keyof ReturnType<typeof submitOf>> = ResultIn<
  Awaited<ReturnType<typeof submitOf>[K]>
>

export type Cases = [
  Expect<Equal<Of<'video'>, number>>,
  Expect<Equal<Of<'pages'>, StageOutputs<Date, Date>>>,
  Expect<
    Equal<Of<'forked'>, { readonly left: StageOutputs<number, number>; readonly right: true }>
  >,
  Expect<Equal<Of<'known'>, Of<'forked'>>>,
  Expect<Equal<Of<'list'>, StageOutputs<number, number>>>,
]

const begun = pipeline('wrong', { input: typed<Source>() }).stage('one', { run: () => 'text' })

// @ts-expect-error -- there is no such stage
begun.stage('two', { after: 'on', run: () => 1 })
// @ts-expect-error -- nor in a list
begun.stage('two', { after: ['one', 'on'], run: () => 1 })
// @ts-expect-error -- a text has no elements
begun.stage('two', { after: 'one', each: 'one', run: () => 1 })
// @ts-expect-error -- not in `after`
video.stage('two', { each: 'split', run: () => 1 })
// @ts-expect-error -- the input is no array
begun.stage('two', { each: 'input', run: () => 1 })
// @ts-expect-error -- the field is none
begun.stage('two', { each: 'input.url', run: () => 1 })
// @ts-expect-error -- there is no such field
begun.stage('two', { each: 'input.urls', run: () => 1 })
// @ts-expect-error -- there is one of that name
begun.stage('one', { run: () => 1 })
// @ts-expect-error -- that name is for the input
begun.stage('input', { run: () => 1 })
// @ts-expect-error -- without `each` there is no segment
begun.stage('two', { run: ({ segment }) => segment })
// @ts-expect-error -- what is returned does not fit the output schema
begun.stage('two', { output: typed<{ total: number }>(), run: () => ({ sum: 1 }) })
// @ts-expect-error -- a stage without a handler does nothing
begun.stage('two', {})
