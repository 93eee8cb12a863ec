/**
 * Erases jobs: what they were given and made is gone from the store, from their artifacts, and from what their
 * handlers said. Whether they may be erased is for the kernel.
 *
 * Other jobs may hold copies of the same data: the commit of a parent has what its child was given, and a job
 * that is run again has what the first one was given. They are jobs of their own, so the caller says what is to
 * become of them; without a word, nothing is erased, and the caller is told which jobs these are.
 */
import type { ArtifactPlace } from '../../definition/index.ts'
import { InvalidDefinition } from '../../definition/index.ts'
import type { Command, Job, PendingWait, Task } from '../../kernel/index.ts'
import { calleeOf, childId, isFinal } from '../../kernel/index.ts'
import type { CommandBatcher } from '../../store/command-batcher.ts'
import type {
  JobOverview,
  JobsPage,
  JobView,
  PositionedEntry,
  QueryOf,
  Store,
} from '../../store/index.ts'
import { folderOf } from '../../worker/artifact/paths.ts'
import type { Actor } from '../actor.ts'
import { actorOrDefault } from '../actor.ts'
import { CopiesExist, Refused, UnknownJob } from '../errors.ts'
import type { Refusals } from '../refusals.ts'

export interface EraseOptions extends Actor {
  /**
   * Jobs that hold copies of what this one held: its parent and its children, its caller and its callees, and
   * those that it, or one of these, is a rerun of, or that are reruns of them. `'erase'`: they are erased, too, if all of them are over. `'keep'`:
   * they are left alone, and not looked for. Left out: if there are any, nothing is erased.
   */
  readonly copies?: 'erase' | 'keep'
}

interface ErasureParts {
  readonly store: Store
  readonly batcher: CommandBatcher
  readonly place: ArtifactPlace
  readonly refusals: Refusals
  /** What handlers said about a job, in this process and in others, is forgotten. */
  readonly forgetReports: (job: string) => Promise<void>
}

/** How another job is related to the one that is erased. */
type Relation = 'parent' | 'child' | 'caller' | 'callee' | 'rerun'

export interface Copy {
  readonly job: string
  readonly relation: Relation
}

/** Jobs of one page, when reruns are looked for. */
const PAGE = 1_000

export class Erasure {
  readonly #parts: ErasureParts

  constructor(parts: ErasureParts) {
    this.#parts = parts
  }

  /** The jobs that are erased by it, this one first. Called again, it is answered as the first time. */
  async erase(id: string, options: EraseOptions): Promise<readonly string[]> {
    const { copies: wish, ...actor } = options
    if (wish !== undefined && wish !== 'erase' && wish !== 'keep') {
      throw new InvalidDefinition(
        `\`copies\` is 'erase' or 'keep', or it is left out, not ${String(wish)}.`,
        { job: id },
      )
    }
    const view = await this.#view(id)
    const copies = wish === 'keep' ? [] : await this.#copiesOf(view)
    if (copies.length > 0 && wish === undefined) {
      throw this.#parts.refusals.note('EraseJob', id, new CopiesExist(id, copies))
    }
    const views = [view]
    for (const copy of copies) views.push(await this.#view(copy.job))
    // BEFORE the first is erased: all of them, or none.
    for (const one of views) this.#assertOver(one)
    const { by, reason } = actorOrDefault(actor, 'Erased')
    for (const { job } of views) await this.#eraseOne(job, { by, reason })
    return views.map(({ job }) => job.id)
  }

  async #eraseOne({ id, submittedAt }: Job, actor: Required<Actor>): Promise<void> {
    const { store, batcher, place, forgetReports } = this.#parts
    const command: Command = { type: 'EraseJob', job: id, ...actor }
    const { rejection } = await batcher.send(command)
    if (rejection?.code === 'UnknownJob') throw new UnknownJob(id)
    if (rejection !== null) throw new Refused(`Erasing job ${id}`, rejection)
    // AFTER it is durable: the sweep removes them if this process ends here.
    await place.remove(folderOf({ store: store.id ?? null, job: id, submittedAt }))
    await forgetReports(id)
  }

  #assertOver({ job, state }: JobView): void {
    if (isFinal(state)) return
    const error = new Refused(`Erasing job ${job.id}`, {
      code: 'JobNotFinal',
      check: 'erase',
      message: `It is ${state}: only a job that is over can be erased. Cancel it, or wait for its end.`,
      details: { job: job.id, state },
    })
    throw this.#parts.refusals.note('EraseJob', job.id, error)
  }

  async #view(id: string): Promise<JobView> {
    const view = await this.#parts.store.query({ kind: 'job', job: id })
    if (view === null) throw this.#parts.refusals.note('EraseJob', id, new UnknownJob(id))
    return view
  }

  /** Without those that are erased already, or forgotten. */
  async #copiesOf(view: JobView): Promise<readonly Copy[]> {
    const { id, spec } = view.job
    const found = new Map<string, Relation>()
    if (spec.parent !== null) found.set(spec.parent.job, 'parent')
    if (spec.caller !== null) found.set(spec.caller.job, 'caller')
    for (const task of view.stages.flatMap(({ tasks }) => tasks)) {
      for (const child of await this.#childrenOf(task)) found.set(child, 'child')
      for (const callee of calleesOf(task.waiting?.waits ?? [])) found.set(callee, 'callee')
    }
    for (const callee of await this.#earlierCalleesOf(id)) found.set(callee, 'callee')
    // A rerun of a parent has what the parent was given, and may begin with its steps; and so on.
    for (const rerun of await this.#rerunsOf([id, ...found.keys()])) {
      if (!found.has(rerun)) found.set(rerun, 'rerun')
    }
    found.delete(id)
    const copies: Copy[] = []
    for (const [job, relation] of found) {
      const known = await this.#parts.store.query({ kind: 'overview', job })
      if (known !== null && known.job.erased === null) copies.push({ job, relation })
    }
    return copies
  }

  /** With a key, the child may be a job that had it before. */
  async #childrenOf({ job, stage, segment, commit }: Task): Promise<readonly string[]> {
    const children: string[] = []
    for (const [effect, { promise }] of (commit?.effects ?? []).entries()) {
      const { child } = promise
      if (child === null) continue
      if (child.key === null) children.push(childId({ job, stage, segment, effect }))
      else {
        const { type, key } = child
        const page = await this.#parts.store.query({ kind: 'jobs', type, key, limit: PAGE })
        children.push(...page.jobs.map(({ id }) => id))
      }
    }
    return children
  }

  /** Callees of earlier runs, as far as the history has them: new input drops the waits that called them. */
  async #earlierCalleesOf(job: string): Promise<readonly string[]> {
    const callees: string[] = []
    for (let after = 0; ;) {
      const page = await this.#parts.store.query({ kind: 'history', job, after, limit: PAGE })
      for (const { entry } of page) {
        if (entry.type === 'ExecutionSuspended') callees.push(...calleesOf(entry.waits))
      }
      if (page.length < PAGE) return callees
      after = (page.at(-1) as PositionedEntry).position
    }
  }

  /** The jobs that these are reruns of, and all that are reruns of any of them. */
  async #rerunsOf(ids: readonly string[]): Promise<readonly string[]> {
    const family = new Set<string>()
    let after = Infinity
    for (const id of ids) {
      for (let job: string | null = id; job !== null && !family.has(job);) {
        const view: JobOverview | null = await this.#parts.store.query({ kind: 'overview', job })
        if (view === null) break
        family.add(job)
        after = Math.min(after, view.job.firstPosition)
        job = view.job.spec.rerunOf
      }
    }
    // A rerun is submitted after what it is a rerun of, so one pass finds reruns of reruns, too.
    for (let next: number | null = after; next !== null;) {
      const asked: QueryOf<'jobs'> = { kind: 'jobs', isRerun: true, after: next, limit: PAGE }
      const page: JobsPage = await this.#parts.store.query(asked)
      for (const { id: rerun, rerunOf } of page.jobs) {
        if (rerunOf !== null && family.has(rerunOf)) family.add(rerun)
      }
      next = page.next
    }
    return [...family]
  }
}

function calleesOf(waits: readonly PendingWait[]): readonly string[] {
  return waits.flatMap((wait) => calleeOf(wait) ?? [])
}
