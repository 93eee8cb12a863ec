/**
 * The distinct parts that were met, numbered, and where each can go from there.
 *
 * Everything the kernel says is asked for here, once per part and surrounding, and every
 * invariant is checked on every step: the step itself, the job it changed, what jobs share,
 * and that sending the same command again changes nothing and is answered the same.
 */
import type {
  Command,
  Decision,
  Entry,
  Indexes,
  Job,
  JobState,
  Rules,
  Violation,
  World,
} from '../../../src/kernel/index.ts'
import {
  countTallies,
  decideIn,
  findTask,
  fold,
  jobMayMove,
  jobState,
  jobViolations,
  noReads,
  PIPELINE_JOB_TRANSITIONS,
  PLAIN_JOB_TRANSITIONS,
  scan,
  sharedViolations,
  stepViolations,
} from '../../../src/kernel/index.ts'
import type { Part } from './component.ts'
import {
  age,
  assemble,
  copyPart,
  encode,
  initialParts,
  NOW,
  sees,
  takeBack,
  visible,
} from './component.ts'
import { moves } from './moves.ts'
import type { Scope } from './scope.ts'
import { TupleTable } from './table.ts'

/** A command that would be carried out, and the parts after it. */
export interface Step {
  readonly command: Command
  readonly entry: Entry
  readonly parts: readonly Part[]
  readonly violations: readonly Violation[]
}

/** A change of one or more parts: where, and the numbers of what they become. */
export type Change = readonly { readonly index: number; readonly id: number }[]

export interface Successors {
  readonly changes: readonly Change[]
  /** What would break on the way. */
  readonly violations: readonly Violation[]
}

export class Space {
  readonly scope: Scope
  readonly #rules: Rules
  readonly #reads = noReads()
  readonly #ids = new Map<string, number>()
  readonly #parts: Part[] = []
  /** What each part shows to the others, as a number: alike looks have the same. */
  readonly #looks: number[] = []
  readonly #lookIds = new Map<string, number>()
  readonly #older: (number | undefined)[] = []
  readonly #younger: (number | undefined)[] = []
  readonly #swapped: (number | undefined)[] = []
  readonly #places: readonly Part[]
  /** By place, the other places that a part there sees. */
  readonly #seen: readonly (readonly number[])[]
  /** A part in its surrounding: its place, its number there, and how those that it sees look. */
  readonly #view: Int32Array
  readonly #surroundings: TupleTable
  readonly #successors: Successors[] = []
  readonly #ticked: TupleTable

  constructor(scope: Scope, rules: Rules) {
    this.scope = scope
    this.#rules = rules
    this.#places = initialParts(scope)
    this.#seen = this.#places.map((part) =>
      this.#places.flatMap((other, i) => (other !== part && sees(scope, part, other) ? [i] : [])),
    )
    this.#view = new Int32Array(this.#places.length + 1)
    this.#surroundings = new TupleTable(this.#view.length)
    this.#ticked = new TupleTable(this.#view.length)
  }

  get distinctParts(): number {
    return this.#parts.length
  }

  /** How often the kernel was asked about a part in a surrounding. */
  get distinctSurroundings(): number {
    return this.#surroundings.size
  }

  part(id: number): Part {
    return this.#parts[id] as Part
  }

  /** The number of a part; alike parts have the same. */
  idOf(part: Part): number {
    const key = encode(part, this.scope)
    let id = this.#ids.get(key)
    if (id === undefined) {
      id = this.#parts.length
      this.#ids.set(key, id)
      this.#parts.push(part)
      this.#looks.push(this.#lookOf(part))
    }
    return id
  }

  #lookOf(part: Part): number {
    const text = visible(this.scope, part)
    let look = this.#lookIds.get(text)
    if (look === undefined) this.#lookIds.set(text, (look = this.#lookIds.size))
    return look
  }

  /** The part one tick later. */
  older(id: number): number {
    return (this.#older[id] ??= this.idOf(age(this.part(id), 1)))
  }

  younger(id: number): number {
    return (this.#younger[id] ??= this.idOf(age(this.part(id), -1)))
  }

  /** The part with the two workers' names exchanged. */
  swapped(id: number): number {
    return (this.#swapped[id] ??= this.idOf(swapWorkers(this.part(id))))
  }

  /** Where the part at `index` can go, seeing the others. */
  successors(ids: ArrayLike<number>, index: number): Successors {
    const view = this.#view.fill(0)
    view[ids.length] = index
    view[index] = ids[index] as number
    for (const i of this.#seen[index] as readonly number[]) {
      view[i] = this.#looks[ids[i] as number] as number
    }
    const surrounding = this.#surroundings.add(view)
    // Asking adds more parts, but no surroundings: the next new one has the next number.
    return (this.#successors[surrounding] ??= this.#ask(ids, index))
  }

  #ask(ids: ArrayLike<number>, index: number): Successors {
    const parts = this.partsOf(ids)
    return this.#summarise(parts, this.expand(parts, index))
  }

  /** The world that stands for all that are like it. */
  partsOf(ids: ArrayLike<number>): Part[] {
    return Array.from(ids, (id, i) => this.#inPlace(id, i))
  }

  /** Alike tasks share a number, whichever segment they are: this one is the segment at `index`. */
  #inPlace(id: number, index: number): Part {
    const part = this.part(id)
    const place = this.#places[index]
    if (part.kind !== 'task' || place?.kind !== 'task') return part
    return { ...part, segment: place.segment }
  }

  #summarise(parts: readonly Part[], steps: readonly Step[]): Successors {
    const changes = new Map<string, Change>()
    for (const step of steps) {
      const change: { index: number; id: number }[] = []
      step.parts.forEach((part, index) => {
        if (part !== parts[index]) change.push({ index, id: this.idOf(part) })
      })
      changes.set(change.map(({ index, id }) => `${index}=${id}`).join(), change)
    }
    const broken = steps.find((step) => step.violations.length > 0)
    return { changes: [...changes.values()], violations: broken?.violations ?? [] }
  }

  /** What is wrong with letting the clock tick: time moves jobs, too, and only as their table says. */
  tickViolations(ids: ArrayLike<number>): Violation[] {
    const found: Violation[] = []
    for (let i = 0; i < ids.length; i++) {
      const part = this.part(ids[i] as number)
      if (part.kind !== 'job' || part.job === null || !this.#ticksAnew(ids, i)) continue
      const parts = this.partsOf(ids)
      const before = stateIn(assemble(this.scope, parts), part.job.id)
      const later = parts.map((one) => age(one, 1))
      const after = stateIn(assemble(this.scope, later), part.job.id)
      const table = part.job.task === null ? PIPELINE_JOB_TRANSITIONS : PLAIN_JOB_TRANSITIONS
      if (!jobMayMove(table, before, after)) {
        found.push({ invariant: 6, what: `time took ${part.job.id} from ${before} to ${after}` })
      }
    }
    return found
  }

  /** Whether the clock never ticked for this job with its tasks looking as they do. */
  #ticksAnew(ids: ArrayLike<number>, index: number): boolean {
    const view = this.#view.fill(0)
    view[index] = ids[index] as number
    view[ids.length] = index
    for (let i = index + 1; this.#places[i]?.kind === 'task'; i++) {
      view[i] = this.#looks[ids[i] as number] as number
    }
    const before = this.#ticked.size
    this.#ticked.add(view)
    return this.#ticked.size > before
  }

  /** Tries every command on one part of a world. */
  expand(parts: readonly Part[], index: number): Step[] {
    const found: Step[] = []
    const before = assemble(this.scope, parts)
    const indexes = scan(before)
    for (const command of moves(this.scope, parts[index] as Part)) {
      const decision = this.#decide(command, before, indexes)
      if (decision.entry === null) continue
      found.push(this.#step(parts, index, before, command, decision))
    }
    return found
  }

  #decide(command: Command, world: World, indexes: Indexes): Decision {
    return decideIn(world, indexes, command, this.#reads, NOW, this.#rules)
  }

  #step(
    parts: readonly Part[],
    index: number,
    before: World,
    command: Command,
    decision: Decision,
  ): Step {
    const entry = decision.entry as Entry
    // Erasing reaches tasks, too. What it takes from them is in no encoding: they stay the same parts.
    const isErased = entry.type === 'JobErased'
    const copies = parts.map((one, i) => (i === index || isErased ? copyPart(one) : one))
    const after = assemble(this.scope, copies)
    try {
      fold(after, entry)
    } catch (error) {
      const what = error instanceof Error ? error.message : String(error)
      return { command, entry, parts, violations: [{ invariant: 8, what }] }
    }
    const next = parts.map((part, i) =>
      i === index || concerns(entry, this.scope, part) ? takeBack(this.scope, part, after) : part,
    )
    const job = 'job' in entry ? after.jobs.get(entry.job) : undefined
    const indexes = scan(after)
    const violations = [
      ...stepViolations(before, entry, after),
      ...(job === undefined ? [] : jobViolations(after, job, indexes.tallies(job), NOW)),
      ...sharedViolations(after),
      ...strangers(command, before),
      ...this.#secondLife(next[index] as Part, parts),
      ...this.#redelivered(command, decision, after, indexes),
    ]
    return { command, entry, parts: next, violations }
  }

  /** What stands for one promise or one tick is submitted once, also across being forgotten. */
  #secondLife(part: Part, parts: readonly Part[]): Violation[] {
    if (part.kind !== 'job' || part.job === null) return []
    const { parent, schedule, caller } = part.job.spec
    if (parent === null && schedule === null && caller === null) return []
    const by = parent?.job ?? caller?.job
    const origin = this.scope.slots.findIndex((slot) => slot.id === by)
    const promiser = parts.find((one) => one.kind === 'job' && one.slot === origin)
    // A parent whose id lives again promises again.
    const promised = promiser?.kind === 'job' ? promiser.life : 1
    if (part.life <= promised) return []
    return [{ invariant: 3, what: `${part.job.id} was submitted twice for one origin` }]
  }

  #redelivered(command: Command, first: Decision, world: World, indexes: Indexes): Violation[] {
    const again = this.#decide(command, world, indexes)
    if (again.entry === null && again.verdict === first.verdict && again.value === first.value) {
      return []
    }
    const said = again.rejection?.code ?? again.verdict
    return [{ invariant: 3, what: `sent again, ${command.type} was answered ${said}` }]
  }
}

function stateIn(world: World, id: string): JobState {
  const job = world.jobs.get(id) as Job
  return jobState(job, countTallies(world, job), NOW)
}

/** The entries that change more than one part. */
function concerns(entry: Entry, scope: Scope, part: Part): boolean {
  if (entry.type !== 'JobForgotten' && entry.type !== 'StageOpened') return false
  if (part.kind !== 'task' || scope.slots[part.slot]?.id !== entry.job) return false
  return entry.type === 'JobForgotten' || entry.stage === part.stage
}

/** An accepted report was sent by the worker that the log says was given the lease. */
function strangers(command: Command, before: World): Violation[] {
  if (!('worker' in command) || !('lease' in command)) return []
  const task = findTask(before, command.job, command.stage, command.segment)
  const lease = task?.leases.find((one) => one.number === command.lease)
  if (lease === undefined || lease.worker === command.worker) return []
  return [{ invariant: 1, what: `${command.worker} reported under a lease of ${lease.worker}` }]
}

function swapWorkers(part: Part): Part {
  const copy = copyPart(part)
  const task = copy.kind === 'task' ? copy.task : copy.kind === 'job' ? copy.job?.task : null
  if (task == null) return copy
  task.leases = task.leases.map((lease) => ({ ...lease, worker: swapName(lease.worker) }))
  task.lease = task.lease === null ? null : (task.leases.at(-1) ?? null)
  return copy
}

function swapName(worker: string): string {
  return worker === 'w1' ? 'w2' : worker === 'w2' ? 'w1' : worker
}
