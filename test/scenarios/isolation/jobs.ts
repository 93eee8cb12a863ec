/**
 * Jobs that behave in every way a job can, for workers that run them here and elsewhere. They
 * say what they did in files, or in the steps that they record: nothing else comes out of a
 * child.
 */
import { appendFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { isMainThread, parentPort } from 'node:worker_threads'
import type { Aborted } from '../../../src/index.ts'
// Not from the front door: a child that reads less starts sooner.
import {
  child,
  effect,
  job,
  RetryAfter,
  TerminalError,
  typed,
} from '../../../src/definition/index.ts'

const never = { max: 0 } as const

/** Until the signal, which it waits for politely. */
function stopped(signal: AbortSignal): Promise<Aborted> {
  return new Promise((resolve) => {
    const tell = (): void => resolve(signal.reason as Aborted)
    if (signal.aborted) tell()
    else signal.addEventListener('abort', tell, { once: true })
  })
}

export const double = job('double', {
  input: typed<{ n: number }>(),
  run: ({ input }) => input.n * 2,
})

export const napping = job('napping', {
  run: async ({ step, sleep, job: { attempt: by } }) => {
    await step('where', () => ({ pid: process.pid }))
    await sleep('short', 20)
    await sleep('long', 1_000)
    return { by, pid: process.pid }
  },
})

export const stepping = job('stepping', {
  retry: { max: 1, delay: 0 },
  run: async (context) => {
    const first = await context.step('first', () => ({ by: context.job.attempt }))
    if (context.job.attempt === 1) throw new Error('once more')
    return { first, second: await context.step('second', () => context.job.attempt) }
  },
})

export const talking = job('talking', {
  run: async (context) => {
    context.progress({ share: 0.5 })
    context.log('half way')
    await context.step('said', () => true)
    await stopped(context.signal)
  },
})

/** Lines that are no text. */
export const mumbling = job('mumbling', {
  run: async ({ log, step, signal }) => {
    const unshowable = {
      [inspect.custom]: () => {
        throw new Error('not today')
      },
    }
    for (const line of [undefined, null, { half: 0.5 }, () => 1, unshowable]) log(line as never)
    await step('said', () => true)
    await stopped(signal)
  },
})

/** Says things on its worker's own channel. */
export const meddling = job('meddling', {
  run: ({ log }) => {
    for (const thing of [
      null,
      undefined,
      'text',
      7,
      [],
      {},
      { type: 'log' },
      { type: 'no', run: 1 },
    ]) {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      if (parentPort !== null) parentPort.postMessage(thing)
      else process.send?.(thing ?? null)
    }
    log('and now in order')
    return 'done'
  },
})

const mail = effect('mail', {
  input: typed<{ to: string; file: string }>(),
  idempotent: true,
  run: ({ to, file }, { key, fence }) => appendFileSync(file, `${to} ${key} ${fence}\n`),
})

export const order = job('order', {
  input: typed<{ file: string }>(),
  effects: [mail],
  run: ({ input: { file }, commit }) =>
    commit(
      { isOrdered: true },
      [mail({ to: 'ann', file }), mail({ to: 'bob', file })],
      [child(double, { n: 4 })],
    ),
})

export const broken = job('broken', {
  retry: never,
  run: () => {
    throw Object.assign(new Error('the wheel came off'), { code: 'E_WHEEL' })
  },
})

export const doomed = job('doomed', {
  run: () => {
    throw new TerminalError('there is no such order', { code: 'NoSuchOrder' })
  },
})

class Hopeless extends Error {}

export const picky = job('picky', {
  classify: (error) => (error instanceof Hopeless ? 'terminal' : undefined),
  run: () => {
    throw new Hopeless('no use')
  },
})

class Busy extends Error {}

/** Is put off, once by what it throws and once by what `classify` says of that. */
export const limited = job('limited', {
  retry: never,
  classify: (error) => (error instanceof Busy ? new RetryAfter(5, { free: true }) : undefined),
  run: ({ job: { attempt } }) => {
    if (attempt === 1) throw new RetryAfter(5, { free: true })
    if (attempt === 2) throw new Busy('429')
    return attempt
  },
})

/** Writes down what it was stopped by. */
export const patient = job('patient', {
  input: typed<{ file: string }>(),
  run: async ({ input, signal, step }) => {
    await step('begun', () => true)
    const { name, reason, by, why } = await stopped(signal)
    const who = by === null ? '' : ` by ${by}: ${why}`
    appendFileSync(input.file, `${name} ${reason}${who}\n`)
  },
})

export const slow = job('slow', {
  timeout: '100ms',
  retry: never,
  quarantine: 'never',
  run: async ({ signal }) => {
    await stopped(signal)
    return 'late'
  },
})

/** Computes, and hears nothing meanwhile. */
export const busy = job('busy', {
  lease: '600ms',
  run: () => {
    const until = Date.now() + 2_000
    while (Date.now() < until);
    return 'done'
  },
})

/** Says who it is, and then never comes back. */
export const stuck = job('stuck', {
  timeout: '2s',
  retry: never,
  quarantine: 'never',
  run: async ({ step }) => {
    await step('pid', () => process.pid)
    for (;;);
  },
})

export const deaf = job('deaf', {
  run: async ({ step }) => {
    await step('pid', () => process.pid)
    for (;;);
  },
})

/** The first attempt waits to be killed. */
export const held = job('held', {
  run: async ({ job: { attempt }, step }) => {
    await step('pid', () => process.pid)
    if (attempt === 1) await new Promise<never>(() => setInterval(() => undefined, 1_000))
    return attempt
  },
})

export const poison = job('poison', {
  retry: { max: 2, delay: 0 },
  run: () => {
    if (isMainThread) process.kill(process.pid, 'SIGKILL')
    else process.exit(7)
    return new Promise<never>(() => undefined)
  },
})

/** By errors that nothing catches, or without any. */
export const crashing = job('crashing', {
  input: typed<'error' | 'rejection' | 'exit'>(),
  retry: { max: 1, delay: '400ms' },
  run: ({ input }) => {
    if (input === 'error') setImmediate(() => rejectSilly())
    else if (input === 'rejection') void Promise.reject(new RangeError('too far'))
    else process.exit(3)
    return new Promise<never>(() => undefined)
  },
})

function rejectSilly(): never {
  throw new TypeError('not a duck')
}

const lost = effect('lost', {
  idempotent: true,
  retry: { max: 1, delay: 0 },
  run: () => {
    if (isMainThread) process.kill(process.pid, 'SIGKILL')
    else process.exit(7)
    return new Promise<never>(() => undefined)
  },
})

export const losing = job('losing', {
  lease: '500ms',
  effects: [lost],
  run: ({ commit }) => commit('committed', [lost()]),
})

/** Where it runs. */
export const where = job('where', { run: () => ({ pid: process.pid, isMainThread }) })

/** Wants to write in the transaction of its commit. */
export const writing = job('writing', {
  retry: { max: 0 },
  quarantine: 'never',
  run: ({ commit }) => commit(1).with(() => undefined),
})
