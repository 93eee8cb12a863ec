import { array, assert, integer, nat, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SaidTotals } from '../../engine/presence/presence-loop.ts'
import type { FigureRange } from '../../protocol/index.ts'
import { FIGURE_RANGES } from '../../protocol/index.ts'
import { amountOf } from '../../../test/support/figure-amounts.ts'
import type { Totals } from '../../store/index.ts'
import type { QueueLoad } from './figure-history.ts'
import { FigureHistory } from './figure-history.ts'
import { figuresOf } from './figures-answer.ts'

/** A multiple of every step. */
const START = 1_795_001_400_000
const MINUTE = 60_000
const NOTHING = { count: 0, sum: 0, counts: [] }

interface Wrote {
  readonly since?: number
  readonly submitted?: number
  readonly waits?: readonly number[]
  readonly moves?: Readonly<Record<string, number>>
}

function word(name: string, at: number, wrote: Wrote = {}): SaidTotals {
  const { since = START - 1, submitted = 0, moves = {}, waits = [] } = wrote
  const counts: number[] = []
  for (const ms of waits) {
    const bucket = 32 - Math.clz32(ms)
    counts[bucket] = (counts[bucket] ?? 0) + 1
  }
  const waitMs = {
    count: waits.length,
    sum: waits.reduce((sum, ms) => sum + ms, 0),
    counts: Array.from(counts, (count) => count ?? 0),
  }
  return {
    name,
    at,
    totals: {
      since,
      submitted,
      granted: 0,
      committed: 2 * submitted,
      failed: 0,
      effectsFailed: 0,
      lost: 0,
      quarantined: 0,
      moves,
      waitMs,
      runMs: NOTHING,
    },
  }
}

/** Of one process, whose totals grow by `each` every two seconds. */
function steady(seconds: number, each: number): FigureHistory {
  const history = new FigureHistory()
  for (let s = 0; s <= seconds; s += 2) {
    const at = START + 1_000 * s
    history.add({ at, said: [word('own', at, { submitted: (each * s) / 2 })], queues: [] })
  }
  return history
}

describe('a history', () => {
  it('has the rate of a process at every step, in every range', () => {
    const history = steady(3_600, 20)
    for (const range of FIGURE_RANGES) {
      const { rates, times, processes } = figuresOf(history, range)
      expect(processes).toBe(1)
      expect(times.length).toBeLessThanOrEqual(150)
      expect(rates.submitted.map((rate) => rate?.toFixed(6))).toEqual(times.map(() => '10.000000'))
      expect(rates.lost.every((rate) => rate === 0)).toBe(true)
    }
  })

  it('is empty BEFORE anything is known', () => {
    const history = new FigureHistory()
    expect(figuresOf(history, '15m')).toMatchObject({ times: [], flow: { seconds: 0, moves: [] } })
    history.add({ at: START, said: [word('own', START, { submitted: 500 })], queues: [] })
    expect(figuresOf(history, '1h')).toMatchObject({ times: [], flow: { seconds: 0, moves: [] } })
  })

  it('counts all of what was said, whenever it was looked and said, in any range (a property)', () => {
    const gaps = array(integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 400 })
    const grown = array(nat({ max: 1_000 }), { minLength: 1, maxLength: 50 })
    assert(
      property(gaps, array(grown, { minLength: 1, maxLength: 4 }), (looks, processes) => {
        const history = new FigureHistory()
        const words = processes.map(() => [] as { at: number; submitted: number }[])
        let at = START
        for (const [i, gap] of [0, ...looks, 12, 12].entries()) {
          at += 1_000 * gap
          // The last look is at the end of a period, and hears all.
          const isLast = i === looks.length + 2
          if (isLast) at = Math.ceil(at / 2_000) * 2_000
          const said = processes.map((grows, p) => {
            const own = words[p] as { at: number; submitted: number }[]
            const last = own.at(-1)
            // Others are heard late, and say the same until they say something new.
            const isNew = last === undefined || isLast || p === 0 || at - last.at >= 10_000
            const saidAt = isLast || p === 0 || last === undefined ? at : at - ((137 * i) % 1_000)
            const grew = grows[i % grows.length] as number
            if (isNew) own.push({ at: saidAt, submitted: (last?.submitted ?? 7) + grew })
            const newest = own.at(-1) as { at: number; submitted: number }
            return word(`p${p}`, newest.at, { submitted: newest.submitted })
          })
          history.add({ at, said, queues: [] })
        }
        for (const range of FIGURE_RANGES) {
          const figures = figuresOf(history, range)
          expect(figures.times.at(-1)).toBe(at)
          const first = figures.times[0] as number
          const from = Math.max(START, Math.floor((first - 1) / figures.stepMs) * figures.stepMs)
          const expected = words.reduce((sum, own) => sum + naiveAmount(own, from, at), 0)
          // A rate has five digits.
          const mostOff = 1e-4 * expected + 1e-6
          expect(Math.abs(amountOf(figures, 'submitted') - expected)).toBeLessThan(mostOff)
          expect(Math.abs(amountOf(figures, 'committed') - 2 * expected)).toBeLessThan(2 * mostOff)
        }
      }),
      { numRuns: 60 },
    )
  })
})

/** What words say of a time, each evenly over the time since the one before. */
function naiveAmount(
  words: readonly { at: number; submitted: number }[],
  from: number,
  to: number,
): number {
  return words.slice(1).reduce((sum, { at, submitted }, i) => {
    const last = words[i] as { at: number; submitted: number }
    const ms = Math.max(0, Math.min(at, to) - Math.max(last.at, from))
    return sum + ((submitted - last.submitted) * ms) / (at - last.at)
  }, 0)
}

/** So many seconds after the start. */
function timeAt(seconds: number): number {
  return START + 1_000 * seconds
}

/** Looks every two seconds. */
function heard(seconds: number, each: (s: number) => readonly SaidTotals[]): FigureHistory {
  const history = new FigureHistory()
  for (let s = 0; s <= seconds; s += 2) history.add({ at: timeAt(s), said: each(s), queues: [] })
  return history
}

/** What an old version of Pawl may say. */
function shortWord(s: number): SaidTotals {
  return { name: 'old', at: timeAt(s), totals: { since: START - 1, submitted: s } as Totals }
}

function movedBy(count: number): Readonly<Record<string, number>> {
  return { 'job QUEUED RUNNING': count, 'job - QUEUED': 2 * count }
}

function load(queue: string, waiting: number): QueueLoad {
  return { queue, waiting, oldestMs: 10 * waiting }
}

describe('other processes', () => {
  it('count as spread over the time between two of their words, and lines end where all is known', () => {
    const history = heard(64, (s) => {
      const said = Math.floor(s / 10) * 10
      return [word('own', timeAt(s)), word('other', timeAt(said), { submitted: 5 * said })]
    })
    const { rates, times } = figuresOf(history, '15m')
    expect(times.at(-1)).toBe(timeAt(60))
    expect(rates.submitted).toEqual(times.map(() => 5))
  })

  it('do not hold the lines up once they say nothing more, and take nothing back', () => {
    const history = heard(120, (s) => [
      word('own', timeAt(s)),
      // It was killed after 30 seconds; its words stand for a while.
      ...(s > 60
        ? []
        : [
            word('dead', timeAt(Math.min(30, Math.floor(s / 10) * 10)), {
              submitted: 2 * Math.min(30, Math.floor(s / 10) * 10),
            }),
          ]),
    ])
    const figures = figuresOf(history, '15m')
    expect(figures.times.at(-1)).toBe(timeAt(120))
    expect(figures.processes).toBe(1)
    expect(amountOf(figures, 'submitted')).toBeCloseTo(60)
  })

  it('count from their beginning if that was since the history began, and else from their first word', () => {
    const history = heard(60, (s) => [
      word('older', timeAt(s), { submitted: 1_000 }),
      ...(s < 20 ? [] : [word('newer', timeAt(s), { since: timeAt(15), submitted: 40 })]),
    ])
    const figures = figuresOf(history, '15m')
    expect(amountOf(figures, 'submitted')).toBeCloseTo(40)
    // Since it wrote first, and not since it was heard.
    const until = figures.times.indexOf(timeAt(18))
    expect(figures.rates.submitted[until]).toBeCloseTo(4)
  })

  it('that begin again count from nothing, and a rate is never less than nothing', () => {
    const history = heard(60, (s) => [
      s < 30
        ? word('same', timeAt(s), { submitted: 10 * s })
        : word('same', timeAt(s), { since: timeAt(29), submitted: s - 29 }),
    ])
    const figures = figuresOf(history, '15m')
    expect(figures.rates.submitted.every((rate) => (rate as number) >= 0)).toBe(true)
    expect(amountOf(figures, 'submitted')).toBeCloseTo(280 + 31)
  })

  it('that were forgotten do not count twice', () => {
    const seconds = 3_700
    const history = heard(seconds, (s) => [
      word('own', timeAt(s)),
      ...((s > 0 && s < 20) || s === seconds
        ? [word('back', timeAt(s), { since: timeAt(1), submitted: s === seconds ? 1_000 : 100 })]
        : []),
    ])
    expect(amountOf(figuresOf(history, '6h'), 'submitted')).toBeCloseTo(100)
  })

  it('move jobs: as many a second as in the newest ten seconds', () => {
    const history = heard(60, (s) => [
      word('own', timeAt(s), { moves: movedBy(3 * s) }),
      word('other', timeAt(Math.floor(s / 10) * 10), { moves: movedBy(Math.floor(s / 10) * 10) }),
      word('idle', timeAt(s), { moves: movedBy(77) }),
    ])
    const { seconds, moves: flow } = figuresOf(history, '15m').flow
    expect(seconds).toBe(10)
    expect(flow).toEqual([
      { of: 'job', from: 'QUEUED', to: 'RUNNING', rate: 4 },
      { of: 'job', from: null, to: 'QUEUED', rate: 8 },
    ])
  })

  it('of another version may say less', () => {
    const { rates, waitMs } = figuresOf(
      heard(20, (s) => [shortWord(s)]),
      '15m',
    )
    expect(rates.submitted.every((rate) => rate === 1)).toBe(true)
    expect(rates.lost.every((rate) => rate === 0)).toBe(true)
    expect(waitMs.mean.every((ms) => ms === null)).toBe(true)
  })
})

describe('times', () => {
  it('are the mean, and the bound of most, of what ended in a step', () => {
    const history = new FigureHistory()
    const waits: number[] = []
    for (let s = 0; s <= 12; s += 2) {
      const at = START + 1_000 * s
      history.add({ at, said: [word('own', at, { waits })], queues: [] })
      if (s < 6) waits.push(...Array.from({ length: 19 }, () => 4), 104)
    }
    const { waitMs, runMs } = figuresOf(history, '15m')
    expect(waitMs).toEqual({ mean: [9, null], most: [7, null] })
    expect(runMs).toEqual({ mean: [null, null], most: [null, null] })
  })
})

describe('a hole', () => {
  it('is where no sample could be taken, or the process stood still', () => {
    const history = new FigureHistory()
    for (let s = 0; s <= 180; s += 2) {
      const at = START + 1_000 * s
      if (s > 60 && s <= 90) history.missed()
      // A hundred a second, but for what it stood still.
      else if (s <= 120 || s > 156) {
        history.add({
          at,
          said: [word('own', at, { submitted: 100 * s })],
          queues: [{ queue: 'q', waiting: 1, oldestMs: 0 }],
        })
      }
    }
    const { rates, times, queues } = figuresOf(history, '15m')
    const known = times.map(
      (time) =>
        ((time - START) / 1_000 <= 60 || (time - START) / 1_000 > 92) &&
        !((time - START) / 1_000 > 120 && (time - START) / 1_000 < 160),
    )
    expect(rates.submitted.map((rate) => rate !== null)).toEqual(known)
    expect(rates.submitted.every((rate) => rate === null || Math.abs(rate - 100) < 1e-6)).toBe(true)
    expect(queues[0]?.waiting.filter((one) => one === null).length).toBeGreaterThan(5)
    // A minute that is known in part has the rate of that part.
    const minutes = figuresOf(history, '1h').rates.submitted
    expect(minutes.map((rate) => rate?.toFixed(6))).toEqual([
      '100.000000',
      '100.000000',
      '100.000000',
    ])
  })
})

describe('queues', () => {
  it('keep the most that waited, also where minutes are folded', () => {
    const history = new FigureHistory()
    for (let s = 0; s <= 40 * 60; s += 2) {
      const at = START + 1_000 * s
      history.add({ at, said: [], queues: [load('q', s === 602 ? 500 : 3)] })
    }
    const { queues, queuesLeftOut, times } = figuresOf(history, '1h')
    expect(queuesLeftOut).toBe(0)
    const at = times.indexOf(START + 11 * MINUTE)
    const expected = times.map((_, i) => (i === at ? 500 : 3))
    expect(queues).toEqual([
      { queue: 'q', waiting: expected, oldestMs: expected.map((one) => 10 * one) },
    ])
  })

  it('are those in which most waits, and of the others it is said how many there are', () => {
    const history = new FigureHistory()
    for (let s = 0; s <= 20; s += 2) {
      const queues = Array.from({ length: 100 }, (_, i) => load(`q${i}`, s < 10 ? i : 100 - i))
      history.add({ at: START + 1_000 * s, said: [], queues })
    }
    const { queues, queuesLeftOut } = figuresOf(history, '15m')
    expect(queues.map(({ queue }) => queue)).toEqual(Array.from({ length: 20 }, (_, i) => `q${i}`))
    expect(queuesLeftOut).toBe(80)
    // They are kept since they came before others.
    expect(queues[0]?.waiting).toEqual([null, 100, 100, 100])
  })

  it('lose no history to a new one, but for the one that it takes the place of', () => {
    const history = new FigureHistory()
    for (let s = 0; s <= 20; s += 2) {
      const old = Array.from({ length: 40 }, (_, i) => load(`q${i}`, 7))
      const queues = s < 10 ? old : [...old, load('new', 8)]
      history.add({ at: START + 1_000 * s, said: [], queues })
    }
    const { queues } = figuresOf(history, '15m')
    expect(queues.map(({ queue, waiting }) => [queue, waiting[0]])).toEqual([
      ['new', null],
      ...Array.from({ length: 19 }, (_, i) => [`q${i}`, 7]),
    ])
  })

  it('that are gone have nothing in them', () => {
    const history = new FigureHistory()
    for (let s = 0; s <= 12; s += 2) {
      history.add({ at: START + 1_000 * s, said: [], queues: s < 6 ? [load('q', 2)] : [] })
    }
    expect(figuresOf(history, '15m').queues[0]?.waiting).toEqual([2, 0])
  })

  it('that are gone, and have a line, are not counted as others', () => {
    const history = new FigureHistory()
    for (let s = 0; s <= 12; s += 2) {
      const now = Array.from({ length: 25 }, (_, i) => load(`q${i}`, 0))
      history.add({ at: START + 1_000 * s, said: [], queues: s < 6 ? [load('gone', 2)] : now })
    }
    const { queues, queuesLeftOut } = figuresOf(history, '15m')
    expect(queues.map(({ queue }) => queue)).toContain('gone')
    expect([queues.length, queuesLeftOut]).toEqual([20, 6])
  })
})

it('an answer is small: 150 values a line at the most, after more than a day', () => {
  const history = new FigureHistory()
  for (let s = 0; s <= 26 * 3_600; s += 30) {
    const at = START + 1_000 * s
    history.add({ at, said: [word('own', at, { submitted: 7 * s })], queues: [] })
  }
  const expected: Record<FigureRange, number> = { '15m': 150, '1h': 60, '6h': 120, '24h': 144 }
  for (const range of FIGURE_RANGES) {
    const { times, rates } = figuresOf(history, range)
    expect([range, times.length]).toEqual([range, expected[range]])
    expect(rates.submitted.every((rate) => Math.abs((rate as number) - 7) < 1e-6)).toBe(true)
    expect(times.at(-1)).toBe(history.lastAt)
  }
})
