/**
 * Whether a job, as submitted, makes sense: its fields, its sizes and the shape of its stages.
 *
 * Everything is refused here, at submit, with the name of the stage and the fix, so that no
 * job can be accepted that could never run.
 */
import type { Rejection } from './answers.ts'
import { reject } from './answers.ts'
import { LIMITS } from './limits.ts'
import type { EffectPromise, JobSpec, StageSpec } from './model.ts'
import type { Kind } from './wellformed.ts'
import {
  between,
  count,
  fieldsOf,
  flag,
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

const retryPolicy = record({
  max: between(0, LIMITS.retries),
  backoff: oneOf('fixed', 'exponential', 'list'),
  delayMs: between(0, LIMITS.retryDelayMs),
  capMs: between(0, LIMITS.retryDelayMs),
  delaysMs: listOf(between(0, LIMITS.retryDelayMs), LIMITS.retryDelays),
  jitter: share,
})

const taskPolicy = record({
  queue: name,
  leaseMs: between(1, LIMITS.leaseMs),
  timeoutMs: orNull(between(1, LIMITS.timeoutMs)),
  retry: retryPolicy,
  quarantine: oneOf('always', 'never'),
  limits: listOf(
    record({
      key: name,
      concurrency: orNull(between(1, LIMITS.concurrency)),
      rate: orNull(rate),
    }),
    LIMITS.limitsPerTask,
  ),
})

const stageSpec = record({
  name: text(LIMITS.nameChars),
  after: listOf(text(LIMITS.nameChars), LIMITS.prerequisites),
  each: orNull(text(LIMITS.nameChars)),
  onFailure: flag,
  tolerate: between(0, LIMITS.tolerate),
  version: count,
  policy: taskPolicy,
})

const SPEC_FIELDS: { readonly [F in keyof JobSpec]: Kind } = {
  type: name,
  input: payload,
  priority: between(-LIMITS.priority, LIMITS.priority),
  delayMs: between(0, LIMITS.delayMs),
  dueAt: orNull(time),
  startWithinMs: orNull(between(1, LIMITS.delayMs)),
  key: orNull(text(LIMITS.keyChars)),
  unique: flag,
  held: flag,
  group: orNull(name),
  tags: listOf(name, LIMITS.tags),
  parent: orNull(record({ job: name, stage: count, segment: count, effect: count })),
  schedule: orNull(record({ id: name, tick: time })),
  rerunOf: orNull(name),
  policy: orNull(taskPolicy),
  stages: orNull(listOf(stageSpec, LIMITS.stages)),
}
const wrongField = fieldsOf(SPEC_FIELDS)

/** What is wrong with a spec's fields, or null. */
export function invalidFields(spec: JobSpec): Rejection | null {
  if (typeof spec !== 'object' || spec === null) {
    return reject('InvalidSpec', 'The job has no spec: give its type, input and policy.')
  }
  const wrong = wrongField(spec)
  if (wrong !== null) {
    const { field, mustBe } = wrong
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
  return null
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
    const wrong = danglingEach(stage, ancestors.get(stage.name) as Set<string>, byName)
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
): Rejection | null {
  if (stage.each === null) return null
  const { source, path } = eachPath(stage.each)
  if (source === 'input') return null
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

/** `split.pages` names the field `pages` of what the stage `split` put out. */
export function eachPath(each: string): {
  readonly source: string
  readonly path: readonly string[]
} {
  const [source = '', ...path] = each.split('.')
  return { source, path }
}

const promise = record({
  name,
  input: payload,
  idempotent: flag,
  reconcile: flag,
  retry: retryPolicy,
  child: () => null,
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
  if (effect.child.parent !== null || effect.child.schedule !== null || !effect.idempotent) {
    return reject(
      'InvalidSpec',
      `Child ${index} must be idempotent and name no parent or schedule: its origin is the commit.`,
      { effect: index },
    )
  }
  return null
}
