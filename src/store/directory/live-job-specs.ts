/**
 * Jobs that are not over: their specs leave memory once a checkpoint holds them.
 */
import type { Job } from '../../kernel/index.ts'
import type { Disk, Manifest } from '../../log/index.ts'
import { Interning, LiveFile } from '../../log/index.ts'
import type { JobList } from '../state/job-list.ts'
import type { Ledger } from '../state/ledger.ts'
import type { JobWithStoredSpec } from '../state/job-with-stored-spec.ts'
import { storedSpecReader } from '../state/job-with-stored-spec.ts'

export class LiveJobSpecs {
  readonly #disk: Disk
  readonly #folder: string
  readonly #interning = new Interning()
  #file: LiveFile | null = null
  /** Everything that was submitted before it and is live is in the file. */
  #position = 0
  readonly #Stored = storedSpecReader((position) => (this.#file as LiveFile).spec(position))

  constructor(disk: Disk, folder: string) {
    this.#disk = disk
    this.#folder = folder
  }

  /** From now on specs are read from this checkpoint. */
  async use(manifest: Manifest): Promise<void> {
    const file = await LiveFile.open(this.#disk, this.#folder, manifest.live, this.#interning)
    const old = this.#file
    this.#file = file
    this.#position = manifest.position
    await old?.close()
  }

  /** A job that the file holds, with its spec still in memory. */
  store(job: Job): JobWithStoredSpec {
    return new this.#Stored(job)
  }

  /** The specs of all jobs that the file holds leave memory, in small steps. */
  async unload(
    ledger: Ledger,
    list: JobList,
    since: number,
    breathe: () => Promise<void>,
  ): Promise<void> {
    const file = this.#file as LiveFile
    await list.renew(since, breathe, (job) => {
      if (job.firstPosition >= this.#position || job instanceof this.#Stored) return job
      if (!file.has(job.firstPosition)) return job
      const stored = this.store(job)
      ledger.replace(job, stored)
      // What is being worked on will be needed again soon.
      if (!isInHand(ledger, job)) stored.loaded = null
      return stored
    })
  }

  async close(): Promise<void> {
    await this.#file?.close()
  }
}

function isInHand(ledger: Ledger, job: Job): boolean {
  if (job.task !== null) return job.task.lease !== null
  return ledger.tallies(job).some(({ leased }) => leased > 0)
}
