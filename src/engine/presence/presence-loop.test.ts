/**
 * What is asked of a worker, in whatever order its process comes to know of it.
 */
import { beforeEach, expect, it } from 'vitest'
import type { Worker } from '../../worker/index.ts'
import { Hourglass } from '../../../test/support/hourglass.ts'
import { PresenceLoop } from './presence-loop.ts'

type Parts = ConstructorParameters<typeof PresenceLoop>[0]

const ANN = { by: 'ann', reason: '' }

let time: Hourglass
let asked: ReadonlyMap<string, string>
let loop: PresenceLoop
let did: string[]

beforeEach(() => {
  time = new Hourglass()
  time.pass(1_000)
  asked = new Map()
  did = []
  const worker = {
    name: 'mill',
    drain: () => did.push('drain'),
    resume: () => did.push('resume'),
    state: () => ({}),
  } as unknown as Worker
  const presence = {
    name: 'here',
    begin: async () => undefined,
    say: async () => undefined,
    dead: async () => null,
    get asked() {
      return asked
    },
  }
  loop = new PresenceLoop({
    presence,
    store: {},
    timing: time,
    now: () => time.now(),
    workers: new Set([worker]),
    softState: { takeChanged: () => [], stalledTasks: () => [] },
    wantsStalled: () => false,
  } as unknown as Parts)
})

/** From elsewhere: what stands beside what this process says, and is read at its next turn. */
function askThere(isDraining: boolean, at: number): void {
  asked = new Map([['mill', JSON.stringify({ isDraining, at, ...ANN })]])
}

/** This process comes to read it. */
async function read(): Promise<void> {
  time.pass(500)
  await new Promise(setImmediate)
}

it('what is asked elsewhere is done in its order, once', async () => {
  askThere(true, 10)
  await read()
  await read()
  askThere(false, 20)
  await read()
  // An answer that was long on its way.
  askThere(true, 10)
  await read()
  expect(did).toEqual(['drain', 'resume'])
})

it('what is asked in the process itself stands against what was asked elsewhere before, and is read after', async () => {
  askThere(false, time.now())
  await loop.ask('mill', true, ANN)
  await read()
  expect(did).toEqual(['drain'])
  askThere(false, time.now())
  await read()
  expect(did).toEqual(['drain', 'resume'])
})

it('the process does what it is asked by a server at once, and it counts as asked here', async () => {
  askThere(false, 1_000)
  const text = JSON.stringify({ isDraining: true, at: 1_200, ...ANN })
  expect(await loop.askProcess('here', 'mill', text)).toBe(true)
  await read()
  expect(did).toEqual(['drain'])
})
