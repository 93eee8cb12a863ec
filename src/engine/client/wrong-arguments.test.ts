import { expect, it, onTestFinished } from 'vitest'
import { job, open, typed } from '../../index.ts'
import type { Pawl } from '../../index.ts'

const echo = job('echo', { input: typed<number>(), run: ({ input }) => input })
const nothing = undefined as never

async function opened(): Promise<Pawl> {
  const pawl = await open('memory:')
  onTestFinished(() => pawl.close())
  return pawl
}

it.each<[string, string, (pawl: Pawl) => unknown]>([
  ['a handle of no job', 'The id of a job', (pawl) => pawl.handle(nothing)],
  ['a job without an id', 'The id of a job', (pawl) => pawl.get(nothing)],
  [
    'a force without options',
    '`to`',
    async (pawl) => {
      const { id } = await pawl.submit(echo, 1)
      await pawl.force(id, nothing)
    },
  ],
  ['a submit with null', 'options of a submit', (pawl) => pawl.submit(echo, 1, null as never)],
  [
    'an item with null',
    'options of a submit',
    (pawl) => pawl.submitMany(echo, [{ input: 1, options: null as never }]),
  ],
])('%s is refused, and the message says what is wrong', async (_, message, ask) => {
  const pawl = await opened()
  await expect((async () => ask(pawl))()).rejects.toMatchObject({
    code: 'InvalidDefinition',
    message: expect.stringContaining(message) as string,
  })
})

it.each([
  [undefined, () => 1],
  ['name', undefined],
])('a step of the wrong form fails its job with what to write: %s', async (name, work) => {
  const pawl = await opened()
  const wrong = job('wrong', {
    retry: { max: 0 },
    quarantine: 'never',
    run: ({ step }) => step(name as never, work as never),
  })
  pawl.work([wrong])
  await expect((await pawl.submit(wrong)).result()).rejects.toMatchObject({
    failure: { code: 'InvalidDefinition', message: expect.stringContaining('step(') as string },
  })
})
