/**
 * What the charts, the queues and the arrows of the machine read of figures over time.
 */
import type { JobState } from '../../../kernel/index.ts'
import type { FigureRange, Figures } from '../../../protocol/index.ts'
import { FIGURE_RANGES } from '../../../protocol/index.ts'

/** Of an address, which may say anything. */
export function rangeIn(text: string | undefined): FigureRange {
  return FIGURE_RANGES.find((one) => one === text) ?? '15m'
}

/** Empty: there is no line of this queue. What is not known of it is left out. */
export function queueLine(
  figures: Figures | null,
  queue: string,
  of: 'waiting' | 'oldestMs',
): readonly number[] {
  const line = figures?.queues.find((one) => one.queue === queue)?.[of] ?? []
  return line.filter((one) => one !== null)
}

/** How many a second went from one state to another. `from`: null: they were submitted. */
export function flowRate(
  figures: Figures | null,
  of: 'job' | 'segment',
  from: JobState | null,
  to: JobState,
): number {
  const isIt = (one: Figures['flow']['moves'][number]): boolean =>
    one.of === of && one.from === from && one.to === to
  return figures?.flow.moves.find(isIt)?.rate ?? 0
}

export function rateText(rate: number): string {
  if (rate === 0) return '0'
  if (rate >= 10) return Math.round(rate).toLocaleString('en')
  return rate >= 0.1 ? rate.toFixed(1) : '< 0.1'
}
