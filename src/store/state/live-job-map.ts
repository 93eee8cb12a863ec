/**
 * The jobs in memory by id and by key, and the way to those that are not in memory.
 */
import type { Job } from '../../kernel/index.ts'

/**
 * A map is copied as a whole when it grows or shrinks: at a million jobs that holds up the event loop
 * for 150 ms, and 64 small maps that grow one after the other for less than 5 ms.
 */
const SHARDS = 64
/** Ids differ enough in so many characters at their end. */
const HASHED_CHARS = 8

export class LiveJobMap extends Map<string, Job> {
  readonly #shards: Map<string, Job>[]
  readonly #find: (id: string) => Job | null

  /** `find` reads a job that is not in memory, and puts it there. */
  constructor(find: (id: string) => Job | null) {
    super()
    this.#shards = Array.from({ length: SHARDS }, () => new Map<string, Job>())
    this.#find = find
  }

  override get size(): number {
    return this.#shards.reduce((sum, { size }) => sum + size, 0)
  }

  override get(id: string): Job | undefined {
    return this.#shard(id).get(id) ?? this.#find(id) ?? undefined
  }

  override has(id: string): boolean {
    return this.get(id) !== undefined
  }

  override set(id: string, job: Job): this {
    this.#shard(id).set(id, job)
    return this
  }

  override delete(id: string): boolean {
    return this.#shard(id).delete(id)
  }

  override clear(): void {
    for (const shard of this.#shards) shard.clear()
  }

  override *entries(): MapIterator<[string, Job]> {
    for (const shard of this.#shards) yield* shard
  }

  override *keys(): MapIterator<string> {
    for (const shard of this.#shards) yield* shard.keys()
  }

  override *values(): MapIterator<Job> {
    for (const shard of this.#shards) yield* shard.values()
  }

  override [Symbol.iterator](): MapIterator<[string, Job]> {
    return this.entries()
  }

  override forEach(visit: (job: Job, id: string, jobs: Map<string, Job>) => void): void {
    for (const [id, job] of this.entries()) visit(job, id, this)
  }

  /** Of the jobs in memory only. */
  peek(id: string): Job | undefined {
    return this.#shard(id).get(id)
  }

  #shard(id: string): Map<string, Job> {
    let hash = id.length
    for (let i = Math.max(0, id.length - HASHED_CHARS); i < id.length; i++) {
      hash = Math.imul(hash ^ id.charCodeAt(i), 0x01_00_01_93)
    }
    return this.#shards[(hash ^ (hash >>> 15)) & (SHARDS - 1)] as Map<string, Job>
  }
}

/** A job is never asked for its key again: asking might mean reading it from a disk. */
export class JobsByKey {
  readonly #byKey = new Map<string, Job>()
  readonly #keys = new Map<Job, string>()
  /** Types that had a job with a key: there are few. */
  readonly #types = new Set<string>()

  get(type: string, key: string): Job | undefined {
    return this.#byKey.get(keyText(type, key))
  }

  /** Of this type, or of any. */
  withKey(key: string, type: string | undefined): Job[] {
    const types = type === undefined ? [...this.#types] : [type]
    return types.flatMap((one) => this.get(one, key) ?? [])
  }

  /** A job was submitted with a key: it has it now, even if another job had it before. */
  add(job: Job): void {
    const { type, key } = job.spec
    if (key === null) return
    this.#types.add(type)
    this.#setHolder(job, keyText(type, key))
  }

  /** A job that was read from the disk has its key only if no other job has it now. */
  addIfFree(job: Job): void {
    const { type, key } = job.spec
    if (key !== null && !this.#byKey.has(keyText(type, key))) this.add(job)
  }

  /** Another object stands for the job from now on. */
  replace(job: Job, by: Job): void {
    const text = this.#keys.get(job)
    if (text === undefined) return
    this.#keys.delete(job)
    this.#setHolder(by, text)
  }

  remove(job: Job): void {
    const text = this.#keys.get(job)
    if (text === undefined) return
    this.#keys.delete(job)
    this.#byKey.delete(text)
  }

  #setHolder(job: Job, text: string): void {
    const before = this.#byKey.get(text)
    if (before !== undefined) this.#keys.delete(before)
    this.#byKey.set(text, job)
    this.#keys.set(job, text)
  }
}

/** A key belongs to a type; both may hold any character. */
function keyText(type: string, key: string): string {
  return `${type.length}:${type}${key}`
}
