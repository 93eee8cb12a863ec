/**
 * Whether a job, as submitted, makes sense: its fields, its sizes and the shape of its stages.
 *
 * Everything is refused here, at submit, with the name of the stage and the fix, so that no
 * job can be accepted that could never run.
 */
import type { Rejection } from './answers.ts'
import { reject } from './answers.ts'
import { NONE } from './create.ts'
import { countElements, eachPath } from './each.ts'
import { LIMITS } from './limits.ts'
import type {
  Asked,
  CallerRef,
  EffectPromise,
  JobSpec,
  KeptStep,
  LimitSpec,
  ParentRef,
  Payload,
  RetryPolicy,
  StageSpec,
  TaskPolicy,
} from './model.ts'
import { taskName } from './model.ts'
import type { Fields, Kind } from './wellformed.ts'
import {
  between,
  count,
  fieldsOf,
  flag,
  fromOne,
  keyText,
  listOf,
  name,
  oneOf,
  orNull,
  payload,
  rate,
  record,
  text,
  time,
} from './wellformed.ts'

const share: Kind = (value) =>
  typeof value === 'number' && value >= 0 && value <= 1 ? null : 'a number from 0 to 1'

const backoff = oneOf('fixed', 'exponential', 'list')
const retries = between(0, LIMITS.retries)
const retryDelay = between(0, LIMITS.retryDelayMs)
const retryDelays = listOf(retryDelay, LIMITS.retryDelays)

const retryPolicy = record<RetryPolicy>({
  max: (retry) => retries(retry.max),
  backoff: (retry) => backoff(retry.backoff),
  delayMs: (retry) => retryDelay(retry.delayMs),
  capMs: (retry) => retryDelay(retry.capMs),
  delaysMs: (retry) => retryDelays(retry.delaysMs),
  jitter: (retry) => share(retry.jitter),
})

const concurrency = orNull(between(1, LIMITS.concurrency))
const rateOrNull = orNull(rate)
const limitList = listOf(
  record<LimitSpec>({
    key: (limit) => name(limit.key),
    concurrency: (limit) => concurrency(limit.concurrency),
    rate: (limit) => rateOrNull(limit.rate),
  }),
  LIMITS.limitsPerTask,
)

/** A key that is named twice would be charged twice for one lease. */
const distinctLimits: Kind = (value) => {
  const wrong = limitList(value)
  if (wrong !== null) return wrong
  const limits = value as readonly LimitSpec[]
  if (limits.length < 2) return null
  const keys = limits.map((limit) => limit.key)
  const twice = keys.find((key, i) => keys.indexOf(key) !== i)
  return twice === undefined ? null : `a list that names the key '${twice}' once`
}

const leaseTime = between(1, LIMITS.leaseMs)
const timeout = orNull(between(1, LIMITS.timeoutMs))
const quarantine = oneOf('always', 'never')

const taskPolicy = record<TaskPolicy>({
  queue: (policy) => name(policy.queue),
  leaseMs: (policy) => leaseTime(policy.leaseMs),
  timeoutMs: (policy) => timeout(policy.timeoutMs),
  retry: (policy) => retryPolicy(policy.retry),
  quarantine: (policy) => quarantine(policy.quarantine),
  limits: (policy) => distinctLimits(policy.limits),
})

/** Those that can never change, with everything in them; the value: whether it was checked and is right. */
const FROZEN_POLICIES = new WeakMap<object, boolean>()

/** From now on it can never change, so that it is checked once for all jobs that share it. Plain data only. */
export function freezePolicy<P extends TaskPolicy>(policy: P): P {
  if (FROZEN_POLICIES.has(policy)) return policy
  freezeAll(policy)
  FROZEN_POLICIES.set(policy, false)
  return policy
}

export function isFrozenPolicy(policy: object): boolean {
  return FROZEN_POLICIES.has(policy)
}

function freezeAll(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  Object.freeze(value)
  for (const inner of Object.values(value)) freezeAll(inner)
}

const sharedPolicy: Kind = (value) => {
  const isRight = FROZEN_POLICIES.get(value as object)
  if (isRight === true) return null
  const wrong = taskPolicy(value)
  if (wrong === null && isRight === false) FROZEN_POLICIES.set(value as object, true)
  return wrong
}

const stageName = keyText(LIMITS.nameChars)
const anyText = text(LIMITS.nameChars)
const anyTextOrNull = orNull(anyText)
const prerequisites = listOf(anyText, LIMITS.prerequisites)
const tolerance = between(0, LIMITS.tolerate)

const stageSpec = record<StageSpec>({
  name: (stage) => stageName(stage.name),
  after: (stage) => prerequisites(stage.after),
  each: (stage) => anyTextOrNull(stage.each),
  onFailure: (stage) => flag(stage.onFailure),
  tolerate: (stage) => tolerance(stage.tolerate),
  version: (stage) => count(stage.version),
  policy: (stage) => sharedPolicy(stage.policy),
})

const priority = between(-LIMITS.priority, LIMITS.priority)
const delay = between(0, LIMITS.delayMs)
const within = orNull(between(1, LIMITS.delayMs))
const retain = orNull(between(0, LIMITS.delayMs))
const timeOrNull = orNull(time)
const keyOrNull = orNull(keyText(LIMITS.keyChars))
const nameOrNull = orNull(name)
const reasonText = text(LIMITS.reasonChars)
const tagList = listOf(name, LIMITS.tags)
const policyOrNull = orNull(sharedPolicy)
const stagesOrNull = orNull(listOf(stageSpec, LIMITS.stages))
const parentOrNull = orNull(
  record<ParentRef>({
    job: (parent) => name(parent.job),
    stage: (parent) => count(parent.stage),
    segment: (parent) => count(parent.segment),
    effect: (parent) => count(parent.effect),
  }),
)
const scheduleOrNull = orNull(
  record<{ id: string; tick: number }>({
    id: (schedule) => name(schedule.id),
    tick: (schedule) => time(schedule.tick),
  }),
)

const askedOrNull = orNull(
  record<Asked>({
    by: (asked) => name(asked.by),
    reason: (asked) => reasonText(asked.reason),
  }),
)

const callDepth = between(1, LIMITS.callDepth)
const callerOrNull = orNull(
  record<CallerRef>({
    job: (caller) => name(caller.job),
    stage: (caller) => count(caller.stage),
    segment: (caller) => count(caller.segment),
    name: (caller) => name(caller.name),
    run: (caller) => name(caller.run),
    depth: (caller) => callDepth(caller.depth),
    withCaller: (caller) => flag(caller.withCaller),
  }),
)

const metadata: Kind = (value) =>
  value === null || (typeof value === 'string' && value.length <= LIMITS.metadataChars)
    ? payloadOrNull(value)
    : `JSON text of at most ${LIMITS.metadataChars} characters`
const payloadOrNull = orNull(payload)

const stepList = listOf(
  record<KeptStep>({ name: (step) => name(step.name), value: (step) => payload(step.value) }),
  LIMITS.steps,
)

/** The first value of a step stands, so a name that comes twice would have two. */
const distinctSteps: Kind = (value) => {
  const wrong = stepList(value)
  if (wrong !== null) return wrong
  const steps = value as readonly KeptStep[]
  const names = new Set(steps.map((step) => step.name))
  if (names.size < steps.length) return 'a list that names each step once'
  const chars = steps.reduce((sum, step) => sum + step.value.length, 0)
  return chars <= LIMITS.commitChars
    ? null
    : `a list of at most ${LIMITS.commitChars} characters in all`
}

const SPEC_KINDS: Fields<JobSpec> = {
  type: (spec) => name(spec.type),
  version: (spec) => fromOne(spec.version),
  input: (spec) => payload(spec.input),
  priority: (spec) => priority(spec.priority),
  delayMs: (spec) => delay(spec.delayMs),
  dueAt: (spec) => timeOrNull(spec.dueAt),
  startWithinMs: (spec) => within(spec.startWithinMs),
  deadlineMs: (spec) => within(spec.deadlineMs),
  deadlineAt: (spec) => timeOrNull(spec.deadlineAt),
  key: (spec) => keyOrNull(spec.key),
  unique: (spec) => flag(spec.unique),
  held: (spec) => flag(spec.held),
  group: (spec) => nameOrNull(spec.group),
  tags: (spec) => tagList(spec.tags),
  parent: (spec) => parentOrNull(spec.parent),
  schedule: (spec) => scheduleOrNull(spec.schedule),
  rerunOf: (spec) => nameOrNull(spec.rerunOf),
  asked: (spec) => askedOrNull(spec.asked),
  submittedBy: (spec) => nameOrNull(spec.submittedBy),
  metadata: (spec) => metadata(spec.metadata),
  caller: (spec) => callerOrNull(spec.caller),
  steps: (spec) => distinctSteps(spec.steps),
  retainMs: (spec) => retain(spec.retainMs),
  policy: (spec) => policyOrNull(spec.policy),
  stages: (spec) => stagesOrNull(spec.stages),
}
const SPEC_FIELDS = Object.keys(SPEC_KINDS).length
const wrongField = fieldsOf(SPEC_KINDS)

/** What a retry policy must be and is not, or null. */
export function invalidRetry(retry: RetryPolicy): string | null {
  return retryPolicy(retry)
}

/** What a policy must be and is not, or null. */
export function invalidPolicy(policy: TaskPolicy): string | null {
  return sharedPolicy(policy)
}

/** Every field that most jobs say nothing about says nothing: there is nothing to check in those. */
export function isUsual(spec: JobSpec): boolean {
  return (
    spec.priority === 0 &&
    spec.delayMs === 0 &&
    spec.dueAt === null &&
    spec.startWithinMs === null &&
    spec.deadlineMs === null &&
    spec.deadlineAt === null &&
    spec.key === null &&
    (spec.unique as unknown) === false &&
    (spec.held as unknown) === false &&
    spec.group === null &&
    spec.tags === NONE &&
    spec.parent === null &&
    spec.schedule === null &&
    spec.rerunOf === null &&
    spec.asked === null &&
    spec.submittedBy === null &&
    spec.metadata === null &&
    spec.caller === null &&
    spec.steps === NONE &&
    spec.retainMs === null &&
    spec.stages === null
  )
}

/** Without a list of them: each submit passes here. */
function fieldCount(spec: JobSpec): number {
  let fields = 0
  for (const _ in spec) fields += 1
  return fields
}

/** A spec without mistakes that says nothing but type, version, input and policy, and has no other fields. */
export function isUsualAndRight(spec: JobSpec): boolean {
  return (
    isUsual(spec) &&
    Object.getPrototypeOf(spec) === Object.prototype &&
    fieldCount(spec) === SPEC_FIELDS &&
    FROZEN_POLICIES.get(spec.policy as TaskPolicy) === true &&
    name(spec.type) === null &&
    fromOne(spec.version) === null &&
    payload(spec.input) === null
  )
}

/** What is wrong with a spec's fields, or null. */
export function invalidFields(spec: JobSpec): Rejection | null {
  if (typeof spec !== 'object' || spec === null) {
    return reject('InvalidSpec', 'The job has no spec: give its type, input and policy.')
  }
  if (isUsualAndRight(spec)) return null
  const wrong = wrongField(spec)
  if (wrong !== null) {
    const { field, mustBe } = wrong
    if (field === 'stages') return invalidStage(spec.stages)
    const message =
      mustBe === null
        ? `A job has no field ${field}: remove it.`
        : `The job's ${field} must be ${mustBe}.`
    return reject('InvalidSpec', message, { field })
  }
  if ((spec.policy === null) === (spec.stages === null)) {
    return reject(
      'InvalidSpec',
      'A job has either a policy (plain) or stages (pipeline): give one.',
    )
  }
  if (spec.steps.length > 0 && spec.policy === null) {
    return reject(
      'InvalidSpec',
      'Only a plain job begins with steps: run the pipeline as a whole.',
      {
        field: 'steps',
      },
    )
  }
  return null
}

/** Names the stage, if it can be named. */
function invalidStage(stages: unknown): Rejection {
  const list: unknown[] = Array.isArray(stages) ? stages : []
  const index = list.findIndex((stage) => stageSpec(stage) !== null)
  const given = (list[index] as { name?: unknown } | null | undefined)?.name
  const stage = typeof given === 'string' ? given.slice(0, LIMITS.nameChars) : `number ${index + 1}`
  return index < 0
    ? reject('InvalidSpec', `The job's stages must be a list of at most ${LIMITS.stages}.`, {
        field: 'stages',
      })
    : reject('InvalidSpec', `Stage '${stage}' must be ${stageSpec(list[index])}.`, {
        field: 'stages',
        stage,
      })
}

/** What is wrong with a pipeline's shape, or null. */
export function invalidShape(spec: JobSpec): Rejection | null {
  const { stages } = spec
  if (stages === null) return null
  if (stages.every((stage) => stage.onFailure)) {
    return shapeError('', 'The pipeline has no stage to run: add one that is not on-failure.')
  }
  const byName = new Map<string, StageSpec>()
  for (const stage of stages) {
    const wrong = invalidName(stage, byName)
    if (wrong !== null) return wrong
    byName.set(stage.name, stage)
  }
  for (const stage of stages) {
    const wrong = danglingAfter(stage, byName) ?? onFailureAfter(stage)
    if (wrong !== null) return wrong
  }
  const ancestors = new Map<string, Set<string>>()
  for (const stage of stages) {
    const cycle = collect(stage, byName, ancestors, [])
    if (cycle !== null) return cycle
  }
  for (const stage of stages) {
    const wrong = danglingEach(stage, ancestors.get(stage.name) as Set<string>, byName, spec.input)
    if (wrong !== null) return wrong
  }
  return null
}

function shapeError(stage: string, message: string): Rejection {
  return reject('InvalidShape', message, { stage })
}

function invalidName(stage: StageSpec, seen: ReadonlyMap<string, StageSpec>): Rejection | null {
  if (stage.name === '' || stage.name === 'input' || stage.name.includes('.')) {
    return shapeError(
      stage.name,
      `A stage cannot be named '${stage.name}': use a name that is not empty, not 'input' and has no dot.`,
    )
  }
  return seen.has(stage.name)
    ? shapeError(stage.name, `Two stages are named '${stage.name}': rename one.`)
    : null
}

function danglingAfter(stage: StageSpec, byName: ReadonlyMap<string, StageSpec>): Rejection | null {
  for (const before of stage.after) {
    const target = byName.get(before)
    if (target === undefined) {
      const names = [...byName.keys()].join(', ')
      return shapeError(
        stage.name,
        `Stage '${stage.name}' comes after '${before}', which is no stage; the stages are: ${names}.`,
      )
    }
    if (target.onFailure) {
      return shapeError(
        stage.name,
        `Stage '${stage.name}' comes after the on-failure stage '${before}', which may never open: remove it from 'after'.`,
      )
    }
  }
  return null
}

function onFailureAfter(stage: StageSpec): Rejection | null {
  return stage.onFailure && stage.after.length > 0
    ? shapeError(
        stage.name,
        `On-failure stage '${stage.name}' opens when the job is ending, not after other stages: remove its 'after'.`,
      )
    : null
}

/** Fills in the ancestors of a stage; says no when a stage is its own ancestor. */
function collect(
  stage: StageSpec,
  byName: ReadonlyMap<string, StageSpec>,
  ancestors: Map<string, Set<string>>,
  path: readonly string[],
): Rejection | null {
  if (path.includes(stage.name)) {
    const cycle = [...path.slice(path.indexOf(stage.name)), stage.name].join(' → ')
    return shapeError(stage.name, `The stages wait for each other: ${cycle}. Break the cycle.`)
  }
  if (ancestors.has(stage.name)) return null
  const own = new Set<string>()
  for (const before of stage.after) {
    const cycle = collect(byName.get(before) as StageSpec, byName, ancestors, [...path, stage.name])
    if (cycle !== null) return cycle
    own.add(before)
    for (const ancestor of ancestors.get(before) as Set<string>) own.add(ancestor)
  }
  ancestors.set(stage.name, own)
  return null
}

function danglingEach(
  stage: StageSpec,
  ancestors: ReadonlySet<string>,
  byName: ReadonlyMap<string, StageSpec>,
  input: Payload,
): Rejection | null {
  if (stage.each === null) return null
  const { source, path } = eachPath(stage.each)
  if (source === 'input') {
    const counted = countElements(stage.each, input)
    return typeof counted === 'number'
      ? null
      : shapeError(
          stage.name,
          `Stage '${stage.name}': ${counted}; give the job an input with such an array there.`,
        )
  }
  if (!ancestors.has(source)) {
    return shapeError(
      stage.name,
      `Stage '${stage.name}' has each: '${stage.each}', which is neither 'input' nor a stage before it: name one, or add it to 'after'.`,
    )
  }
  return byName.get(source)?.each !== null && path.length > 0
    ? shapeError(
        stage.name,
        `Stage '${stage.name}' has each: '${stage.each}', but '${source}' has one output per segment: use each: '${source}'.`,
      )
    : null
}

const promise = record<EffectPromise>({
  name: (effect) => name(effect.name),
  input: (effect) => payload(effect.input),
  idempotent: (effect) => flag(effect.idempotent),
  reconcile: (effect) => flag(effect.reconcile),
  retry: (effect) => retryPolicy(effect.retry),
  // A job of its own is checked as such.
  child: (effect) => (typeof effect.child === 'object' ? null : 'a job, or null'),
})

/** What is wrong with a promised effect or child, or null. */
export function invalidPromise(effect: EffectPromise, index: number): Rejection | null {
  const wrong = promise(effect)
  if (wrong !== null) {
    return reject('InvalidSpec', `Effect ${index} must be ${wrong}.`, { effect: index })
  }
  if (effect.child === null) return null
  const bad = invalidFields(effect.child) ?? invalidShape(effect.child)
  if (bad !== null) {
    return reject(bad.code, `Child ${index}: ${bad.message}`, { ...bad.details, effect: index })
  }
  const { parent, schedule, caller } = effect.child
  if (parent !== null || schedule !== null || caller !== null || !effect.idempotent) {
    return reject(
      'InvalidSpec',
      `Child ${index} must be idempotent and name no parent, schedule or caller: its origin is the commit.`,
      { effect: index },
    )
  }
  return null
}

/** What is wrong with a callee, or null. `from`: the wait that calls it. */
export function invalidCallee(
  callee: JobSpec,
  from: Pick<CallerRef, 'job' | 'stage' | 'segment' | 'name' | 'depth'>,
): Rejection | null {
  const wait = { name: from.name }
  if (from.depth > LIMITS.callDepth) {
    return reject(
      'LimitExceeded',
      `Wait '${from.name}' calls a job below ${LIMITS.callDepth} callers, which is the most: call it from further up.`,
      { limit: 'callDepth', ...wait },
    )
  }
  const bad = invalidFields(callee) ?? invalidShape(callee)
  if (bad !== null) {
    const message = `The callee of wait '${from.name}': ${bad.message}`
    return reject(bad.code, message, { ...bad.details, ...wait })
  }
  const { caller, key, parent, schedule } = callee
  if (key !== null || parent !== null || schedule !== null) {
    return reject(
      'InvalidSpec',
      `The callee of wait '${from.name}' must have no key, parent or schedule: its origin is the wait.`,
      wait,
    )
  }
  const { job, stage, segment, name: called, depth } = caller ?? { job: null }
  const isOurs =
    job === from.job &&
    stage === from.stage &&
    segment === from.segment &&
    called === from.name &&
    depth === from.depth
  return isOurs
    ? null
    : reject(
        'InvalidSpec',
        `The callee of wait '${from.name}' must name as its caller task ${taskName(from.job, from.stage, from.segment)}, wait '${from.name}' and depth ${from.depth}.`,
        wait,
      )
}
