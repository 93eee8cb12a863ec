/**
 * The smallest authority there is: a world, a log, a clock that the test turns, and the real
 * kernel. After every entry it checks every invariant that the entry could have broken.
 */
import type {
  Command,
  CommandOf,
  CommandType,
  Decision,
  Entry,
  JobState,
  Rules,
  Task,
  Violation,
  World,
} from '../kernel/index.ts'
import {
  copyJob,
  copyTask,
  countTallies,
  createWorld,
  decideIn,
  findTask,
  fold,
  jobState,
  noReads,
  RULES,
  scan,
  stepViolations,
  worldViolations,
} from '../kernel/index.ts'

/** A command as a test writes it: what is missing gets a default. */
export type Brief<T extends CommandType> = { type: T } & Partial<CommandOf<T>>

const DEFAULTS = {
  job: 'a',
  stage: 0,
  segment: 0,
  worker: 'w1',
  request: 1,
  started: false,
  extension: 1,
  effect: 0,
  effects: [],
  output: '"out"',
  by: 'ops',
  reason: 'because',
  input: null,
  queue: 'default',
  concurrency: null,
  rate: null,
  ageingMs: null,
  schedule: 's',
  seen: null,
  skipped: false,
  unfit: [],
  definitionVersion: 1,
  needs: 'any',
  message: null,
  checked: null,
  dueAt: null,
  priority: null,
  toQueue: null,
  replacement: 'r1',
  offset: 0,
}

export class BrokenInvariant extends Error {
  readonly violations: readonly Violation[]
  constructor(violations: readonly Violation[]) {
    super(violations.map((one) => `invariant ${one.invariant}: ${one.what}`).join('\n'))
    this.name = 'BrokenInvariant'
    this.violations = violations
  }
}

export class Authority {
  world: World = createWorld()
  readonly log: Entry[] = []
  /** What was sent, when, and what became of it: a store must say the same. */
  readonly sent: { readonly command: Command; readonly at: number; readonly decision: Decision }[] =
    []
  readonly #rules: Rules
  readonly #reads = noReads()
  now = 0

  /** Without a guard the damage is wanted: it is collected in `violations` instead of thrown. */
  readonly violations: Violation[] = []
  readonly #tolerant: boolean

  constructor(rules: Rules = RULES) {
    this.#rules = rules
    this.#tolerant = rules !== RULES
  }

  /** Decides, appends, applies and checks; the answer is the decision itself. */
  send<T extends CommandType>(brief: Brief<T>): Decision {
    const command = this.#complete(brief)
    const decision = decideIn(
      this.world,
      scan(this.world),
      command,
      this.#reads,
      this.now,
      this.#rules,
    )
    this.sent.push({ command, at: this.now, decision })
    if (decision.entry !== null) this.#append(decision.entry)
    return decision
  }

  /** As `send`, for commands that the test expects to be carried out. */
  must<T extends CommandType>(brief: Brief<T>): Decision {
    const decision = this.send(brief)
    if (decision.verdict !== 'committed') {
      throw new Error(`${brief.type} was ${decision.verdict}: ${decision.rejection?.message ?? ''}`)
    }
    return decision
  }

  advance(ms: number): this {
    this.now += ms
    return this
  }

  task(job = 'a', stage = 0, segment = 0): Task {
    const task = findTask(this.world, job, stage, segment)
    if (task === undefined) throw new Error(`There is no task ${job}/${stage}/${segment}`)
    return task
  }

  state(job = 'a'): JobState | undefined {
    const record = this.world.jobs.get(job)
    if (record === undefined) return undefined
    return jobState(record, countTallies(this.world, record), this.now)
  }

  /** Reports and operators mean the newest lease and attempt, unless the test says otherwise. */
  #complete(brief: Brief<CommandType>): Command {
    const address = { ...DEFAULTS, ...brief } as typeof DEFAULTS
    const attempt = findTask(this.world, address.job, address.stage, address.segment)?.attempt ?? 0
    // Of a failure, no delay is another thing than one of 0.
    const delay = brief.type === 'ReplaceJob' ? { delayMs: 0 } : {}
    // A cancel names an attempt only if it is a discard.
    const seen = brief.type === 'CancelJob' ? {} : { attempt }
    return { ...DEFAULTS, ...delay, lease: attempt, ...seen, ...brief } as unknown as Command
  }

  #append(entry: Entry): void {
    const before = snapshot(this.world)
    fold(this.world, entry)
    this.log.push(entry)
    const violations = [
      ...stepViolations(before, entry, this.world),
      ...worldViolations(this.world, scan(this.world), this.now),
    ]
    this.violations.push(...violations)
    if (violations.length > 0 && !this.#tolerant) throw new BrokenInvariant(violations)
  }
}

/** A deep copy of the mutable parts of a world. */
export function snapshot(world: World): World {
  return {
    jobs: new Map([...world.jobs].map(([id, job]) => [id, copyJob(job)])),
    tasks: new Map(
      [...world.tasks].map(([id, stages]) => [
        id,
        stages.map((tasks) => tasks?.map(copyTask) ?? null),
      ]),
    ),
    queues: new Map([...world.queues].map(([name, queue]) => [name, { ...queue }])),
    schedules: new Map([...world.schedules].map(([id, schedule]) => [id, { ...schedule }])),
  }
}
