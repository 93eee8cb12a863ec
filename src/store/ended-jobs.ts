/**
 * Jobs that are over: the newest in memory, the others on the shelves of the newest checkpoint.
 *
 * A job that is over stays in memory until a checkpoint holds it, and then leaves. If a command
 * names it later it is taken in again, and leaves with the next checkpoint, or earlier if many
 * like it came. To be looked at, or listed, it need not come in.
 *
 * Also knows which of them are to be forgotten: it says so, and `decide` has the last word.
 */
import type { Command, Job } from '../kernel/index.ts'
import { jobEndedAt, NO_TALLIES } from '../kernel/index.ts'
import type { Disk, JobRecord, Manifest } from '../log/index.ts'
import { Interning, recordTallies, Shelf } from '../log/index.ts'
import { gone, isGone } from './job-list.ts'
import type { Elsewhere, Ledger } from './ledger.ts'
import { keepSpec } from './stored-job.ts'
import type { Listed } from './views.ts'
import { listed, listing } from './views.ts'

export interface Retention {
  /** How long a job that is over stays readable. */
  readonly ageMs: number
  /** How many jobs that are over stay readable, the newest. */
  readonly count: number
}

/** Beyond this many, jobs that came in again leave without waiting for a checkpoint. */
const MOST_GUESTS = 1_000
/** Jobs that leave between two turns of the event loop: a few milliseconds. */
const STEP = 1_500

export class EndedJobs implements Elsewhere {
  readonly #disk: Disk
  readonly #folder: string
  readonly #interning = new Interning()
  #shelves: Shelf[] = []
  /** Where the checkpoint ends that the shelves belong to. */
  #position = 0
  /** In memory and on no shelf, in the order of their ends; some may have been forgotten since. */
  #fresh: Job[] = []
  /** Where in the log each of them ended, or changed last: nearly ascending. */
  #freshEnds: number[] = []
  /** Where those stood that were forgotten since. */
  #freshForgotten: number[] = []
  /** How far they were looked through for jobs to forget. */
  #freshLooked = 0
  /** On a shelf, and in memory again. */
  readonly #guests = new Set<Job>()
  /** How far each shelf was looked through for jobs to forget. */
  readonly #looked = new Map<Shelf, number>()
  #forgotten: { readonly id: string; readonly position: number }[] = []
  #last: Promise<unknown> = Promise.resolve()
  /** Whose jobs these are; set once, before anything else happens. */
  ledger!: Ledger
  /** Called for each job that leaves memory. */
  onLeave: () => void = () => undefined
  /** Called for each shelf whose tables had to be made again. */
  onRebuilt: (file: string) => void = () => undefined

  constructor(disk: Disk, folder: string) {
    this.#disk = disk
    this.#folder = folder
  }

  /** How many jobs are over and not forgotten; those that came in again are counted once. */
  get count(): number {
    return this.#shelves.reduce(
      (sum, { left }) => sum + left,
      this.#fresh.length - this.#freshForgotten.length,
    )
  }

  job(id: string): JobRecord | null {
    const record = this.find(id)
    if (record !== null) this.#welcome(record.job)
    return record
  }

  keyHolder(type: string, key: string): JobRecord | null {
    for (const shelf of this.#shelves) {
      const row = shelf.findKey(type, key, this.#interning)
      if (row === -1) continue
      const record = shelf.read(row, this.#interning)
      // In memory it may be newer.
      if (this.ledger.inMemory(record.job.id) !== undefined) return null
      this.#welcome(record.job)
      return record
    }
    return null
  }

  /** Only looks. */
  find(id: string): JobRecord | null {
    for (const shelf of this.#shelves) {
      const row = shelf.find(id)
      if (row !== -1) return shelf.read(row, this.#interning)
    }
    return null
  }

  /** A job in memory came to its end. */
  ended(job: Job): void {
    // The next live file will not have it.
    keepSpec(job)
    this.#fresh.push(job)
    this.#freshEnds.push(job.lastPosition)
  }

  forgot(job: Job, position: number): void {
    const wasGuest = this.#guests.delete(job)
    const wasShelved = this.#leaveShelf(job.id)
    if (!wasGuest && !wasShelved) this.#freshForgotten.push(job.lastPosition)
    this.#forgotten.push({ id: job.id, position })
    gone(job)
  }

  /** Jobs do not go from memory to a shelf while a page of them is put together. */
  async undisturbed<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#last.then(task)
    this.#last = done.catch(() => undefined)
    return done
  }

  /** Takes on the shelves of a checkpoint; jobs that stand on them leave memory, in small steps. */
  async adopt(manifest: Manifest, breathe: () => Promise<void>): Promise<void> {
    await this.undisturbed(() => this.#adopt(manifest, breathe))
  }

  async #adopt(manifest: Manifest, breathe: () => Promise<void>): Promise<void> {
    const known = new Map(this.#shelves.map((shelf) => [shelf.about.name, shelf]))
    const fresh = manifest.shelves.filter(({ name }) => !known.has(name))
    const opened = await this.#open(fresh)
    const shelves = manifest.shelves.map(({ name }) => {
      return (known.get(name) ?? opened.get(name)) as Shelf
    })
    const forgotten = this.#forgotten.filter(({ position }) => position >= manifest.position)
    // Everything that can fail comes BEFORE the change, which is made at once.
    const rows = await this.#lookUp(forgotten, shelves, opened.values())
    for (const [i, { name, gone: left }] of manifest.shelves.entries()) {
      // What has changed since the shelf was made stands on another one now.
      for (const row of left) shelves[i]?.leave(row)
      known.delete(name)
    }
    this.#shelves = shelves
    this.#position = manifest.position
    // What was forgotten while the checkpoint was made stands on its shelves all the same.
    this.#forgotten = forgotten
    for (const { shelf, row } of rows) shelf.leave(row)
    for (const shelf of known.values()) this.#looked.delete(shelf)
    for (const shelf of known.values()) await shelf.close()
    await this.#leaveMemory(breathe)
  }

  /** Where jobs stand on shelves of which some were just opened: these close if one cannot be read. */
  async #lookUp(
    jobs: readonly { readonly id: string }[],
    shelves: readonly Shelf[],
    opened: Iterable<Shelf>,
  ): Promise<{ shelf: Shelf; row: number }[]> {
    try {
      return jobs.flatMap(({ id }) => rowsOf(shelves, id))
    } catch (error) {
      for (const shelf of opened) await shelf.close()
      throw error
    }
  }

  async #open(files: readonly Shelf['about'][]): Promise<Map<string, Shelf>> {
    const opened = new Map<string, Shelf>()
    try {
      for (const about of files) {
        const shelf = await Shelf.open(this.#disk, this.#folder, about)
        opened.set(about.name, shelf)
        if (shelf.isRebuilt) this.onRebuilt(`${this.#folder}/${about.name}`)
      }
    } catch (error) {
      for (const shelf of opened.values()) await shelf.close()
      throw error
    }
    return opened
  }

  /**
   * At most `limit` jobs that were kept long enough, or that are too many, oldest first. Asking
   * changes nothing: whoever asks again before they are forgotten is told the same.
   */
  toForget({ ageMs, count }: Retention, now: number, limit: number): Command[] {
    const commands: Command[] = []
    const cursors = this.#cursors()
    let surplus = this.count - count
    while (commands.length < limit) {
      const oldest = oldestOf(cursors)
      if (oldest === null || oldest.endedAt >= now) break
      if (surplus <= 0 && oldest.endedAt >= now - ageMs) break
      const { endedAt } = oldest
      commands.push({ type: 'ForgetJob', job: oldest.take(), endedBefore: endedAt + 1 })
      surplus -= 1
    }
    return commands
  }

  /** Jobs on shelves that were submitted behind a position, in order. */
  *after(position: number): IterableIterator<Listed> {
    const cursors = this.#shelves.map((shelf) => ({ shelf, at: shelf.submittedUpTo(position) }))
    for (;;) {
      let best: (typeof cursors)[number] | null = null
      for (const cursor of cursors) {
        const { shelf } = cursor
        while (cursor.at < shelf.about.records && shelf.isGone(shelf.nthSubmitted(cursor.at))) {
          cursor.at += 1
        }
        if (cursor.at === shelf.about.records) continue
        if (best === null || firstOf(cursor) < firstOf(best)) best = cursor
      }
      if (best === null) return
      const record = best.shelf.read(best.shelf.nthSubmitted(best.at), this.#interning)
      best.at += 1
      const here = this.ledger.inMemory(record.job.id)
      if (here === undefined) {
        yield listing(record.job, recordTallies(record), 0)
      } else if (this.#guests.has(here)) {
        yield listed(this.ledger, here)
      }
    }
  }

  async close(): Promise<void> {
    for (const shelf of this.#shelves) await shelf.close()
  }

  #welcome(job: Job): void {
    this.#guests.add(job)
    if (this.#guests.size > MOST_GUESTS) this.#seeOut()
  }

  /** Guests that nothing happened to leave again. */
  #seeOut(): void {
    for (const guest of this.#guests) {
      // The newest one is being welcomed.
      if (this.ledger.inMemory(guest.id) !== guest) continue
      // One that has changed stays until a checkpoint has it as it is.
      if (guest.lastPosition >= this.#position) continue
      this.#guests.delete(guest)
      this.ledger.evict(guest)
    }
  }

  async #leaveMemory(breathe: () => Promise<void>): Promise<void> {
    this.#seeOut()
    // At once, so that none of them counts twice: those that leave stand on a shelf now.
    const first = this.#freshEnds.findIndex((position) => position >= this.#position)
    const count = first === -1 ? this.#fresh.length : first
    const leaving = this.#fresh.slice(0, count)
    this.#fresh = this.#fresh.slice(count)
    this.#freshEnds = this.#freshEnds.slice(count)
    this.#freshForgotten = this.#freshForgotten.filter((position) => position >= this.#position)
    this.#freshLooked = 0
    for (let i = 0; i < leaving.length; i++) {
      const job = leaving[i] as Job
      if (!isGone(job)) this.#leave(job)
      if (i % STEP === STEP - 1) await breathe()
    }
  }

  #leave(job: Job): void {
    if (job.lastPosition >= this.#position) {
      // Something happened to it meanwhile: what the shelf has of it counts no more.
      this.#leaveShelf(job.id)
      this.#fresh.push(job)
      this.#freshEnds.push(job.lastPosition)
      return
    }
    this.ledger.evict(job)
    gone(job)
    this.onLeave()
  }

  #leaveShelf(id: string): boolean {
    const rows = rowsOf(this.#shelves, id)
    for (const { shelf, row } of rows) shelf.leave(row)
    return rows.length > 0
  }

  #cursors(): Cursor[] {
    const onShelves = this.#shelves.map((shelf) => this.#shelfCursor(shelf, this.#nextOn(shelf)))
    while (isGone(this.#fresh[this.#freshLooked])) this.#freshLooked += 1
    return [...onShelves, this.#freshCursor(this.#freshLooked)]
  }

  #shelfCursor(shelf: Shelf, start: number): Cursor {
    let at = start
    const { records } = shelf.about
    const end = (): number => (at < records ? shelf.endedAt(shelf.nthEnded(at)) : Infinity)
    return {
      endedAt: end(),
      take() {
        const id = shelf.idOf(shelf.nthEnded(at))
        do at += 1
        while (at < records && shelf.isGone(shelf.nthEnded(at)))
        this.endedAt = end()
        return id
      },
    }
  }

  #freshCursor(start: number): Cursor {
    let at = start
    const end = (): number => {
      const job = this.#fresh[at]
      return job === undefined ? Infinity : this.#endOf(job)
    }
    const fresh = this.#fresh
    return {
      endedAt: end(),
      take() {
        const { id } = fresh[at] as Job
        do at += 1
        while (isGone(fresh[at]))
        this.endedAt = end()
        return id
      },
    }
  }

  #nextOn(shelf: Shelf): number {
    let at = this.#looked.get(shelf) ?? 0
    while (at < shelf.about.records && shelf.isGone(shelf.nthEnded(at))) at += 1
    this.#looked.set(shelf, at)
    return at
  }

  #endOf(job: Job): number {
    return jobEndedAt(job, job.task === null ? this.ledger.tallies(job) : NO_TALLIES)
  }
}

/** Goes through jobs in the order of their ends. */
interface Cursor {
  /** Of the job it stands at; Infinity: behind the last. */
  endedAt: number
  /** Gives that job's id, and goes on. */
  take(): string
}

function oldestOf(cursors: readonly Cursor[]): Cursor | null {
  let best: Cursor | null = null
  for (const cursor of cursors) {
    if (cursor.endedAt < (best?.endedAt ?? Infinity)) best = cursor
  }
  return best
}

function rowsOf(shelves: readonly Shelf[], id: string): { shelf: Shelf; row: number }[] {
  return shelves.flatMap((shelf) => {
    const row = shelf.find(id)
    return row === -1 ? [] : [{ shelf, row }]
  })
}

function firstOf({ shelf, at }: { shelf: Shelf; at: number }): number {
  return shelf.firstPosition(shelf.nthSubmitted(at))
}
