import { expect, it } from 'vitest'
import type { ChildEvents } from './child.ts'
import { NO_PORT } from './child-pool.ts'
import { ChildSlot } from './child-slot.ts'
import type { ChildRequest, ChildOutcome, ToParent } from './protocol.ts'
import { AbortHandle } from '../abort-handle.ts'

const ASK = { kind: 'job', definition: 'work', request: {} } as unknown as ChildRequest
const DONE: ChildOutcome = { kind: 'commit', output: '1', effects: [], writes: null }
const none = (): void => undefined
const TIMES = { idleMs: 1_000, graceMs: 100, startMs: 10_000 }

/** A place with a child that has been given something to do, and says what the test says. */
function busyPlace(): {
  readonly say: (message: unknown) => void
  readonly errors: string[]
  readonly outcome: Promise<unknown>
} {
  const errors: string[] = []
  let say: (message: unknown) => void = none
  const options = {
    start: (_: unknown, events: ChildEvents) => {
      say = (message) => events.message(message as ToParent)
      return { send: () => undefined, kill: () => undefined }
    },
    modules: [],
    timing: {
      now: () => 0,
      steadyNow: () => 0,
      after: () => ({ cancel: () => undefined }),
      soon: () => undefined,
    },
    artifacts: null,
    onError: (error: Error) => errors.push(error.message),
    ...TIMES,
  }
  const place = new ChildSlot(options, { free: none, ending: none, gone: none })
  say({ type: 'ready' })
  const port = {
    ...NO_PORT,
    log: () => {
      throw new Error('no paper')
    },
  }
  const outcome = new Promise((resolve) => {
    place.run({ ask: ASK, port, abortHandle: new AbortHandle('j'), resolve })
  })
  return { say, errors, outcome }
}

it.each([null, undefined, 'text', 7, {}, { run: 1 }, { type: 'nonsense', run: 1 }])(
  'what is no message of ours is dropped: %j',
  async (thing) => {
    const { say, errors, outcome } = busyPlace()
    say(thing)
    say({ type: 'settled', run: 1, outcome: DONE, isUsable: true })
    expect(await outcome).toEqual(DONE)
    expect(errors).toEqual([])
  },
)

it('what cannot be passed on is told to `onError`, and the child goes on', async () => {
  const { say, errors, outcome } = busyPlace()
  say({ type: 'log', run: 1, line: 'said' })
  expect(errors).toEqual(['no paper'])
  say({ type: 'settled', run: 1, outcome: DONE, isUsable: true })
  expect(await outcome).toEqual(DONE)
})
