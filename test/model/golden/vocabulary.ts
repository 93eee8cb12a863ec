/**
 * What can be said in a trace: stages, effects and children that are defined by name, and one
 * verb for each command of the kernel.
 *
 * A task is written `job`, `job/stage` or `job/stage/segment`. What a line leaves out gets a
 * default: the newest lease and attempt, worker `w1`, the worker's next request number.
 */
import type {
  CallerRef,
  CommandType,
  EffectPromise,
  Failure,
  JobSpec,
  LimitSpec,
  Rate,
  RetryPolicy,
  StageSpec,
  TaskPolicy,
  WaitSpec,
} from '../../../src/kernel/index.ts'
import { calleeId, childId, findTask, findWait, tickId } from '../../../src/kernel/index.ts'
import type { Authority, Brief } from '../../support/authority.ts'
import {
  caller,
  child,
  failure,
  pipeline,
  plain,
  policy,
  promise,
  retry,
  stage,
} from '../../support/specs.ts'
import type { Line } from './line.ts'

type Address = { readonly job: string; readonly stage: number; readonly segment: number }
type Verb = (line: Line, scene: Scene) => Brief<CommandType>

/** What a trace has defined so far, and the authority that it talks to. */
export class Scene {
  readonly authority: Authority
  readonly #stages = new Map<string, StageSpec>()
  readonly #promises = new Map<string, EffectPromise>()
  readonly #requests = new Map<string, number>()

  constructor(authority: Authority) {
    this.authority = authority
  }

  /** True if the line only defines something. */
  define(line: Line): boolean {
    if (line.verb !== 'stage' && line.verb !== 'effect' && line.verb !== 'child') return false
    const name = line.word('name')
    if (line.verb === 'stage') this.#stages.set(name, stageFrom(line, name))
    else this.#promises.set(name, promiseFrom(line, name, this))
    line.end()
    return true
  }

  stages(names: readonly string[], line: Line): StageSpec[] {
    return names.map((name) => this.#stages.get(name) ?? line.fail(`uses no known stage: ${name}`))
  }

  promises(names: readonly string[], line: Line): EffectPromise[] {
    return names.map(
      (name) => this.#promises.get(name) ?? line.fail(`uses no known effect: ${name}`),
    )
  }

  nextRequest(worker: string): number {
    const next = (this.#requests.get(worker) ?? 0) + 1
    this.#requests.set(worker, next)
    return next
  }

  /** Ids may hold slashes, so the longest known job id wins. */
  address(text: string): Address {
    const parts = text.split('/')
    for (const extra of [0, 1, 2]) {
      const cut = parts.length - extra
      const job = this.authority.world.jobs.get(parts.slice(0, cut).join('/'))
      if (job === undefined) continue
      const [name = '0', segment = '0'] = parts.slice(cut)
      const index = job.spec.stages?.findIndex((one) => one.name === name) ?? -1
      return { job: job.id, stage: index >= 0 ? index : Number(name), segment: Number(segment) }
    }
    return { job: text, stage: 0, segment: 0 }
  }

  /** An effect by the name that its commit gave it, or by its number. */
  effect(at: Address, name: string): number {
    const task = findTask(this.authority.world, at.job, at.stage, at.segment)
    const index = task?.commit?.effects.findIndex((one) => one.promise.name === name) ?? -1
    return index >= 0 ? index : Number(name)
  }

  newestStart(at: Address, effect: number): number {
    const task = findTask(this.authority.world, at.job, at.stage, at.segment)
    return task?.commit?.effects[effect]?.starts.at(-1) ?? 0
  }

  attempt(at: Address): number {
    return findTask(this.authority.world, at.job, at.stage, at.segment)?.attempt ?? 0
  }

  /** What a `child` line defines, called by a wait of the task. */
  callee(at: Address, name: string, defined: string, line: Line): JobSpec {
    const [called] = this.promises([defined], line)
    const spec = called?.child ?? line.fail(`calls no job: ${defined}`)
    const { job, stage: index, segment } = at
    const ref = { job, stage: index, segment, name, run: line.option('run', '1') }
    return { ...spec, caller: caller({ ...ref, withCaller: line.flag('with-caller') }) }
  }

  /** As the wait of the task has it. */
  calledJob(at: Address, name: string, line: Line): JobSpec {
    const task = findTask(this.authority.world, at.job, at.stage, at.segment)
    const wait = task === undefined ? undefined : findWait(task, name)
    return wait?.callee ?? line.fail(`names a wait that calls no job: ${name}`)
  }

  promisedChild(at: Address, effect: number, line: Line): JobSpec {
    const task = findTask(this.authority.world, at.job, at.stage, at.segment)
    const spec = task?.commit?.effects[effect]?.promise.child
    return spec ?? line.fail('names an effect that promised no child')
  }
}

function stageFrom(line: Line, name: string): StageSpec {
  return stage(line.option('name', name), {
    after: line.list('after') ?? [],
    each: line.option('each', null),
    onFailure: line.flag('on-failure'),
    tolerate: line.number('tolerate', 0),
    policy: policyFrom(line),
  })
}

function promiseFrom(line: Line, name: string, scene: Scene): EffectPromise {
  if (line.verb === 'child') return { ...child(specFrom(line, scene)), name }
  return promise({
    name,
    input: line.payload('input', '{}'),
    idempotent: line.flag('idempotent'),
    reconcile: line.flag('reconcile'),
    retry: retryFrom(line),
  })
}

function specFrom(line: Line, scene: Scene): JobSpec {
  const names = line.list('stages')
  const changes: Partial<JobSpec> = {
    type: line.option('type', 'test'),
    input: line.payload('input', '{}'),
    priority: line.number('priority', 0),
    delayMs: line.duration('delay', 0),
    dueAt: line.duration('due', null),
    startWithinMs: line.duration('start-within', null),
    deadlineMs: line.duration('deadline', null),
    submittedBy: line.option('submitted-by', null),
    steps: (line.list('steps') ?? []).map((name) => ({ name, value: '"kept"' })),
    key: line.option('key', null),
    unique: line.flag('unique'),
    held: line.flag('held'),
  }
  return names === null
    ? plain(changes, policyFrom(line))
    : pipeline(scene.stages(names, line), changes)
}

function policyFrom(line: Line): TaskPolicy {
  return policy({
    queue: line.option('queue', 'default'),
    leaseMs: line.duration('lease', 30_000),
    timeoutMs: line.duration('timeout', null),
    retry: retryFrom(line),
    quarantine: line.option('quarantine', 'always') as TaskPolicy['quarantine'],
    limits: (line.list('limits') ?? []).map((text) => limitFrom(line, text)),
  })
}

function retryFrom(line: Line): RetryPolicy {
  return retry({
    max: line.number('retries', 3),
    backoff: line.option('backoff', 'fixed') as RetryPolicy['backoff'],
    delayMs: line.duration('retry-delay', 1_000),
    capMs: line.duration('retry-cap', 3_600_000),
    delaysMs: (line.list('retry-delays') ?? []).map((text) => line.milliseconds(text)),
    jitter: line.number('jitter', 0),
  })
}

/** `gpu:2` at once, or `mail:5/10s` per period. */
function limitFrom(line: Line, text: string): LimitSpec {
  const [key = '', bound = ''] = text.split(':')
  return bound.includes('/')
    ? { key, concurrency: null, rate: rateFrom(line, bound) }
    : { key, concurrency: Number(bound), rate: null }
}

function rateFrom(line: Line, text: string): Rate {
  const [count = '', period = ''] = text.split('/')
  return { count: Number(count), perMs: line.milliseconds(period) }
}

/**
 * `nap:5s` sleeps, `answer:approval` waits for a message, `answer:approval:2h` has a time, too, and
 * `done:@thumbnail` calls what a `child` line defines.
 */
function waitFrom(line: Line, text: string, scene: Scene, at: Address): WaitSpec {
  const [name = '', ...parts] = text.split(':')
  const [first = '', second] = parts
  const isSleep = /^\d/.test(first)
  const isCall = first.startsWith('@')
  const delay = isSleep ? first : second
  return {
    name,
    message: isSleep || isCall ? null : first,
    schema: isSleep || isCall ? null : line.payload('schema', null),
    ask: null,
    delayMs: delay === undefined ? null : line.milliseconds(delay),
    dueAt: null,
    callee: isCall ? scene.callee(at, name, first.slice(1), line) : null,
  }
}

function errorFrom(line: Line): Failure {
  return failure({
    type: line.flag('terminal') ? 'TERMINAL' : 'RETRYABLE',
    message: line.option('error', 'it did not work'),
  })
}

function onRecord(line: Line): { by: string; reason: string } {
  return { by: line.option('by', 'ops'), reason: line.option('reason', 'because') }
}

function taskOf(line: Line, scene: Scene): Address {
  return scene.address(line.word('task'))
}

/** What every report carries; written out, so that a line can be sent twice and mean the same. */
function report(line: Line, scene: Scene): Address & { lease: number; worker: string } {
  const at = taskOf(line, scene)
  const lease = line.number('lease', scene.attempt(at))
  return { ...at, lease, worker: line.option('worker', 'w1') }
}

function effectReport(line: Line, scene: Scene): ReturnType<typeof report> & { effect: number } {
  const at = report(line, scene)
  return { ...at, effect: scene.effect(at, line.word('effect')) }
}

function submitTick(line: Line): Brief<'SubmitJob'> {
  const id = line.word('schedule')
  const tick = line.milliseconds(line.word('tick'))
  const spec = plain({ type: line.option('type', 'test'), schedule: { id, tick } })
  return { type: 'SubmitJob', job: line.option('id', tickId(id, tick)), spec }
}

function submitChild(line: Line, scene: Scene): Brief<'SubmitJob'> {
  const at = taskOf(line, scene)
  const effect = scene.effect(at, line.word('effect'))
  const parent = { ...at, effect }
  const spec = { ...scene.promisedChild(at, effect, line), parent }
  return { type: 'SubmitJob', job: childId(parent), spec }
}

function resolveEffect(line: Line, scene: Scene): Brief<'ResolveEffect'> {
  const at = taskOf(line, scene)
  const effect = scene.effect(at, line.word('effect'))
  const outcome = line.word('outcome') as 'happened' | 'again'
  const start = line.number('start', scene.newestStart(at, effect))
  return { type: 'ResolveEffect', ...at, effect, outcome, start, ...onRecord(line) }
}

function grant(line: Line, scene: Scene): Brief<'GrantLease'> {
  const at = taskOf(line, scene)
  const worker = line.option('worker', 'w1')
  const request = line.number('request', null) ?? scene.nextRequest(worker)
  const session = line.option('session', '')
  return { type: 'GrantLease', ...at, worker, request, started: line.flag('started'), session }
}

function force(line: Line, scene: Scene): Brief<'ForceTask'> {
  const at = taskOf(line, scene)
  const to = line.word('state') as 'COMPLETED' | 'FAILED' | 'WAITING'
  const attempt = line.number('attempt', scene.attempt(at))
  return {
    type: 'ForceTask',
    ...at,
    to,
    attempt,
    output: line.payload('output', null),
    ...onRecord(line),
  }
}

function configure(line: Line): Brief<'ConfigureQueue'> {
  const rate = line.option('rate', null)
  return {
    type: 'ConfigureQueue',
    queue: line.word('queue'),
    concurrency: line.number('concurrency', null),
    rate: rate === null ? null : rateFrom(line, rate),
    ageingMs: line.duration('ageing', null),
    ...onRecord(line),
  }
}

export const VERBS: Readonly<Record<string, Verb>> = {
  submit: (line, scene) => ({
    type: 'SubmitJob',
    job: line.word('job'),
    spec: specFrom(line, scene),
  }),
  'submit-child': submitChild,
  'submit-tick': submitTick,
  'release-job': (line) => ({ type: 'ReleaseJob', job: line.word('job'), ...onRecord(line) }),
  replace: (line) => ({
    type: 'ReplaceJob',
    job: line.word('job'),
    replacement: line.option('id', 'r1'),
    input: line.payload('input', '{}'),
    definitionVersion: line.number('version', 1),
    delayMs: line.duration('delay', 0),
    dueAt: line.duration('due', null),
    ...onRecord(line),
  }),
  open: (line, scene) => {
    const { job, stage: index } = taskOf(line, scene)
    return { type: 'OpenStage', job, stage: index }
  },
  grant,
  start: (line, scene) => ({ type: 'StartExecution', ...report(line, scene) }),
  extend: (line, scene) => ({
    type: 'ExtendLease',
    ...report(line, scene),
    extension: line.number('extension', 1),
  }),
  release: (line, scene) => ({ type: 'ReleaseLease', ...report(line, scene) }),
  step: (line, scene) => ({
    type: 'RecordStep',
    ...report(line, scene),
    name: line.word('step'),
    value: line.payload('value', 'null'),
    definitionVersion: line.number('version', 1),
  }),
  append: (line, scene) => ({
    type: 'AppendStream',
    ...report(line, scene),
    name: line.word('stream'),
    offset: line.number('offset', 0),
    values: line.list('values') ?? [],
  }),
  suspend: (line, scene) => {
    const at = report(line, scene)
    return {
      type: 'SuspendExecution',
      ...at,
      needs: line.flag('all') ? 'all' : 'any',
      waits: (line.list('waits') ?? []).map((text) => waitFrom(line, text, scene, at)),
      unfit: line.list('unfit') ?? [],
      definitionVersion: line.number('version', 1),
    }
  },
  'end-wait': (line, scene) => {
    const at = report(line, scene)
    return {
      type: 'EndWait',
      ...at,
      wait: waitFrom(line, line.word('wait'), scene, at),
      message: line.option('message', null),
      unfit: line.list('unfit') ?? [],
      definitionVersion: line.number('version', 1),
    }
  },
  continue: (line, scene) => ({
    type: 'ContinueExecution',
    ...report(line, scene),
    input: line.payload('input', '{}'),
    definitionVersion: line.number('version', 1),
  }),
  'submit-callee': (line, scene) => {
    const spec = scene.calledJob(taskOf(line, scene), line.word('wait'), line)
    return { type: 'SubmitJob', job: calleeId(spec.caller as CallerRef), spec }
  },
  'answer-call': (line, scene) => ({
    type: 'AnswerCall',
    ...taskOf(line, scene),
    name: line.word('wait'),
  }),
  send: (line, scene) => ({
    type: 'SendMessage',
    ...taskOf(line, scene),
    name: line.word('message'),
    id: line.option('id', 'm1'),
    value: line.payload('value', 'null'),
    checked: line.payload('checked', null),
    ...onRecord(line),
  }),
  commit: (line, scene) => ({
    type: 'CommitExecution',
    ...report(line, scene),
    output: line.payload('output', 'null'),
    effects: scene.promises(line.list('effects') ?? [], line),
  }),
  fail: (line, scene) => ({
    type: 'FailTask',
    ...report(line, scene),
    error: errorFrom(line),
    delayMs: line.duration('after', null),
    free: line.flag('free'),
  }),
  'start-effect': (line, scene) => ({ type: 'StartEffect', ...effectReport(line, scene) }),
  'finish-effect': (line, scene) => ({ type: 'FinishEffect', ...effectReport(line, scene) }),
  'fail-effect': (line, scene) => ({
    type: 'FailEffect',
    ...effectReport(line, scene),
    error: errorFrom(line),
    delayMs: line.duration('after', null),
  }),
  'resolve-effect': resolveEffect,
  expire: (line, scene) => {
    const { worker: _worker, ...at } = report(line, scene)
    return { type: 'ExpireLease', ...at }
  },
  revoke: (line, scene) => {
    const { worker: _worker, ...at } = report(line, scene)
    const seen = line.number('seen', null)
    const presence = line.flag('presence')
    const delayMs = line.duration('after', null)
    return { type: 'RevokeLease', ...at, seen, presence, delayMs, ...onRecord(line) }
  },
  cancel: (line) => ({
    type: 'CancelJob',
    job: line.word('job'),
    deadline: line.flag('deadline'),
    attempt: line.number('attempt', null),
    ...onRecord(line),
  }),
  stop: (line, scene) => ({ type: 'StopTask', ...taskOf(line, scene) }),
  retry: (line, scene) => {
    const at = taskOf(line, scene)
    const attempt = line.number('attempt', scene.attempt(at))
    const input = line.payload('input', null)
    return { type: 'RetryTask', ...at, attempt, input, ...onRecord(line) }
  },
  force,
  reschedule: (line, scene) => {
    const at = taskOf(line, scene)
    return {
      type: 'RescheduleTask',
      ...at,
      attempt: line.number('attempt', scene.attempt(at)),
      dueAt: line.duration('due', null),
      priority: line.number('priority', null),
      toQueue: line.option('queue', null),
      ...onRecord(line),
    }
  },
  erase: (line) => ({ type: 'EraseJob', job: line.word('job'), ...onRecord(line) }),
  forget: (line, scene) => ({
    type: 'ForgetJob',
    job: line.word('job'),
    endedBefore: line.duration('ended-before', scene.authority.now),
  }),
  configure,
  pause: (line) => ({ type: 'PauseQueue', queue: line.word('queue'), ...onRecord(line) }),
  resume: (line) => ({ type: 'ResumeQueue', queue: line.word('queue'), ...onRecord(line) }),
  'set-schedule': (line) => ({
    type: 'SetSchedule',
    schedule: line.word('schedule'),
    definition: line.word('definition'),
    seen: null,
    ...onRecord(line),
  }),
  fire: (line) => ({
    type: 'FireSchedule',
    schedule: line.word('schedule'),
    tick: line.milliseconds(line.word('tick')),
    skipped: line.flag('skipped'),
  }),
  'remove-schedule': (line) => ({
    type: 'RemoveSchedule',
    schedule: line.word('schedule'),
    ...onRecord(line),
  }),
}
