/**
 * What is answered of a history: lines that are ready to be drawn, of at most 150 values each.
 */
import type { JobState } from '../../kernel/index.ts'
import type { FigureMove, FigureRange, Figures } from '../../protocol/index.ts'
import { BOUNDS } from '../../store/index.ts'
import type { AmountOfStep, FigureHistory, StepTerms } from './figure-history.ts'
import type { Flow } from './written-totals.ts'
import { COUNTERS, RUN_AT, WAIT_AT } from './written-totals.ts'

const MINUTE_MS = 60_000
const STEPS: Readonly<Record<FigureRange, StepTerms>> = {
  '15m': { stepMs: 6_000, count: 150 },
  '1h': { stepMs: MINUTE_MS, count: 60 },
  '6h': { stepMs: 3 * MINUTE_MS, count: 120 },
  '24h': { stepMs: 10 * MINUTE_MS, count: 144 },
}
const MOST_QUEUES = 20

export function figuresOf(history: FigureHistory, range: FigureRange): Figures {
  const steps = history.steps(STEPS[range])
  const amounts = history.amounts(steps)
  const rate = (...names: readonly (typeof COUNTERS)[number][]) =>
    amounts.map((one) => rateOf(one, names))
  const queues = history.queues(steps).slice(0, MOST_QUEUES)
  return {
    range,
    since: history.knownFrom ?? 0,
    now: Math.max(0, history.lastAt),
    processes: history.processes,
    times: steps.ends,
    stepMs: steps.stepMs,
    rates: {
      submitted: rate('submitted'),
      granted: rate('granted'),
      committed: rate('committed'),
      failed: rate('failed', 'effectsFailed'),
      lost: rate('lost'),
      quarantined: rate('quarantined'),
    },
    waitMs: { mean: amounts.map(meanAt(WAIT_AT)), most: amounts.map(mostAt(WAIT_AT)) },
    runMs: { mean: amounts.map(meanAt(RUN_AT)), most: amounts.map(mostAt(RUN_AT)) },
    queues: queues.map(({ queue, waiting, oldestMs }) => ({ queue, waiting, oldestMs })),
    queuesLeftOut: history.queueCount - queues.filter(({ isThere }) => isThere).length,
    flow: { seconds: history.flow.seconds, moves: movesOf(history.flow) },
  }
}

/** No chart shows more of it, and an answer is long enough. */
function short(value: number): number {
  return Number(value.toPrecision(5))
}

function rateOf(
  { knownMs, numbers }: AmountOfStep,
  names: readonly (typeof COUNTERS)[number][],
): number | null {
  if (knownMs === 0) return null
  const count = names.reduce((sum, name) => sum + (numbers[COUNTERS.indexOf(name)] as number), 0)
  return short(count / (knownMs / 1_000))
}

/** Amounts are shares of whole numbers: less than this is nothing. */
const LEAST = 1e-6

function meanAt(at: number): (amount: AmountOfStep) => number | null {
  return ({ numbers }) => {
    const [count, sum] = [numbers[at] as number, numbers[at + 1] as number]
    return count < LEAST ? null : short(sum / count)
  }
}

/** The bound that 95 % are at or below. The last bucket has none: what is in it is longer than the one before. */
function mostAt(at: number): (amount: AmountOfStep) => number | null {
  return ({ numbers }) => {
    const count = numbers[at] as number
    if (count < LEAST) return null
    let seen = 0
    const bucket = BOUNDS.findIndex(
      (_, i) => (seen += numbers[at + 2 + i] as number) >= 0.95 * count - LEAST,
    )
    return BOUNDS[Math.min(bucket === -1 ? Infinity : bucket, BOUNDS.length - 2)] as number
  }
}

function movesOf({ rates }: Flow): readonly FigureMove[] {
  return [...rates].flatMap(([name, rate]) => {
    const [of, from, to] = name.split(' ')
    if ((of !== 'job' && of !== 'segment') || to === undefined) return []
    return [
      { of, from: from === '-' ? null : (from as JobState), to: to as JobState, rate: short(rate) },
    ]
  })
}
