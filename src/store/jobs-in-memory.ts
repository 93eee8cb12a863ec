/**
 * The jobs in memory, and the way to those that are not.
 */
import type { Job } from '../kernel/index.ts'

export class JobsInMemory extends Map<string, Job> {
  readonly #find: (id: string) => Job | null

  /** `find` looks elsewhere, and takes in what it finds. */
  constructor(find: (id: string) => Job | null) {
    super()
    this.#find = find
  }

  override get(id: string): Job | undefined {
    return super.get(id) ?? this.#find(id) ?? undefined
  }

  override has(id: string): boolean {
    return this.get(id) !== undefined
  }

  /** Only in memory. */
  peek(id: string): Job | undefined {
    return super.get(id)
  }
}
