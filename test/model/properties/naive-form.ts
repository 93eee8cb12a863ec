/**
 * Whether a command is well formed, in the naive model: what a field must be follows from its
 * name alone, wherever it appears.
 */
import type { CommandType, JobSpec, StageSpec } from '../../../src/kernel/index.ts'

type Test = (value: unknown) => boolean

const isName: Test = (value) =>
  typeof value === 'string' &&
  value.length >= 1 &&
  value.length <= 256 &&
  Array.from(value).every((char) => char !== '\0' && !/^[\uD800-\uDFFF]$/.test(char))
const isText: Test = (value) => typeof value === 'string' && value.length <= 4_096
const isShortText: Test = (value) => typeof value === 'string' && value.length <= 256
const isPayload: Test = (value) =>
  typeof value === 'string' && value.length >= 1 && value.length <= 1_048_576
const isFlag: Test = (value) => value === true || value === false
const isWhole: Test = (value) => Number.isSafeInteger(value) && Number(value) >= 0
const upTo =
  (least: number, most: number): Test =>
  (value) =>
    Number.isInteger(value) && Number(value) >= least && Number(value) <= most
const orNull =
  (test: Test): Test =>
  (value) =>
    value === null || test(value)
const among =
  (...values: readonly unknown[]): Test =>
  (value) =>
    values.includes(value)
const listOf =
  (test: Test, most: number): Test =>
  (value) =>
    Array.isArray(value) && value.length <= most && value.every(test)
const object = (tests: Readonly<Record<string, Test>>): Test => {
  const entries = Object.entries(tests)
  return (value) =>
    typeof value === 'object' &&
    value !== null &&
    Object.keys(value).length === entries.length &&
    entries.every(([field, test]) => {
      return Object.hasOwn(value, field) && test((value as Record<string, unknown>)[field])
    })
}

const isRate = object({ count: upTo(1, 1_000_000), perMs: upTo(1, 86_400_000) })
const isError = object({
  type: among('RETRYABLE', 'TERMINAL'),
  code: isShortText,
  message: isText,
  stack: orNull(isText),
})

const isWait = object({
  name: isName,
  message: orNull(isName),
  schema: orNull(isPayload),
  ask: orNull(isPayload),
  delayMs: orNull(upTo(0, 10 * 365 * 86_400_000)),
  dueAt: orNull(upTo(0, 8_640_000_000_000_000)),
  callee: (value) => typeof value === 'object',
})

const FIELDS: Readonly<Record<string, Test>> = {
  job: isName,
  stage: isWhole,
  segment: isWhole,
  worker: isName,
  request: isWhole,
  started: isFlag,
  lease: isWhole,
  extension: (value) => isWhole(value) && value !== 0,
  name: isName,
  value: isPayload,
  error: isError,
  effect: isWhole,
  effects: (value) => Array.isArray(value) && value.length <= 256,
  start: isWhole,
  outcome: among('happened', 'again'),
  attempt: isWhole,
  input: orNull(isPayload),
  to: among('COMPLETED', 'FAILED', 'WAITING'),
  endedBefore: upTo(0, 8_640_000_000_000_000),
  queue: isName,
  concurrency: orNull(upTo(0, 1_000_000)),
  ageingMs: orNull(upTo(1, 2_592_000_000)),
  rate: orNull(isRate),
  schedule: isName,
  definition: isText,
  seen: orNull(isWhole),
  tick: upTo(0, 8_640_000_000_000_000),
  skipped: isFlag,
  by: isName,
  reason: isText,
  definitionVersion: isWhole,
  id: isName,
  message: orNull(isName),
  checked: orNull(isPayload),
  needs: among('any', 'all'),
  wait: isWait,
  waits: listOf(isWait, 1_024),
  unfit: listOf(isName, 256),
  dueAt: orNull(upTo(0, 8_640_000_000_000_000)),
  priority: orNull(upTo(-1_000, 1_000)),
  toQueue: orNull(isName),
  replacement: isName,
  delayMs: upTo(0, 10 * 365 * 86_400_000),
  offset: isWhole,
  values: (value) => listOf(isPayload, 1_024)(value) && (value as unknown[]).length > 0,
}

const TASK = 'job stage segment'
const LEASE = `${TASK} lease worker`

const COMMANDS: Readonly<Record<CommandType, string>> = {
  SubmitJob: 'job',
  ReleaseJob: 'job by reason',
  ReplaceJob: 'job replacement input definitionVersion delayMs dueAt by reason',
  OpenStage: 'job stage',
  GrantLease: `${TASK} worker request started`,
  StartExecution: LEASE,
  ExtendLease: `${LEASE} extension`,
  ReleaseLease: LEASE,
  RecordStep: `${LEASE} name value definitionVersion`,
  AppendStream: `${LEASE} name offset values`,
  EndWait: `${LEASE} wait message unfit definitionVersion`,
  SuspendExecution: `${LEASE} needs waits unfit definitionVersion`,
  SendMessage: `${TASK} id name value checked by reason`,
  ContinueExecution: `${LEASE} input definitionVersion`,
  AnswerCall: `${TASK} name`,
  CommitExecution: `${LEASE} output effects`,
  FailTask: `${LEASE} error`,
  StartEffect: `${LEASE} effect`,
  FinishEffect: `${LEASE} effect`,
  FailEffect: `${LEASE} effect error`,
  ResolveEffect: `${TASK} effect start outcome by reason`,
  ExpireLease: `${TASK} lease`,
  RevokeLease: `${TASK} lease by reason`,
  CancelJob: 'job by reason',
  StopTask: TASK,
  RetryTask: `${TASK} attempt input by reason`,
  ForceTask: `${TASK} attempt to output by reason`,
  RescheduleTask: `${TASK} attempt dueAt priority toQueue by reason`,
  EraseJob: 'job by reason',
  ForgetJob: 'job endedBefore',
  ConfigureQueue: 'queue concurrency rate ageingMs by reason',
  PauseQueue: 'queue by reason',
  ResumeQueue: 'queue by reason',
  SetSchedule: 'schedule definition seen by reason',
  FireSchedule: 'schedule tick skipped',
  RemoveSchedule: 'schedule by reason',
}

const FIELDS_OF = new Map(
  Object.entries(COMMANDS).map(([type, fields]) => [type, fields.split(' ')]),
)

export function isKnownCommand(type: unknown): boolean {
  return typeof type === 'string' && FIELDS_OF.has(type)
}

const OWN_DELAY = orNull(upTo(0, 2_592_000_000))

/** What may be left out, and what it is if it is not. */
const OPTIONAL: Readonly<Record<string, Readonly<Record<string, Test>>>> = {
  GrantLease: { session: (value) => value === '' || isName(value) },
  RevokeLease: { seen: orNull(isWhole), presence: isFlag, delayMs: OWN_DELAY },
  FailTask: { delayMs: OWN_DELAY, free: isFlag },
  FailEffect: { delayMs: OWN_DELAY },
  CancelJob: { deadline: isFlag, attempt: orNull(isWhole) },
}

export function isWellFormed(command: Readonly<Record<string, unknown>>): boolean {
  const type = command['type'] as CommandType
  for (const [field, test] of Object.entries(OPTIONAL[type] ?? {})) {
    if (command[field] !== undefined && !test(command[field])) return false
  }
  return (FIELDS_OF.get(type) as readonly string[]).every((field) => {
    const value = command[field]
    if (type === 'ReplaceJob' && field === 'input') return isPayload(value)
    if (type === 'ReplaceJob' && value === 0 && field === 'definitionVersion') return false
    // Only a forced end may go without an output.
    if (field === 'input' && type === 'ContinueExecution') return isPayload(value)
    if (field === 'output') return isPayload(value) || (type === 'ForceTask' && value === null)
    return (FIELDS[field] as Test)(value)
  })
}

const isRetry = object({
  max: upTo(0, 1_000_000),
  backoff: among('fixed', 'exponential', 'list'),
  delayMs: upTo(0, 30 * 86_400_000),
  capMs: upTo(0, 30 * 86_400_000),
  delaysMs: listOf(upTo(0, 30 * 86_400_000), 64),
  jitter: (value) => typeof value === 'number' && value >= 0 && value <= 1,
})
const isLimitList = listOf(
  object({ key: isName, concurrency: orNull(upTo(1, 1_000_000)), rate: orNull(isRate) }),
  8,
)
const hasDistinctKeys = (limits: readonly { readonly key: string }[]): boolean =>
  new Set(limits.map((limit) => limit.key)).size === limits.length
const isPolicy = object({
  queue: isName,
  leaseMs: upTo(1, 86_400_000),
  timeoutMs: orNull(upTo(1, 30 * 86_400_000)),
  retry: isRetry,
  quarantine: among('always', 'never'),
  limits: (value) => isLimitList(value) && hasDistinctKeys(value as { key: string }[]),
})
const isStage = object({
  name: isShortText,
  after: listOf(isShortText, 256),
  each: orNull(isShortText),
  onFailure: isFlag,
  tolerate: upTo(0, 200_000),
  version: isWhole,
  policy: isPolicy,
})
const isSpecFields = object({
  type: isName,
  version: upTo(1, 2 ** 53 - 1),
  input: isPayload,
  priority: upTo(-1_000, 1_000),
  delayMs: upTo(0, 10 * 365 * 86_400_000),
  dueAt: orNull(upTo(0, 8_640_000_000_000_000)),
  startWithinMs: orNull(upTo(1, 10 * 365 * 86_400_000)),
  deadlineMs: orNull(upTo(1, 10 * 365 * 86_400_000)),
  deadlineAt: orNull(upTo(0, 8_640_000_000_000_000)),
  submittedBy: orNull(isName),
  metadata: orNull((value) => isPayload(value) && isText(value)),
  caller: orNull(
    object({
      job: isName,
      stage: isWhole,
      segment: isWhole,
      name: isName,
      run: isName,
      depth: upTo(1, 32),
      withCaller: isFlag,
    }),
  ),
  steps: listOf(object({ name: isName, value: isPayload }), 1_024),
  key: orNull(isText),
  unique: isFlag,
  held: isFlag,
  group: orNull(isName),
  tags: listOf(isName, 32),
  parent: orNull(object({ job: isName, stage: isWhole, segment: isWhole, effect: isWhole })),
  schedule: orNull(object({ id: isName, tick: upTo(0, 8_640_000_000_000_000) })),
  rerunOf: orNull(isName),
  asked: orNull(object({ by: isName, reason: isText })),
  retainMs: orNull(upTo(0, 315_360_000_000)),
  policy: orNull(isPolicy),
  stages: orNull(listOf(isStage, 256)),
})

/** Every field is right by itself, and the job is either plain or a pipeline. */
export function hasValidFields(value: unknown): value is JobSpec {
  if (!isSpecFields(value)) return false
  const { policy, stages, steps } = value as JobSpec
  if (steps.length > 0 && policy === null) return false
  if (new Set(steps.map((step) => step.name)).size < steps.length) return false
  return (policy === null) !== (stages === null)
}

export function isValidSpec(value: unknown): boolean {
  return hasValidFields(value) && hasValidShape(value)
}

export function hasValidShape({ stages, input }: JobSpec): boolean {
  if (stages === null) return true
  const names = stages.map((stage) => stage.name)
  const main = stages.filter((stage) => !stage.onFailure)
  if (main.length === 0 || new Set(names).size !== names.length) return false
  if (names.some((name) => name === '' || name === 'input' || name.includes('.'))) return false
  if (stages.some((stage) => stage.onFailure && stage.after.length > 0)) return false
  const order: StageSpec[] = []
  // Take stage after stage whose prerequisites are all taken; a cycle leaves some over.
  for (let round = 0; round < main.length; round++) {
    for (const stage of main) {
      const ready = stage.after.every((name) => order.some((before) => before.name === name))
      if (ready && !order.includes(stage)) order.push(stage)
    }
  }
  return order.length === main.length && stages.every((stage) => isValidEach(stage, stages, input))
}

/** How long the list is that a path leads to in a JSON text; null when there is no list. */
export function listLength(text: string | null, path: readonly string[]): number | null {
  try {
    let value: unknown = text === null ? null : JSON.parse(text)
    for (const field of path) value = (value as Record<string, unknown>)[field]
    return Array.isArray(value) ? value.length : null
  } catch {
    return null
  }
}

function isValidEach(stage: StageSpec, stages: readonly StageSpec[], input: string): boolean {
  if (stage.each === null) return true
  const [source, ...path] = stage.each.split('.')
  // What the input lacks will not come later.
  if (source === 'input') return (listLength(input, path) ?? Infinity) <= 200_000
  const isBefore = (name: string, seen: StageSpec): boolean =>
    seen.after.some(
      (before) =>
        before === name ||
        isBefore(name, stages.find((other) => other.name === before) as StageSpec),
    )
  const target = stages.find((other) => other.name === source)
  if (target === undefined || !isBefore(target.name, stage)) return false
  return target.each === null || path.length === 0
}

const isPromiseFields = object({
  name: isName,
  input: isPayload,
  idempotent: isFlag,
  reconcile: isFlag,
  retry: isRetry,
  child: () => true,
})

export function isValidPromise(value: unknown): boolean {
  if (!isPromiseFields(value)) return false
  const { child, idempotent } = value as { child: unknown; idempotent: boolean }
  if (child === null) return true
  if (!isValidSpec(child)) return false
  const { parent, schedule, caller } = child as JobSpec
  return idempotent && parent === null && schedule === null && caller === null
}
