/**
 * The picture that `top` draws, line by line: never wider or higher than the terminal.
 */
import type { Styles } from '../styles.ts'
import { stateText } from '../styles.ts'
import { plainText, shortened } from '../table.ts'
import type { RateHistory, RateName, TopState } from './top-state.ts'

export interface FrameSize {
  readonly columns: number
  readonly rows: number
}

const BARS = '▁▂▃▄▅▆▇█'
/** How many seconds the number of a rate is taken over. */
const OVER_SECONDS = 5

/** A line, and how many columns it takes: colours take none. */
interface Cell {
  readonly text: string
  readonly width: number
}

function cell(text: string, style: (text: string) => string = (one) => one): Cell {
  return { text: style(text), width: text.length }
}

export function frameLines(
  styles: Styles,
  state: TopState,
  rates: RateHistory,
  size: FrameSize,
  trouble: string | null = null,
): string[] {
  const head = [
    ...headLines(styles, state, size),
    ratesLine(styles, rates, 'submitted', 'done', size),
    ratesLine(styles, rates, 'failed', 'lost', size),
  ]
  const people = peopleLines(styles, state, size, trouble)
  const room = Math.max(0, size.rows - head.length - people.length - 2)
  // Queues get what workers leave, and the other way round.
  const queueShare = Math.max(Math.ceil(room / 2), room - state.workers.length - 1)
  const queues = section(
    styles,
    shortened(QUEUE_HEAD, size.columns),
    queueLines(state, size),
    queueShare,
  )
  const workers = section(
    styles,
    shortened(WORKER_HEAD, size.columns),
    workerLines(state, size),
    room - queues.length,
  )
  return [...head, '', ...queues, '', ...workers, ...people].slice(0, size.rows)
}

function headLines(styles: Styles, { place, at, counts }: TopState, size: FrameSize): string[] {
  const time = at.toISOString().slice(11, 19)
  const end = `${time}  q quits`
  const begin = shortened(`pawl top  ${place}`, Math.max(1, size.columns - end.length - 1))
  const states = Object.entries(counts.states).filter(([, count]) => count > 0)
  const cells = [
    cell(`${grouped(counts.total)} jobs`, styles.bold),
    ...states.map(([state, count]) =>
      cell(`${state} ${grouped(count)}`, (text) => text.replace(state, stateText(styles, state))),
    ),
  ]
  return [
    `${styles.bold(begin)}${' '.repeat(size.columns - begin.length - end.length)}${styles.dim(end)}`,
    ...wrappedCells(cells, size.columns),
  ]
}

/** Cells beside each other, on as many lines as they need. */
function wrappedCells(cells: readonly Cell[], columns: number): string[] {
  const lines: Cell[] = []
  for (const one of cells) {
    const last = lines.at(-1)
    if (last === undefined || last.width + 2 + one.width > columns) lines.push(one)
    else {
      lines[lines.length - 1] = {
        text: `${last.text}  ${one.text}`,
        width: last.width + 2 + one.width,
      }
    }
  }
  return lines.map(({ text }) => text)
}

function grouped(count: number): string {
  return count.toLocaleString('en-US')
}

function ratesLine(
  styles: Styles,
  rates: RateHistory,
  first: RateName,
  second: RateName,
  { columns }: FrameSize,
): string {
  const width = Math.max(0, Math.floor((columns - 2) / 2))
  return [first, second].map((name) => rateText(styles, rates.of(name), name, width)).join('  ')
}

function rateText(
  styles: Styles,
  counts: readonly number[],
  name: RateName,
  width: number,
): string {
  const newest = counts.slice(-OVER_SECONDS)
  const sum = newest.reduce((all, one) => all + one, 0)
  const perSecond = newest.length === 0 ? 0 : sum / newest.length
  const head = shortened(`${name.padEnd(10)}${perSecond.toFixed(1).padStart(8)}/s `, width)
  const room = width - head.length
  const bars = room > 0 ? sparkline(counts.slice(-room)) : ''
  const isBad = (name === 'failed' || name === 'lost') && perSecond > 0
  const colour = isBad ? styles.red : styles.green
  return `${isBad ? styles.red(head) : head}${colour(bars)}${' '.repeat(Math.max(0, width - head.length - bars.length))}`
}

export function sparkline(counts: readonly number[]): string {
  const most = Math.max(1, ...counts)
  return counts
    .map((count) =>
      count === 0 ? ' ' : (BARS[Math.ceil((count / most) * BARS.length) - 1] as string),
    )
    .join('')
}

const QUEUE_HEAD = `${'QUEUE'.padEnd(26)}${right('queued', 9)}${right('running', 9)}${right('retrying', 10)}${right('quarantine', 12)}${right('at once', 9)}`
const WORKER_HEAD = `${'WORKER'.padEnd(34)}${right('busy', 9)}${right('holds', 8)}  serves`

function right(text: string, width: number): string {
  return text.padStart(width)
}

function left(text: string, width: number): string {
  return shortened(plainText(text), width - 1).padEnd(width)
}

function queueLines({ queues }: TopState, { columns }: FrameSize): string[] {
  return queues.map(({ name, pausedAt, states, segments, concurrency }) => {
    const figures = [
      right(grouped(states.QUEUED + segments.ready), 9),
      right(grouped(states.RUNNING + segments.running), 9),
      right(grouped(states.RETRYING), 10),
      right(grouped(states.QUARANTINED), 12),
      right(concurrency === null ? '-' : String(concurrency), 9),
    ]
    const called = pausedAt === null ? left(name, 26) : left(`${name} (paused)`, 26)
    return shortened(`${called}${figures.join('')}`, columns)
  })
}

function workerLines({ workers }: TopState, { columns }: FrameSize): string[] {
  return workers.map(({ id, used, free, held, serves, isDraining }) => {
    const types = [...new Set(serves.map(({ type }) => type))].join(', ')
    const busy = isDraining ? 'draining' : `${used}/${used + free}`
    const line = `${left(id, 34)}${right(busy, 9)}${right(String(held), 8)}  ${plainText(types)}`
    return shortened(line, columns)
  })
}

/** A head and as many lines as there is room for; the last one says how many are not shown. */
function section(styles: Styles, head: string, lines: readonly string[], room: number): string[] {
  if (room < 2) return []
  const shown =
    lines.length <= room - 1
      ? lines
      : [...lines.slice(0, room - 2), `… ${lines.length - room + 2} more`]
  return [styles.dim(head), ...(shown.length === 0 ? ['none'] : shown)]
}

const MOST_LINES = 7

/** Null: nothing needs a person. */
function peopleLines(
  styles: Styles,
  state: TopState,
  { columns }: FrameSize,
  trouble: string | null,
): string[] {
  const { questions, health, counts, held } = state
  const quarantined = state.quarantined.filter((one) => one.held.length === 0)
  const all = [
    ...(trouble === null ? [] : [trouble]),
    ...held.map(({ id, type, held: effects }) => {
      const names = new Set(effects.map(({ name }) => name))
      return `happened, or not: ${[...names].join(', ')} of ${type}  ${id}`
    }),
    ...(health.outage === null ? [] : [`no store: ${health.outage.why}`]),
    ...health.broken.map(({ what }) => `broken: ${what}`),
    ...health.unserved.map(
      ({ count, type, queue }) => `${count} x ${type} in '${queue}': no worker takes them`,
    ),
    ...health.stalled.map((one) => `stalled: ${one.job}`),
    ...questions.map(({ job, name, ask }) => `asks ${name}: ${ask}  ${job}`),
    ...quarantined.map(({ id, type, message }) => `given up ${type}: ${message}  ${id}`),
  ]
  const listed = new Set([...quarantined, ...held].map(({ id }) => id))
  const more = counts.states.QUARANTINED - listed.size
  const lines = all.length <= MOST_LINES ? all : all.slice(0, MOST_LINES)
  const rest = all.length - lines.length + Math.max(0, more)
  const title = all.length === 0 ? 'Nothing needs a person.' : 'NEEDS A PERSON'
  return [
    '',
    all.length === 0 ? styles.green(title) : styles.red(title),
    ...lines.map((line) => shortened(plainText(line), columns)),
    ...(rest > 0 ? [styles.dim(`… ${grouped(rest)} more`)] : []),
  ]
}
