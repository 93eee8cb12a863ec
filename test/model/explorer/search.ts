/**
 * Breadth first over every interleaving, until nothing new is found, a bound is reached, or
 * an invariant breaks. Because it is breadth first, what breaks it is the shortest trace.
 *
 * Silence needs no step of its own: a worker that crashed is one that sends nothing any more,
 * and an authority that crashed comes back as the fold of the same entries.
 */
import type { Rules, Violation } from '../../../src/kernel/index.ts'
import { RULES } from '../../../src/kernel/index.ts'
import type { Part } from './component.ts'
import { initialParts } from './component.ts'
import type { Scope } from './scope.ts'
import { Space } from './space.ts'
import { TupleTable } from './table.ts'

export interface Bounds {
  /** Stop after this many distinct states. */
  readonly states: number
}

export interface Result {
  readonly scope: Scope
  readonly space: Space
  readonly states: number
  readonly transitions: number
  readonly depth: number
  /** No state was left unexplored. */
  readonly complete: boolean
  readonly violation: Found | null
  /** From the first state to the given one, as tuples of part numbers. */
  path(to: number): number[][]
  /** The tuple that stands for a world and all that are alike. */
  canonical(parts: readonly Part[]): number[]
}

export interface Found {
  readonly violations: readonly Violation[]
  /** The state in which the breaking command was sent. */
  readonly state: number
}

export function explore(
  scope: Scope,
  rules: Rules = RULES,
  bounds: Bounds = { states: Infinity },
): Result {
  const search = new Search(scope, rules)
  return search.run(bounds)
}

class Search {
  readonly #scope: Scope
  readonly #space: Space
  readonly #seen: TupleTable
  readonly #parents: number[] = []
  readonly #next: Int32Array
  readonly #swap: Int32Array
  readonly #symmetric: boolean
  readonly #pairs: readonly number[]
  #transitions = 0
  #violation: Found | null = null

  constructor(scope: Scope, rules: Rules) {
    this.#scope = scope
    this.#space = new Space(scope, rules)
    const parts = initialParts(scope)
    const ids = parts.map((part) => this.#space.idOf(part))
    this.#pairs = parts.flatMap((part, i) =>
      part.kind === 'task' && part.segment === 1 ? [i - 1] : [],
    )
    this.#seen = new TupleTable(ids.length)
    this.#next = new Int32Array(ids.length)
    this.#swap = new Int32Array(ids.length)
    this.#symmetric = scope.workers.length === 2
    this.#seen.add(ids)
    this.#parents.push(-1)
  }

  run(bounds: Bounds): Result {
    const current = new Int32Array(this.#seen.width)
    let depth = 0
    let levelEnd = 1
    let index = 0
    for (; index < this.#seen.size; index++) {
      if (index === levelEnd) {
        depth += 1
        levelEnd = this.#seen.size
      }
      if (this.#seen.size >= bounds.states || this.#violation !== null) break
      this.#seen.read(index, current)
      this.#expand(index, current)
    }
    return {
      scope: this.#scope,
      space: this.#space,
      states: this.#seen.size,
      transitions: this.#transitions,
      depth,
      complete: index >= this.#seen.size && this.#violation === null,
      violation: this.#violation,
      path: (to) => this.#path(to),
      canonical: (parts) => {
        this.#next.set(parts.map((part) => this.#space.idOf(part)))
        return [...this.#canonical()]
      },
    }
  }

  #expand(from: number, current: Int32Array): void {
    for (let i = 0; i < current.length; i++) {
      const { changes, violations } = this.#space.successors(current, i)
      if (violations.length > 0) {
        this.#violation = { violations, state: from }
        return
      }
      for (const change of changes) {
        this.#next.set(current)
        for (const { index, id } of change) this.#next[index] = id
        this.#reach(from)
      }
    }
    this.#tick(from, current)
  }

  #tick(from: number, current: Int32Array): void {
    const violations = this.#space.tickViolations(current)
    if (violations.length > 0) this.#violation = { violations, state: from }
    for (let i = 0; i < current.length; i++) this.#next[i] = this.#space.older(current[i] as number)
    this.#reach(from)
    const clock = current.length - 1
    const part = this.#space.part(current[clock] as number)
    if (part.kind !== 'clock' || part.back === 0) return
    for (let i = 0; i < current.length; i++)
      this.#next[i] = this.#space.younger(current[i] as number)
    this.#reach(from)
  }

  /** Counts the step; a state is new only if it is not another one with the workers exchanged. */
  #reach(from: number): void {
    this.#transitions += 1
    const before = this.#seen.size
    this.#seen.add(this.#canonical())
    if (this.#seen.size > before) this.#parents.push(from)
  }

  /** Of all states that differ only in names of workers or order of segments, the first. */
  #canonical(): Int32Array {
    this.#sortSegments(this.#next)
    if (!this.#symmetric) return this.#next
    for (let i = 0; i < this.#next.length; i++) {
      this.#swap[i] = this.#space.swapped(this.#next[i] as number)
    }
    this.#sortSegments(this.#swap)
    for (let i = 0; i < this.#next.length; i++) {
      const order = (this.#next[i] as number) - (this.#swap[i] as number)
      if (order !== 0) return order < 0 ? this.#next : this.#swap
    }
    return this.#next
  }

  /** The segments of a stage stand side by side, and there are at most two. */
  #sortSegments(tuple: Int32Array): void {
    for (const i of this.#pairs) {
      const first = tuple[i] as number
      const second = tuple[i + 1] as number
      if (first > second) {
        tuple[i] = second
        tuple[i + 1] = first
      }
    }
  }

  #path(to: number): number[][] {
    const path: number[][] = []
    const tuple = new Int32Array(this.#seen.width)
    for (let index = to; index >= 0; index = this.#parents[index] as number) {
      this.#seen.read(index, tuple)
      path.unshift([...tuple])
    }
    return path
  }
}
