/**
 * Options that make no sense do not compile, and the handler's context has its types.
 */
import type { JobDetails, Pawl } from '../../../src/index.ts'
import {
  contract,
  effect,
  handle as handleContract,
  job,
  pipeline,
  RetryAfter,
  typed,
} from '../../../src/index.ts'
import type { Equal, Expect } from './equal.ts'

const run = () => undefined

job('a', { lease: '30s', timeout: '5m', retry: { delay: 250, cap: '1.5h' }, run })
job('a', { limits: [{ key: 'k', concurrency: 1, rate: { count: 1, per: '1d' } }], run })
// @ts-expect-error -- no unit that is known
job('a', { lease: '30 seconds', run })
// @ts-expect-error -- no unit
job('a', { lease: '30', run })
// @ts-expect-error -- no number
job('a', { timeout: 'long', run })
// @ts-expect-error -- no unit that is known, further down
job('a', { retry: { backoff: ['1s', '2 sec'] }, run })
// @ts-expect-error -- of a limit's rate
job('a', { limits: [{ key: 'k', rate: { count: 1, per: 'minute' } }], run })
// @ts-expect-error -- no such backoff
job('a', { retry: { backoff: 'linear' }, run })
// @ts-expect-error -- no such option
job('a', { retries: 3, run })
// @ts-expect-error -- 'always' or 'never'
job('a', { quarantine: true, run })
// @ts-expect-error -- nothing to run
job('a', {})
// @ts-expect-error -- no name
job({ run })
// @ts-expect-error -- a type is no schema
job('a', { input: { name: String }, run })
// @ts-expect-error -- terminal, retryable or undefined
job('a', { classify: () => 'fatal', run })
// @ts-expect-error -- no duration
effect('e', { retry: { delay: 'soon' }, run })

export const context = job('context', {
  input: typed<{ n: number }>(),
  async run({ input, job: details, signal, step, progress, log }) {
    const text = await step('text', () => String(input.n))
    const later = await step('later', async () => [input.n])
    progress(0.5)
    progress({ done: 1, of: 2 })
    log('half way')
    // @ts-expect-error -- text only
    log(42)
    // @ts-expect-error -- a step has a name
    await step(() => 1)
    // @ts-expect-error -- a step is a function
    await step('value', 1)
    // @ts-expect-error -- the number of attempts is not the handler's to set
    details.attempt = 1
    const cases: [
      Expect<Equal<typeof text, string>>,
      Expect<Equal<typeof later, number[]>>,
      Expect<Equal<typeof details, JobDetails>>,
      Expect<Equal<typeof signal, AbortSignal>>,
    ] = [true, true, true, true]
    return cases
  },
})

export async function options(pawl: Pawl): Promise<void> {
  await pawl.submit(context, { n: 1 }, { delay: '10m', at: new Date(0), startWithin: '1h' })
  // @ts-expect-error -- no duration
  await pawl.submit(context, { n: 1 }, { delay: 'tomorrow' })
  // @ts-expect-error -- a date, or milliseconds
  await pawl.submit(context, { n: 1 }, { at: '2026-01-01' })
  await pawl.submit(context, { n: 1 }, { deadline: '2h' })
  await pawl.submit(context, { n: 1 }, { deadline: new Date(0) })
  // @ts-expect-error -- a duration, or a date
  await pawl.submit(context, { n: 1 }, { deadline: '2026-01-01' })
  await pawl.reschedule('id', { delay: 0, queue: 'urgent', attempt: 1 })
  // @ts-expect-error -- no duration
  await pawl.reschedule('id', { delay: 'now' })
  // @ts-expect-error -- a whole pipeline has a deadline, a stage has none
  pipeline('p').stage('s', { deadline: '1h', run: () => 1 })
  job('limited', { classify: () => new RetryAfter('1s', { free: true }), run: () => 1 })
  // @ts-expect-error -- no word of classify
  job('limited', { classify: () => 'later', run: () => 1 })
  pawl.work([context], { concurrency: 2, shutdown: '5s' })
  // @ts-expect-error -- a list
  pawl.work(context)
  // @ts-expect-error -- no duration
  pawl.work([context], { shutdown: '5 sec' })
  const handle = pawl.handle('id', context)
  // @ts-expect-error -- no duration
  await handle.result({ timeout: '5 seconds' })
  const state = await handle.state()
  // @ts-expect-error -- no such state
  if (state === 'DONE') return
  // @ts-expect-error -- no such state
  await pawl.force('id', { to: 'RUNNING' })
}

job('by-input', {
  input: typed<{ tenant: string }>(),
  limits: ({ input }) => [{ key: input.tenant, concurrency: 1 }],
  group: ({ input }) => input.tenant,
  run,
})
// @ts-expect-error -- the input has no such field
job('by-input', { input: typed<{ tenant: string }>(), group: ({ input }) => input.name, run })

const agreed = contract('agreed', { input: typed<{ n: number }>(), output: typed<string>() })
handleContract(agreed, ({ input }) => input.n.toFixed())
handleContract(agreed, { run: async ({ input, commit }) => commit(`${input.n}`) })
// @ts-expect-error -- the output is a text
handleContract(agreed, ({ input }) => input.n)
// @ts-expect-error -- the policy is the contract's
handleContract(agreed, { run: () => '', queue: 'other' })
// @ts-expect-error -- a contract has no handler
contract('agreed', { run })
