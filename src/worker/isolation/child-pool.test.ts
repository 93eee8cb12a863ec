import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { Hourglass } from '../../../test/support/hourglass.ts'
import type { Runnable } from '../../definition/index.ts'
import { job } from '../../definition/index.ts'
import type { ChildEvents } from './child.ts'
import { ChildPool, NO_PORT } from './child-pool.ts'
import type { ChildOutcome, ToChild } from './protocol.ts'
import { AbortHandle } from '../abort-handle.ts'

const work: Runnable = job('work', { run: () => 1 })
const TIMES = { idleMs: 1_000, graceMs: 100, startMs: 10_000 }
const DONE: ChildOutcome = { kind: 'commit', output: '1', effects: [], writes: null }
const QUEUED = { queue: 'default', priority: 0, metadata: undefined, schedule: null }
const REQUEST = {
  job: { id: 'j', type: 'work', attempt: 1, lease: 1, ...QUEUED },
  store: null,
  submittedAt: 0,
  version: 1,
  submittedUnder: 1,
  input: 'null',
  steps: [],
  waiting: null,
  caller: { stage: 0, segment: 0, depth: 1 },
  stage: null,
  defaults: null,
}
const EFFECT = {
  name: 'mail',
  ask: 'run',
  input: 'null',
  key: 'j/0/0/0',
  fence: 1,
  job: { id: 'j', type: 'work' },
  stage: null,
  metadata: null,
} as const

/** A child that does what the test says. */
class Puppet {
  readonly heard: ToChild[] = []
  readonly #events: ChildEvents
  kills = 0
  isReady = false

  constructor(events: ChildEvents) {
    this.#events = events
  }

  send(message: ToChild): void {
    this.heard.push(message)
  }

  kill(): void {
    this.kills += 1
  }

  get run(): number {
    return Math.max(0, ...this.heard.map((one) => (one.type === 'run' ? one.run : 0)))
  }

  ready(): void {
    this.isReady = true
    this.#events.message({ type: 'ready' })
  }

  settle(outcome: ChildOutcome = DONE, isUsable = true, run = this.run): void {
    this.#events.message({ type: 'settled', run, outcome, isUsable })
  }

  record(name: string, run = this.run): void {
    this.#events.message({ type: 'record', run, call: 1, name, value: '1' })
  }

  leave(why = 'It left.', wasTold = false): void {
    this.#events.gone(why, wasTold)
  }
}

const onError = (): void => undefined
function noRoom(): never {
  throw new Error('no room')
}

class Stage {
  readonly children: Puppet[] = []
  readonly time = new Hourglass()
  readonly recorded: string[] = []
  readonly pool: ChildPool
  isSlow = false

  constructor(most: number) {
    this.pool = new ChildPool({
      start: (_, events) => {
        const child = new Puppet(events)
        this.children.push(child)
        return child
      },
      modules: ['file:///jobs.js'],
      most,
      timing: this.time,
      onError,
      ...TIMES,
    })
  }

  run(abortHandle = new AbortHandle('j')): ReturnType<ChildPool['runJob']> {
    const record = (name: string): Promise<string> => {
      this.recorded.push(name)
      return Promise.resolve('1')
    }
    const port = { ...NO_PORT, record }
    const outcome = this.pool.runJob(work, REQUEST, port, abortHandle)
    this.ready()
    return outcome
  }

  effect(abortHandle = new AbortHandle('j')): ReturnType<ChildPool['runEffect']> {
    const outcome = this.pool.runEffect(work, EFFECT, null, abortHandle)
    this.ready()
    return outcome
  }

  /** All children are, unless the test wants to see them start. */
  ready(): void {
    if (!this.isSlow) for (const child of this.children) if (!child.isReady) child.ready()
  }

  child(at: number): Puppet {
    return this.children[at] as Puppet
  }

  heard(at: number): string[] {
    return this.child(at).heard.map(({ type }) => type)
  }
}

function slow(most: number): Stage {
  const stage = new Stage(most)
  stage.isSlow = true
  return stage
}

describe('children of a pool', () => {
  it('are started when they are needed, and not beyond their number', async () => {
    const stage = new Stage(2)
    expect(stage.pool.size).toBe(0)
    const outcomes = [stage.run(), stage.run(), stage.run()]
    expect(stage.pool.size).toBe(2)
    stage.child(0).settle()
    stage.child(0).settle()
    stage.child(1).settle()
    expect(await Promise.all(outcomes)).toEqual([DONE, DONE, DONE])
    expect(stage.pool.size).toBe(2)
    expect(stage.heard(0)).toEqual(['setup', 'run', 'run'])
  })

  it('leave nothing behind on the signal of a job with many effects', async () => {
    const stage = new Stage(1)
    const abortHandle = new AbortHandle('j')
    for (let i = 0; i < 5; i++) {
      const running = stage.effect(abortHandle)
      stage.children[0]?.settle({ kind: 'finished' })
      await running
    }
    expect(getEventListeners(abortHandle.signal, 'abort')).toHaveLength(0)
  })

  it('finish what was committed before they begin something new', () => {
    const stage = new Stage(1)
    void stage.run()
    void stage.run()
    void stage.effect()
    stage.child(0).settle()
    const asked = stage.child(0).heard.map((one) => (one.type === 'run' ? one.ask.kind : one.type))
    expect(asked).toEqual(['setup', 'job', 'effect'])
  })

  it('that are free for long are told to end, and killed if they do not', () => {
    const stage = new Stage(1)
    void stage.run()
    stage.child(0).settle()
    stage.time.pass(999)
    expect(stage.heard(0)).toEqual(['setup', 'run'])
    stage.time.pass(1)
    expect(stage.heard(0)).toEqual(['setup', 'run', 'end'])
    expect(stage.child(0).kills).toBe(0)
    stage.time.pass(100)
    expect(stage.child(0).kills).toBe(1)
  })

  it('that were asked to end get nothing more: what comes waits for another', () => {
    const stage = new Stage(1)
    void stage.run()
    stage.child(0).settle()
    stage.time.pass(1_000)
    void stage.run()
    expect(stage.children).toHaveLength(1)
    stage.child(0).leave()
    stage.ready()
    expect(stage.heard(1)).toEqual(['setup', 'run'])
  })

  it('that die are replaced, and the run that waits hears why', async () => {
    const stage = new Stage(1)
    const outcome = stage.run()
    const next = stage.run()
    stage.child(0).leave('It was shot.')
    expect(await outcome).toEqual({ kind: 'died', why: 'It was shot.' })
    stage.ready()
    stage.child(1).settle()
    expect(await next).toEqual(DONE)
  })

  it('that die in an effect are reported as dead, too', async () => {
    const stage = new Stage(1)
    const outcome = stage.effect()
    stage.child(0).leave('It was shot.')
    expect(await outcome).toEqual({ kind: 'died', why: 'It was shot.' })
  })

  it('that die while they are free are forgotten', async () => {
    const stage = new Stage(1)
    void stage.run()
    stage.child(0).settle()
    stage.child(0).leave()
    expect(stage.pool.size).toBe(0)
    const outcome = stage.run()
    stage.child(1).settle()
    expect(await outcome).toEqual(DONE)
  })

  it('that are of no use are ended after they said so', async () => {
    const stage = new Stage(1)
    const outcome = stage.run()
    stage.child(0).settle(DONE, false)
    expect(await outcome).toEqual(DONE)
    expect(stage.heard(0)).toEqual(['setup', 'run', 'end'])
  })

  it('that cannot be started are dead', async () => {
    const timing = new Hourglass()
    const pool = new ChildPool({ start: noRoom, modules: [], most: 1, timing, onError })
    const outcome = await pool.runEffect(work, EFFECT, null, new AbortHandle('j'))
    expect(outcome).toMatchObject({ kind: 'died', why: expect.stringContaining('no room') })
    expect(pool.size).toBe(0)
  })

  it('are not heard about a run that is over', async () => {
    const stage = new Stage(1)
    const first = stage.run()
    stage.child(0).settle()
    await first
    let isSecondOver = false
    void stage.run().then(() => (isSecondOver = true))
    stage.child(0).record('late', 1)
    stage.child(0).settle(DONE, true, 1)
    await Promise.resolve()
    expect(stage.recorded).toEqual([])
    expect(isSecondOver).toBe(false)
  })
})

describe('a child that starts', () => {
  it('gets no run before it is ready: what waits goes to the child that is free first', async () => {
    const stage = slow(3)
    const outcomes = [stage.run(), stage.run()]
    expect(stage.children).toHaveLength(2)
    expect(stage.heard(0)).toEqual(['setup'])
    stage.child(1).ready()
    stage.child(1).settle()
    stage.child(1).settle()
    expect(await Promise.all(outcomes)).toEqual([DONE, DONE])
    expect(stage.heard(0)).toEqual(['setup'])
  })

  it('stays for the next run if the one that it was started for has timed out', () => {
    const stage = slow(1)
    const abortHandle = new AbortHandle('j')
    void stage.run(abortHandle)
    abortHandle.stop('timed-out')
    expect(stage.child(0).kills).toBe(0)
    void stage.run()
    stage.child(0).ready()
    expect(stage.heard(0)).toEqual(['setup', 'run'])
    expect(stage.children).toHaveLength(1)
  })

  it('and dies ends the first run that waits, and only that; none if a signal told it to', async () => {
    const stage = slow(1)
    const outcomes = [stage.run(), stage.run()]
    stage.child(0).leave('It choked.')
    expect(await outcomes[0]).toEqual({ kind: 'died', why: 'It choked.' })
    stage.child(1).leave('It was told to.', true)
    stage.child(2).ready()
    stage.child(2).settle()
    expect(await outcomes[1]).toEqual(DONE)
  })

  it('is killed if it is never ready', async () => {
    const stage = slow(1)
    const outcome = stage.run()
    stage.time.pass(10_000)
    expect(stage.child(0).kills).toBe(1)
    stage.child(0).leave('Killed.')
    const why = 'It was not ready after 10000 ms. Killed.'
    expect(await outcome).toEqual({ kind: 'died', why })
  })

  it('is killed when the pool closes', async () => {
    const stage = slow(1)
    const outcome = stage.run()
    const closed = stage.pool.close()
    expect(stage.child(0).kills).toBe(1)
    stage.child(0).leave()
    await closed
    expect(await outcome).toMatchObject({ kind: 'died' })
    expect(stage.children).toHaveLength(1)
  })
})

describe('a child that is told to stop', () => {
  it('by a timeout is killed at once', async () => {
    const stage = new Stage(1)
    const abortHandle = new AbortHandle('j')
    const outcome = stage.run(abortHandle)
    abortHandle.stop('timed-out')
    expect(stage.child(0).kills).toBe(1)
    stage.child(0).leave('Killed.')
    expect(await outcome).toEqual({ kind: 'died', why: 'Killed.' })
  })

  it.each([
    ['cancelled', { by: 'ann', why: 'enough' }],
    ['revoked', { by: 'ann', why: 'enough' }],
    ['lease-lost', null],
    ['shutdown', null],
  ] as const)(
    'because of %s is told who and why, has a grace, and is killed when it is over',
    (reason, by) => {
      const stage = new Stage(1)
      const abortHandle = new AbortHandle('j')
      void stage.run(abortHandle)
      abortHandle.stop(reason, by)
      expect(stage.child(0).heard.at(-1)).toEqual({ type: 'stop', run: 1, reason, by })
      stage.time.pass(99)
      expect(stage.child(0).kills).toBe(0)
      stage.time.pass(1)
      expect(stage.child(0).kills).toBe(1)
    },
  )

  it('and settles in its grace is used again', () => {
    const stage = new Stage(1)
    const abortHandle = new AbortHandle('j')
    void stage.run(abortHandle)
    abortHandle.stop('cancelled')
    stage.child(0).settle()
    void stage.run()
    stage.time.pass(500)
    expect(stage.child(0).kills).toBe(0)
    expect(stage.heard(0)).toEqual(['setup', 'run', 'stop', 'run'])
  })

  it('is left alone when its run is over', () => {
    const stage = new Stage(1)
    const abortHandle = new AbortHandle('j')
    void stage.run(abortHandle)
    stage.child(0).settle()
    void stage.run()
    abortHandle.stop('timed-out')
    expect(stage.child(0).kills).toBe(0)
  })

  it('before it had a child does not run at all, and that is known', async () => {
    const stage = new Stage(1)
    void stage.run()
    const abortHandle = new AbortHandle('j')
    const outcome = stage.effect(abortHandle)
    abortHandle.stop('shutdown')
    expect(await outcome).toMatchObject({ kind: 'failure', failure: { code: 'Aborted' } })
    stage.child(0).settle()
    expect(stage.heard(0)).toEqual(['setup', 'run'])
    expect(await stage.effect(abortHandle)).toMatchObject({ kind: 'failure' })
    expect(stage.heard(0)).toEqual(['setup', 'run'])
  })
})

describe('closing a pool', () => {
  it('ends the free, kills the busy, and waits for both', async () => {
    const stage = new Stage(2)
    const first = stage.run()
    const second = stage.run()
    stage.child(1).settle()
    let isClosed = false
    const closed = stage.pool.close().then(() => (isClosed = true))
    expect(stage.heard(1)).toEqual(['setup', 'run', 'end'])
    expect(stage.child(1).kills).toBe(0)
    expect(stage.child(0).kills).toBe(1)
    stage.child(1).leave()
    await second
    expect(isClosed).toBe(false)
    stage.child(0).leave('Killed.')
    expect(await first).toEqual({ kind: 'died', why: 'Killed.' })
    await closed
    expect(stage.pool.size).toBe(0)
  })

  it('lets those that were told to stop have their grace', () => {
    const stage = new Stage(1)
    const abortHandle = new AbortHandle('j')
    void stage.run(abortHandle)
    abortHandle.stop('shutdown')
    void stage.pool.close()
    expect(stage.child(0).kills).toBe(0)
    stage.child(0).settle()
    expect(stage.heard(0)).toEqual(['setup', 'run', 'stop', 'end'])
  })

  it('leaves no run waiting, and begins nothing more', async () => {
    const stage = new Stage(1)
    void stage.run()
    const waiting = stage.run()
    void stage.pool.close()
    expect(await waiting).toMatchObject({ kind: 'died' })
    expect(await stage.run()).toMatchObject({ kind: 'died' })
    stage.child(0).leave()
    expect(stage.children).toHaveLength(1)
  })
})
