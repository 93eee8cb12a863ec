/**
 * Whatever a person does to a job, a queue or a schedule is kept with who did it and why, and can
 * be read wherever the jobs are kept.
 */
import { describe, expect, it } from 'vitest'
import { recorded } from '../support/history.ts'
import type { Entry, Actor, Pawl } from '../../src/index.ts'
import { effect, job, Refused, typed } from '../../src/index.ts'
import { EVERY_ENGINE } from '../support/engines.ts'

const broken = job('broken', {
  input: typed<number>(),
  retry: { max: 0 },
  run: () => {
    throw new Error('no')
  },
})
const doomed = effect('doomed', {
  retry: { max: 0 },
  run: () => {
    throw new Error('no answer')
  },
})
const pay = job('pay', { effects: [doomed], run: ({ commit }) => commit(1, [doomed()]) })
const later = job('later', { run: () => undefined })
const HOURLY = { job: later, every: '1h' } as const
const DAILY = { job: later, every: '24h' } as const

interface Action {
  /** The job that it is done to; null: a queue or a schedule. */
  readonly to: string | null
  readonly entry: Entry['type']
  /** Why, if nobody says so. */
  readonly otherwise: string
  readonly act: (pawl: Pawl, on?: Actor) => Promise<unknown>
}

const one = (id: string): { ids: string[] } => ({ ids: [id] })

/** All that a person can ask for, in an order in which each has something to do. */
const ACTIONS: Readonly<Record<string, Action>> = {
  'cancel a job': {
    to: 'cancelled',
    entry: 'JobCancelled',
    otherwise: 'no reason given',
    act: (pawl, on) => pawl.cancel('cancelled', on),
  },
  'cancel it by its handle': {
    to: 'cancelled by its handle',
    entry: 'JobCancelled',
    otherwise: 'no reason given',
    act: (pawl, on) => pawl.handle('cancelled by its handle').cancel(on),
  },
  'release a job': {
    to: 'held',
    entry: 'JobReleased',
    otherwise: 'Released',
    act: (pawl, on) => pawl.release('held', on),
  },
  'retry a job': {
    to: 'broken 0',
    entry: 'TaskRetried',
    otherwise: 'Retried',
    act: (pawl, on) => pawl.retry('broken 0', on),
  },
  'discard a job': {
    to: 'broken 1',
    entry: 'JobCancelled',
    otherwise: 'Discarded',
    act: (pawl, on) => pawl.discard('broken 1', on),
  },
  'force a job': {
    to: 'broken 2',
    entry: 'TaskForced',
    otherwise: 'Forced to FAILED',
    act: (pawl, on) => pawl.force('broken 2', { to: 'FAILED', ...on }),
  },
  'redrive jobs': {
    to: 'broken 3',
    entry: 'TaskRetried',
    otherwise: 'Redriven',
    act: (pawl, on) => pawl.quarantine.redrive({ ...one('broken 3'), ...on }),
  },
  'discard jobs': {
    to: 'broken 4',
    entry: 'JobCancelled',
    otherwise: 'Discarded',
    act: (pawl, on) => pawl.quarantine.discard({ ...one('broken 4'), ...on }),
  },
  'resolve an effect': {
    to: 'paid',
    entry: 'EffectResolved',
    otherwise: 'Resolved',
    act: (pawl, on) => pawl.resolveEffect('paid', 0, { outcome: 'happened', ...on }),
  },
  'run a job again': {
    to: 'again',
    entry: 'JobSubmitted',
    otherwise: 'Run again',
    act: (pawl, on) => pawl.rerun('cancelled', { id: 'again', ...on }),
  },
  'pause a queue': {
    to: null,
    entry: 'QueuePaused',
    otherwise: 'Paused',
    act: (pawl, on) => pawl.pause('mail', on),
  },
  'resume a queue': {
    to: null,
    entry: 'QueueResumed',
    otherwise: 'Resumed',
    act: (pawl, on) => pawl.resume('mail', on),
  },
  'configure a queue': {
    to: null,
    entry: 'QueueConfigured',
    otherwise: 'Configured',
    act: (pawl, on) => pawl.configure('mail', { concurrency: 3 }, on),
  },
  'set a schedule': {
    to: null,
    entry: 'ScheduleSet',
    otherwise: 'Set',
    act: (pawl, on) => pawl.schedule('often', HOURLY, on),
  },
  'change a schedule': {
    to: null,
    entry: 'ScheduleSet',
    otherwise: 'Set',
    act: (pawl, on) => pawl.schedule('often', DAILY, on),
  },
  'pause a schedule': {
    to: null,
    entry: 'ScheduleSet',
    otherwise: 'Paused',
    act: (pawl, on) => pawl.scheduleHandle('often').pause(on),
  },
  'resume a schedule': {
    to: null,
    entry: 'ScheduleSet',
    otherwise: 'Resumed',
    act: (pawl, on) => pawl.scheduleHandle('often').resume(on),
  },
  'remove a schedule': {
    to: null,
    entry: 'ScheduleRemoved',
    otherwise: 'Removed',
    act: (pawl, on) => pawl.scheduleHandle('often').remove(on),
  },
}

/** Jobs that are held, given up, and waiting for a word about their effect. */
async function prepare(pawl: Pawl): Promise<void> {
  for (const id of ['cancelled', 'cancelled by its handle', 'held']) {
    await pawl.submit(later, undefined, { id, hold: true })
  }
  const worker = pawl.work([broken, pay])
  const items = Array.from({ length: 5 }, (_, i) => ({ input: i, options: { id: `broken ${i}` } }))
  const handles = await pawl.submitMany(broken, items)
  const paid = await pawl.submit(pay, undefined, { id: 'paid' })
  await Promise.allSettled([...handles, paid].map((handle) => handle.result()))
  await worker.stop()
}

interface Kept extends Actor {
  readonly type: Entry['type']
}

function keptIn(entry: Entry): Kept[] {
  const { type } = entry
  if (type === 'JobSubmitted')
    return entry.spec.asked === null ? [] : [{ type, ...entry.spec.asked }]
  return 'by' in entry ? [{ type, by: entry.by, reason: entry.reason }] : []
}

/** Who and why of all that there is. */
async function watched(pawl: Pawl): Promise<Kept[]> {
  await pawl.pause('the end')
  const kept: Kept[] = []
  for await (const { entry } of pawl.watch()) {
    if ('queue' in entry && entry.queue === 'the end') break
    kept.push(...keptIn(entry))
  }
  return kept
}

describe.each(EVERY_ENGINE)('what a person does %s', (_name, open) => {
  it('is kept with who did it and why, in history, events and watch', async () => {
    const pawl = await open()
    await prepare(pawl)
    for (const [what, { act }] of Object.entries(ACTIONS)) {
      await act(pawl, { by: 'ann', reason: `to ${what}` })
    }
    const expected = Object.entries(ACTIONS).map(([what, { entry: type }]) => {
      return { type, by: 'ann', reason: `to ${what}` }
    })
    expect(await watched(pawl)).toEqual(expected)
    for (const [what, { to, entry: type }] of Object.entries(ACTIONS)) {
      if (to === null) continue
      const history = recorded(await pawl.history(to))
      const said = [{ type, by: 'ann', reason: `to ${what}` }]
      expect(history.flatMap(({ entry }) => keptIn(entry))).toEqual(said)
      for await (const { entry } of pawl.handle(to).events()) {
        if (keptIn(entry).length === 0) continue
        expect(keptIn(entry)).toEqual(said)
        break
      }
    }
  })

  it('is by a client, and for its own sake, if nobody says more', async () => {
    const pawl = await open()
    await prepare(pawl)
    for (const { act } of Object.values(ACTIONS)) await act(pawl)
    const expected = Object.values(ACTIONS).map(({ entry: type, otherwise: reason }) => {
      return { type, by: 'client', reason }
    })
    expect(await watched(pawl)).toEqual(expected)
  })

  it('is refused if it is done by an empty name, which stands for nobody', async () => {
    const pawl = await open()
    await pawl.submit(later, undefined, { id: 'held', hold: true })
    await pawl.schedule('often', HOURLY)
    const nobody = { by: '', reason: 'who knows' }
    await expect(pawl.release('held', nobody)).rejects.toThrow(Refused)
    await expect(pawl.configure('mail', { concurrency: 3 }, nobody)).rejects.toThrow(Refused)
    await pawl.cancel('held')
    await expect(pawl.rerun('held', nobody)).rejects.toThrow(Refused)
    await expect(pawl.schedule('often', DAILY, nobody)).rejects.toThrow(Refused)
    await expect(pawl.scheduleHandle('often').pause(nobody)).rejects.toThrow(Refused)
    await expect(pawl.scheduleHandle('often').remove(nobody)).rejects.toThrow(Refused)
    expect(await watched(pawl)).toEqual([
      { type: 'ScheduleSet', by: 'client', reason: 'Set' },
      { type: 'JobCancelled', by: 'client', reason: 'no reason given' },
    ])
  })

  it('is said of a queue as long as it is paused', async () => {
    const pawl = await open()
    await pawl.pause('mail', { by: 'ann', reason: 'the bank is down' })
    await pawl.pause('mail', { by: 'bob', reason: 'too' })
    const paused = { name: 'mail', paused: { by: 'ann', reason: 'the bank is down' } }
    expect(await pawl.queue('mail')).toMatchObject(paused)
    expect(await pawl.queues()).toMatchObject([paused])
    await pawl.resume('mail')
    const resumed = { name: 'mail', pausedAt: null, paused: null }
    expect(await pawl.queue('mail')).toMatchObject(resumed)
    expect(await pawl.queues()).toMatchObject([resumed])
  })

  it('stays that of who was first, when somebody else asks for the same', async () => {
    const pawl = await open()
    await pawl.submit(later, undefined, { id: 'held', hold: true })
    const ann = { by: 'ann', reason: 'first' }
    const bob = { by: 'bob', reason: 'second' }
    for (const on of [ann, bob]) {
      await pawl.release('held', on)
      await pawl.configure('mail', { concurrency: 3 }, on)
      await pawl.schedule('often', HOURLY, on)
    }
    for (const on of [ann, bob]) await pawl.scheduleHandle('often').remove(on)
    await pawl.cancel('held', ann)
    for (const on of [ann, bob]) await pawl.rerun('held', { id: 'again', ...on })
    expect(await pawl.get('again')).toMatchObject({ rerunOf: 'held', asked: ann })
    // With another input it is another job, whoever asks.
    const other = pawl.rerun('held', { id: 'again', input: 'another', ...ann })
    await expect(other).rejects.toMatchObject({ rejection: { code: 'IdReused' } })
    expect(await watched(pawl)).toEqual([
      { type: 'JobReleased', ...ann },
      { type: 'QueueConfigured', ...ann },
      { type: 'ScheduleSet', ...ann },
      { type: 'ScheduleRemoved', ...ann },
      { type: 'JobCancelled', ...ann },
      { type: 'JobSubmitted', ...ann },
    ])
  })
})
