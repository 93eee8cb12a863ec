/** Pipelines through the engine: what flows from stage to stage, and what results. */
import { describe, expect, it } from 'vitest'
import { pipeline, StageOutputs, typed } from '../../../src/index.ts'
import { ENGINES } from '../../support/engines.ts'

const TIMEOUT = { timeout: '10s' } as const

describe.each(ENGINES)('a pipeline %s', (_, open) => {
  it('runs its stages one after another, each with what the one before put out', async () => {
    const pawl = await open()
    const chain = pipeline('chain', { input: typed<{ n: number }>() })
      .stage('double', { run: ({ input }) => input.n * 2 })
      .stage('add', { after: 'double', run: ({ input, outputs }) => outputs.double + input.n })
      .stage('say', { after: 'add', run: ({ outputs }) => `it is ${outputs.add}` })
    pawl.work([chain])
    const handle = await pawl.submit(chain, { n: 7 })
    expect(await handle.result(TIMEOUT)).toBe('it is 21')
  })

  it('runs a stage once for each element of an array that another put out', async () => {
    const pawl = await open()
    const video = pipeline('video', { input: typed<{ text: string }>() })
      .stage('split', { run: ({ input }) => input.text.split(' ') })
      .stage('encode', {
        after: 'split',
        each: 'split',
        run: ({ segment, index, outputs, input }) =>
          `${index}/${outputs.split.length} ${segment} ${input.text.length}`,
      })
      .stage('join', {
        after: 'encode',
        run: async ({ outputs }) => {
          const seen: string[] = []
          for await (const { index, output } of outputs.encode) seen.push(`${index}: ${output}`)
          return { count: outputs.encode.count, seen, all: await outputs.encode.toArray() }
        },
      })
    pawl.work([video])
    const handle = await pawl.submit(video, { text: 'one two three' })
    expect(await handle.result(TIMEOUT)).toEqual({
      count: 3,
      seen: ['0: 0/3 one 13', '1: 1/3 two 13', '2: 2/3 three 13'],
      all: ['0/3 one 13', '1/3 two 13', '2/3 three 13'],
    })
  })

  it('runs a stage for each element of the input, or of a field of it', async () => {
    const pawl = await open()
    const list = pipeline('list', { input: typed<string[]>() }).stage('item', {
      each: 'input',
      run: ({ segment }) => segment.length,
    })
    const field = pipeline('field', { input: typed<{ names: string[]; by: number }>() }).stage(
      'item',
      { each: 'input.names', run: ({ segment, input }) => segment.length * input.by },
    )
    pawl.work([list, field])
    const lengths = await (await pawl.submit(list, ['a', 'bb', 'ccc'])).result(TIMEOUT)
    expect(lengths).toBeInstanceOf(StageOutputs)
    expect(await lengths.toArray()).toEqual([1, 2, 3])
    const more = await (await pawl.submit(field, { names: ['a', 'bb'], by: 10 })).result(TIMEOUT)
    expect(await more.toArray()).toEqual([10, 20])
  })
})
