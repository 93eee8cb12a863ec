import { EventEmitter } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hookedEngine } from '../../../test/support/hooked-store.ts'
import { DiskFull, job, open } from '../../index.ts'
import { Shutdown } from './shutdown.ts'

/** A process that only notes how it was ended. */
class Stand extends EventEmitter {
  readonly kills: string[] = []

  constructor(readonly pid = 7) {
    super()
  }

  exit(code: number): void {
    this.kills.push(`exit ${code}`)
  }

  kill(pid: number, signal: NodeJS.Signals): void {
    this.kills.push(`${pid} ${signal}`)
  }
}

/** A worker that has stopped when the test says so. */
class Hand {
  stops = 0
  over: () => void = () => undefined

  stop(): Promise<void> {
    this.stops += 1
    return new Promise(() => undefined)
  }
}

function hands(
  count: number,
  signals: NodeJS.Signals[] = ['SIGTERM'],
): { stand: Stand; all: Hand[]; shutdown: Shutdown } {
  const stand = new Stand()
  const shutdown = new Shutdown(stand)
  const all = Array.from({ length: count }, () => new Hand())
  for (const hand of all) hand.over = shutdown.add(hand, signals)
  return { stand, all, shutdown }
}

describe('a signal', () => {
  it('stops every worker, and ends the process when the last one has stopped', () => {
    const { stand, all } = hands(3)
    stand.emit('SIGTERM')
    expect(all.map(({ stops }) => stops)).toEqual([1, 1, 1])
    all[0]?.over()
    all[1]?.over()
    expect(stand.kills).toEqual([])
    expect(stand.listenerCount('SIGTERM')).toBe(1)
    all[2]?.over()
    expect(stand.kills).toEqual(['7 SIGTERM'])
    // BEFORE it is sent again, or it would be heard again.
    expect(stand.listenerCount('SIGTERM')).toBe(0)
  })

  it('that comes again ends the process at once', () => {
    const { stand, all } = hands(2)
    stand.emit('SIGTERM')
    stand.emit('SIGTERM')
    expect(stand.kills).toEqual(['7 SIGTERM'])
    expect(stand.listenerCount('SIGTERM')).toBe(0)
    expect(all.map(({ stops }) => stops)).toEqual([1, 1])
  })

  it('that is followed by another ends the process at once, by the other', () => {
    const { stand } = hands(1, ['SIGTERM', 'SIGINT'])
    stand.emit('SIGTERM')
    stand.emit('SIGINT')
    expect(stand.kills).toEqual(['7 SIGINT'])
  })

  it('that others listen for is theirs, even if they listen only once and came first', () => {
    const stand = new Stand()
    let heard = 0
    stand.once('SIGTERM', () => (heard += 1))
    const hand = new Hand()
    hand.over = new Shutdown(stand).add(hand, ['SIGTERM'])
    stand.emit('SIGTERM')
    hand.over()
    expect(heard).toBe(1)
    expect(hand.stops).toBe(1)
    expect(stand.kills).toEqual([])
  })

  it('that others began to listen for meanwhile is theirs', () => {
    const { stand, all } = hands(1)
    stand.emit('SIGTERM')
    stand.on('SIGTERM', () => undefined)
    all[0]?.over()
    expect(stand.kills).toEqual([])
  })

  it('stops a worker that is made while the others stop', async () => {
    const { stand, all, shutdown } = hands(1)
    stand.emit('SIGTERM')
    const late = new Hand()
    late.over = shutdown.add(late, ['SIGTERM'])
    await Promise.resolve()
    expect(late.stops).toBe(1)
    all[0]?.over()
    expect(stand.kills).toEqual([])
    late.over()
    expect(stand.kills).toEqual(['7 SIGTERM'])
  })

  it('is not listened for once the workers have stopped by themselves', () => {
    const { stand, all, shutdown } = hands(2, ['SIGTERM', 'SIGINT'])
    for (const hand of all) hand.over()
    expect(stand.eventNames()).toEqual([])
    const hand = new Hand()
    shutdown.add(hand, ['SIGTERM'])
    stand.emit('SIGTERM')
    expect(hand.stops).toBe(1)
    expect(stand.kills).toEqual([])
  })

  it('ends process 1, too, which the system would not end by a signal', () => {
    const stand = new Stand(1)
    const hand = new Hand()
    hand.over = new Shutdown(stand).add(hand, ['SIGTERM'])
    stand.emit('SIGTERM')
    hand.over()
    expect(stand.kills).toEqual(['exit 143'])
  })

  it.each(['SIGKILL', 'SIGNONSENSE' as 'SIGTERM'] as const)('%s is refused', (signal) => {
    expect(() => hands(1, [signal])).toThrow(/cannot listen/)
  })
})

describe('workers', () => {
  it('share one listener, however many there are, and take it with them', async () => {
    const before = process.listenerCount('SIGTERM')
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    const nothing = job('nothing', { run: () => undefined })
    const workers = Array.from({ length: 20 }, () => pawl.work([nothing]))
    expect(process.listenerCount('SIGTERM')).toBe(before + 1)
    await Promise.all(workers.slice(1).map((worker) => worker.stop()))
    expect(process.listenerCount('SIGTERM')).toBe(before + 1)
    await workers[0]?.kill()
    expect(process.listenerCount('SIGTERM')).toBe(before)
  })

  it('that are to listen for nothing do not', async () => {
    const before = process.listenerCount('SIGTERM')
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    pawl.work([job('nothing', { run: () => undefined })], { signals: [] })
    expect(process.listenerCount('SIGTERM')).toBe(before)
  })
})

describe('a worker whose report does not fit on the disk', () => {
  const committing = job('committing', { lease: '300ms', run: () => 'done' })
  const tooSlow = job('too-slow', {
    lease: '300ms',
    timeout: '1ms',
    run: () => new Promise<never>(() => undefined),
  })

  it.each([
    ['CommitExecution', committing],
    ['FailTask', tooSlow],
  ] as const)('stops when its time is over: %s', async (report, definition) => {
    const { pawl, store, errors } = hookedEngine()
    let tries = 0
    store.beforeExecute = (commands) => {
      if (!commands.some(({ type }) => type === report)) return
      tries += 1
      throw new DiskFull('/store', 1, new Error('ENOSPC'))
    }
    onTestFinished(async () => {
      store.beforeExecute = () => undefined
      await pawl.close()
    })
    const worker = pawl.work([definition], { shutdown: '50ms', signals: [] })
    const handle = await pawl.submit(definition)
    await expect.poll(() => tries, { timeout: 10_000 }).toBeGreaterThan(0)
    await worker.stop()
    expect(errors.map(({ name }) => name)).toEqual(['DiskFull'])
    expect(await handle.state()).toBe('RUNNING')
  })
})
