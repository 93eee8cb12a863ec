/**
 * What a handler waits for has its types: values of messages, results of callees, and which was first.
 */
import type { HandlerWait, Pawl } from '../../../src/index.ts'
import { contract, handle, job, message, pipeline, typed } from '../../../src/index.ts'
import type { Equal, Expect } from './equal.ts'

const approval = message('approval', { input: typed<{ ok: boolean }>() })
const note = message('note', { input: typed<string>() })
const ping = message('ping')
const double = job('double', { input: typed<number>(), run: ({ input }) => input * 2 })
const plain = job('plain', { run: () => 'text' })
const film = pipeline('film', { input: typed<string[]>() })
  .stage('cut', { each: 'input', run: ({ segment }) => segment.length })
  .stage('sum', { after: 'cut', run: ({ outputs }) => outputs.cut.count })

job('waits', {
  messages: [approval, ping],
  run: async ({ sleep, waitFor, call, all, any }) => {
    const slept = sleep('a', '1d')
    const answer = waitFor(approval)
    const named = waitFor(approval, { name: 'second' })
    const bounded = waitFor(approval, { timeout: '2d' })
    const doubled = call('double', double, 1)
    const text = call('plain', plain)
    const sum = call('film', film, ['a'], { cancel: 'with-caller' })
    void (true satisfies Expect<Equal<typeof slept, HandlerWait<void>>>)
    void (true satisfies Expect<Equal<typeof answer, HandlerWait<{ ok: boolean }>>>)
    void (true satisfies Expect<Equal<typeof named, HandlerWait<{ ok: boolean }>>>)
    void (true satisfies Expect<Equal<typeof bounded, HandlerWait<{ ok: boolean } | null>>>)
    void (true satisfies Expect<Equal<typeof doubled, HandlerWait<number>>>)
    void (true satisfies Expect<Equal<typeof text, HandlerWait<string>>>)
    void (true satisfies Expect<Equal<typeof sum, HandlerWait<number>>>)
    const listed = await all([doubled, text])
    void (true satisfies Expect<Equal<typeof listed, [number, string]>>)
    const byName = await all({ answer, sum })
    void (true satisfies Expect<Equal<typeof byName, { answer: { ok: boolean }; sum: number }>>)
    const { first, value } = await any({ bounded, slept })
    if (first === 'bounded') {
      void (true satisfies Expect<Equal<typeof value, { ok: boolean } | null>>)
    }
    // @ts-expect-error -- not among its messages
    await waitFor(note)
    // @ts-expect-error -- no input of that type
    await call('odd', double, 'text')
    // @ts-expect-error -- a promise that is no wait
    await all([Promise.resolve(1)])
    // @ts-expect-error -- no unit that is known
    await sleep('odd', '3 days')
  },
})

// @ts-expect-error -- it lists no messages
job('none', { run: async ({ waitFor }) => waitFor(approval) })

const agreed = contract('agreed', { messages: [note] })
handle(agreed, {
  run: async ({ waitFor }) => {
    const said = await waitFor(note)
    void (true satisfies Expect<Equal<typeof said, string>>)
    // @ts-expect-error -- not among the messages of the contract
    await waitFor(approval)
  },
})

declare const pawl: Pawl

await pawl.send('id', approval, { ok: true }, { by: 'ada' })
await pawl.send('id', ping)
// @ts-expect-error -- not what the message says
await pawl.send('id', approval, { ok: 'yes' })
