/**
 * Artifacts in the hands of a client: opened by their references, and checked for a whole job.
 */
import type { ArtifactPlace, ArtifactRef, StoredArtifact } from '../../definition/index.ts'
import { artifactsIn, fromJson } from '../../definition/index.ts'
import type { Payload } from '../../kernel/index.ts'
import type { OutputsPage, QueryOf, Store } from '../../store/index.ts'
import { ArtifactCorrupt, ArtifactMissing, openStored } from '../../worker/index.ts'
import { UnknownJob } from '../errors.ts'

export interface ArtifactCheck {
  readonly ref: ArtifactRef
  /** The name of the stage in whose output it stands; null: a plain job. */
  readonly stage: string | null
  readonly segment: number
  readonly state: 'valid' | 'missing' | 'corrupt'
}

/** Outputs of one query. */
const PAGE = 1_000

export class Artifacts {
  readonly #store: Store
  readonly #place: ArtifactPlace

  constructor(store: Store, place: ArtifactPlace) {
    this.#store = store
    this.#place = place
  }

  /** Reads all of it once, and gives it only if it is the one that was written. */
  open(ref: ArtifactRef): Promise<StoredArtifact> {
    return openStored(this.#place, ref)
  }

  /** Every reference in what a job put out, and whether its file is as it was written. */
  async check(id: string): Promise<ArtifactCheck[]> {
    const view = await this.#store.query({ kind: 'overview', job: id })
    if (view === null) throw new UnknownJob(id)
    const names = view.job.task === null ? view.stages.map(({ name }) => name) : [null]
    const checks: ArtifactCheck[] = []
    for (const [stage, name] of names.entries()) {
      for await (const { segment, output } of this.#outputs(id, stage)) {
        for (const ref of artifactsIn(fromJson(output))) {
          checks.push({ ref, stage: name, segment, state: await this.#stateOf(ref) })
        }
      }
    }
    return checks
  }

  async *#outputs(
    job: string,
    stage: number,
  ): AsyncGenerator<{ readonly segment: number; readonly output: Payload }, void, void> {
    for (let after: number | null = -1; after !== null;) {
      const asked: QueryOf<'outputs'> = { kind: 'outputs', job, stage, after, limit: PAGE }
      const page: OutputsPage | null = await this.#store.query(asked)
      if (page === null) throw new UnknownJob(job)
      yield* page.outputs
      after = page.next
    }
  }

  async #stateOf(ref: ArtifactRef): Promise<ArtifactCheck['state']> {
    try {
      await this.open(ref)
      return 'valid'
    } catch (error) {
      if (error instanceof ArtifactMissing) return 'missing'
      if (error instanceof ArtifactCorrupt) return 'corrupt'
      throw error
    }
  }
}
