/**
 * What one run of a handler waits for, and how it comes to wait.
 *
 * - A wait that the record says is over is answered at once, from the record.
 * - Others are pending once they are begun. When the handler had a turn of the event loop to begin all that
 *   it wants to, and no step of it is in flight, the run suspends, with all that is pending in one report.
 *   Its promises never settle then: neither catch nor finally runs.
 * - If the store says that one of them is settled already, it is ended in place, and the run goes on.
 * - Sleeps of less than a second, with nothing else pending, are waited in place.
 *
 * It only asks: the store decides what is over, and the record keeps how it ended.
 */
import type { JobDetails, Runnable } from '../../definition/index.ts'
import { InvalidDefinition } from '../../definition/index.ts'
import type { Message, Payload, Wait, WaitsNeeded, WaitSpec } from '../../kernel/index.ts'
import type { ClaimedWaiting } from '../../store/index.ts'
import { eventLoopTurn } from '../../store/index.ts'
import type { AbortHandle } from '../abort-handle.ts'
import type { EndedWait, WaitTerms } from './wait-nodes.ts'
import { JoinedWaits, SingleWait, WaitGroup, WaitNode } from './wait-nodes.ts'
import type { SettledWait, WaitPort } from './wait-port.ts'

/** Between two looks at a wait whose time is over here, and not yet by the store's clock. */
const LOOK_AGAIN_MS = 5

export interface HandlerWaitsParts {
  readonly definition: Runnable
  readonly job: JobDetails
  /** As the claim had it; null: nothing is on record. */
  readonly waiting: ClaimedWaiting | null
  readonly port: WaitPort
  readonly abortHandle: AbortHandle
  /** Throws if a step or a wait of this run has the name already. */
  readonly takeName: (name: string) => void
  readonly isInStep: () => boolean
  readonly log: (line: string) => void
}

export class HandlerWaits {
  readonly #parts: HandlerWaitsParts
  /** Those that are neither begun nor part of a group. */
  readonly #made = new Set<WaitNode>()
  /** Those that were begun and are not over. */
  readonly #pending = new Set<WaitNode>()
  /** Messages that were there when the job was claimed, and that this run neither took nor skipped. */
  #kept: readonly Readonly<Message>[]
  /** Messages that do not fit, until the store has heard of it. */
  #unfit: string[] = []
  /** In the order in which they ended here: all of them AFTER what was on record. */
  #endedHere = 0
  #isChecking = false
  #isAsking = false
  #isOver = false

  constructor(parts: HandlerWaitsParts) {
    this.#parts = parts
    this.#kept = parts.waiting?.messages ?? []
  }

  make(terms: WaitTerms): SingleWait {
    const { definition, job, takeName } = this.#parts
    if (definition.batch !== null) {
      throw new InvalidDefinition(
        `Batch job '${job.type}' cannot wait (${terms.written}): its items run together, and one that waits would have to leave the others. Define it with job('${job.type}', …).`,
        { job: job.id },
      )
    }
    takeName(terms.name)
    const wait = new SingleWait((node) => this.#begin(node), terms, endedIn(this.known(terms.name)))
    this.#made.add(wait)
    return wait
  }

  /** Several waits that the handler wrote as one. */
  makeJoined(terms: readonly WaitTerms[], join: (values: readonly unknown[]) => unknown): WaitNode {
    const waits = terms.map((one) => this.make(one))
    for (const wait of waits) this.#made.delete(wait)
    const group = new JoinedWaits((node) => this.#begin(node), waits, join)
    this.#made.add(group)
    return group
  }

  /** The waits are begun with the group, and not by themselves. */
  join(joins: 'all' | 'any', waits: unknown): WaitGroup {
    const isList = Array.isArray(waits)
    const members = Object.entries((waits ?? {}) as Readonly<Record<string, unknown>>)
    const nodes = members.map(([name, one]) => [name, this.#member(joins, one)] as const)
    if (nodes.length === 0) throw this.#noWaits(joins, 'none was given')
    for (const [, node] of nodes) this.#made.delete(node)
    const group = new WaitGroup((node) => this.#begin(node), joins, nodes, isList)
    this.#made.add(group)
    return group
  }

  #member(joins: 'all' | 'any', given: unknown): WaitNode {
    if (!(given instanceof WaitNode)) throw this.#noWaits(joins, 'something else was given')
    if (this.#made.has(given)) return given
    throw this.#noWaits(joins, `${given.written} was awaited before, or is in another group`)
  }

  #noWaits(joins: 'all' | 'any', why: string): InvalidDefinition {
    const { id } = this.#parts.job
    return new InvalidDefinition(
      `${joins}() of job ${id} takes waits that have not begun, and ${why}: write ${joins}([sleep('…', '1d'), waitFor(…)]), or with names, ${joins}({ late: sleep('…', '1d') }).`,
      { job: id },
    )
  }

  /** As the record has it. */
  known(name: string): Readonly<Wait> | undefined {
    return this.#parts.waiting?.waits.find((wait) => wait.name === name)
  }

  /** A step of the run is over. */
  stepOver(): void {
    if (this.#pending.size > 0) this.#checkSoon()
  }

  /** Throws if the handler returned before a wait was over, or without awaiting it. */
  assertOver(): void {
    const [left] = [...this.#pending, ...this.#made]
    if (left === undefined) return
    const { id } = this.#parts.job
    throw new InvalidDefinition(
      `Job ${id} returned before its wait was over: write \`await ${left.written}\`. Nothing was committed.`,
      { job: id },
    )
  }

  /** The handler has returned, or thrown: nothing is asked for any more. */
  close(): void {
    this.#isOver = true
  }

  #begin(node: WaitNode): void {
    this.#made.delete(node)
    if (node.isEnded) return node.settle()
    this.#pending.add(node)
    this.#checkSoon()
  }

  /** AFTER the handler had a turn: it may begin more waits, or another step. */
  #checkSoon(): void {
    if (this.#isChecking) return
    this.#isChecking = true
    void eventLoopTurn().then(() => {
      this.#isChecking = false
      return this.#check()
    })
  }

  async #check(): Promise<void> {
    const { isInStep, abortHandle } = this.#parts
    if (this.#isAsking || this.#isOver || this.#pending.size === 0 || isInStep()) return
    if (abortHandle.reason === 'suspended') return
    this.#isAsking = true
    try {
      abortHandle.throwIfStopped()
      await this.#waitOnce()
    } catch (error) {
      for (const node of this.#pending) node.fail(error)
      this.#pending.clear()
    }
    this.#isAsking = false
    this.#settleEnded()
    if (this.#pending.size > 0) this.#checkSoon()
  }

  #settleEnded(): void {
    for (const node of this.#pending) {
      if (!node.isEnded) continue
      this.#pending.delete(node)
      node.settle()
    }
  }

  /** Ends at least one wait in place, or never returns. */
  async #waitOnce(): Promise<void> {
    const nodes = [...this.#pending]
    const open = [...new Set(nodes.flatMap((node) => node.open))]
    const needs: WaitsNeeded = nodes.length === 1 ? (nodes[0] as WaitNode).needs : 'any'
    if (open.every((wait) => this.#isShort(wait))) return this.#waitInPlace(open, needs)
    const settled =
      this.#keptFor(open) ??
      (await this.#parts.port.suspend({
        needs,
        waits: await Promise.all(open.map(async ({ terms }) => terms.spec())),
        unfit: this.#unfit,
      }))
    const wait = open.find(({ name }) => name === settled.name) as SingleWait
    await this.#endBy(wait, settled)
  }

  /** A message that was there when the job was claimed: the store need not be asked. */
  #keptFor(open: readonly SingleWait[]): SettledWait | null {
    for (const { name, terms } of open) {
      const kept = this.#kept.find((one) => one.name === terms.message)
      if (kept !== undefined) return { name, by: { id: kept.id, value: kept.value as Payload } }
    }
    return null
  }

  /** One that is on record is as long as the record says. */
  #isShort({ name, terms: { inPlaceMs } }: SingleWait): boolean {
    if (inPlaceMs === null || this.known(name) !== undefined) return false
    // A handler that is silent for so long must not be taken for one that is stalled.
    const { definition, port } = this.#parts
    return inPlaceMs < Math.min(port.longestRestMs, definition.stalled.afterMs / 2)
  }

  async #waitInPlace(open: readonly SingleWait[], needs: WaitsNeeded): Promise<void> {
    const inOrder = open.toSorted((a, b) => delayOf(a) - delayOf(b))
    const last = needs === 'any' ? inOrder[0] : inOrder.at(-1)
    const ms = delayOf(last as SingleWait)
    await this.#parts.port.rest(ms)
    for (const wait of inOrder) {
      if (delayOf(wait) <= ms) await this.#endBy(wait, { name: wait.name, by: null })
    }
  }

  async #endBy(wait: SingleWait, settled: SettledWait): Promise<void> {
    const { port } = this.#parts
    const spec = await wait.terms.spec()
    let { by } = settled
    for (;;) {
      const misfit = by === null ? null : await wait.terms.misfit(by.value, by.id)
      if (by !== null && misfit !== null) {
        this.#skip(wait.name, by.id, misfit)
        return
      }
      const message = by?.id ?? null
      this.#forgetKept(message)
      const answer = await port.endWait({ wait: spec, message, unfit: this.#unfit })
      if (answer.kind === 'ended') {
        this.#unfit = []
        return wait.end(this.#endedNow(spec, message, answer.value))
      }
      if (answer.kind === 'open') await port.rest(LOOK_AGAIN_MS)
      else by = answer.by
    }
  }

  #forgetKept(id: string | null): void {
    this.#kept = this.#kept.filter((one) => one.id !== id)
  }

  #endedNow({ callee }: WaitSpec, message: string | null, value: string | null): EndedWait {
    const by = message === null ? 'time' : callee === null ? 'message' : 'callee'
    this.#endedHere += 1
    return { by, value, at: Number.MAX_SAFE_INTEGER - 1_000_000 + this.#endedHere, until: Infinity }
  }

  /** On record with the next report of a wait. */
  #skip(wait: string, id: string, why: string): void {
    this.#forgetKept(id)
    this.#unfit.push(id)
    this.#parts.log(`Message '${id}' does not fit wait '${wait}', and is skipped: ${why}`)
  }
}

function delayOf({ terms }: SingleWait): number {
  return terms.inPlaceMs ?? 0
}

function endedIn(wait: Readonly<Wait> | undefined): EndedWait | null {
  if (wait === undefined || wait.endedAt === null || wait.endedBy === null) return null
  const { endedBy: by, value, endedAt: at, until } = wait
  return { by, value, at, until: until ?? Infinity }
}
