/**
 * What processes say of themselves, and handlers of their jobs. It comes as text, which may be older, newer or from a stranger:
 * of what cannot be read, nothing is known. What was read has the form that its readers rely on.
 */
import type { TaskAddress } from '../../kernel/index.ts'
import type { Totals, TotalsDistribution } from '../../store/index.ts'
import type { ServedChannel, StalledTask } from '../../worker/index.ts'
import type { ProcessState } from '../inspect/worker-info.ts'

/** What handlers said of a job. */
export interface HeardReport {
  /** JSON; null: they said none. */
  readonly progress: string | null
  readonly lines: readonly string[]
}

type HeardWorker = ProcessState['workers'][number]

/** Null: it cannot be read. */
export function processStateIn(text: string): ProcessState | null {
  const read = parsed(text)
  return isState(read) ? read : null
}

/** Null: it cannot be read. */
export function reportIn(text: string): HeardReport | null {
  const read = parsed(text)
  if (!isReport(read)) return null
  const { progress, lines } = read
  return progress === null || parsed(progress) !== undefined ? { progress, lines } : null
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

type Check = (value: unknown) => boolean
type FieldChecks<T> = { readonly [K in keyof Required<T>]: Check }

const LAST_TIME = 8_640_000_000_000_000

const isText: Check = (value) => typeof value === 'string'
const isFlag: Check = (value) => typeof value === 'boolean'
const isNumber: Check = (value) => Number.isFinite(value)
const isTime: Check = (value) => isNumber(value) && Math.abs(value as number) <= LAST_TIME

function orNull(check: Check): Check {
  return (value) => value === null || check(value)
}

/** Another version of Pawl may not say it. */
function ifSaid(check: Check): Check {
  return (value) => value === undefined || check(value)
}

function listOf(check: Check): Check {
  return (value) => Array.isArray(value) && value.every(check)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function has<T>(fields: FieldChecks<T>): (value: unknown) => value is T {
  const checks: readonly (readonly [string, Check])[] = Object.entries(fields)
  return (value): value is T =>
    isObject(value) && checks.every(([name, isGood]) => isGood(value[name]))
}

const TASK: FieldChecks<TaskAddress> = { job: isText, stage: isNumber, segment: isNumber }

const isChannel = has<ServedChannel>({
  queue: isText,
  type: isText,
  stage: orNull(isText),
  version: isNumber,
})

const isDrained = has<NonNullable<HeardWorker['drained']>>({
  at: isTime,
  by: isText,
  reason: isText,
})

const isWorker = has<HeardWorker>({
  id: isText,
  name: orNull(isText),
  serves: listOf(isChannel),
  used: isNumber,
  free: isNumber,
  isDraining: isFlag,
  drained: ifSaid(orNull(isDrained)),
  held: isNumber,
  holds: listOf(has(TASK)),
  startedAt: isTime,
})

const isStalled = has<StalledTask>({
  ...TASK,
  type: isText,
  worker: isText,
  attempt: isNumber,
  since: isTime,
  isRecovered: isFlag,
})

const isDistribution = has<TotalsDistribution>({
  count: isNumber,
  sum: isNumber,
  counts: listOf(isNumber),
})

const isTotals = has<Totals>({
  since: isTime,
  submitted: ifSaid(isNumber),
  granted: ifSaid(isNumber),
  committed: ifSaid(isNumber),
  failed: ifSaid(isNumber),
  effectsFailed: ifSaid(isNumber),
  lost: ifSaid(isNumber),
  quarantined: ifSaid(isNumber),
  moves: ifSaid((value) => isObject(value) && Object.values(value).every(isNumber)),
  waitMs: ifSaid(isDistribution),
  runMs: ifSaid(isDistribution),
})

const isState = has<ProcessState>({
  host: isText,
  pid: isNumber,
  version: isText,
  workers: listOf(isWorker),
  stalled: listOf(isStalled),
  totals: ifSaid(isTotals),
})

const isReport = has<HeardReport>({ progress: orNull(isText), lines: listOf(isText) })
