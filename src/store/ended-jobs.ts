/**
 * Jobs that are over: the newest on trays in memory, the others on the shelves of the newest
 * checkpoint.
 *
 * A job leaves the ledger the moment it is over, and stands on a tray from then on; what is on
 * a tray goes, all of it at once, when there is a checkpoint that has it. If a command names
 * such a job it is taken in again for a while, as a guest: a copy that may leave at any time.
 * To be looked at, or listed, it need not come in.
 */
import type { Command, Job } from '../kernel/index.ts'
import { jobEndedAt } from '../kernel/index.ts'
import type { Disk, JobRecord, Manifest, Rack } from '../log/index.ts'
import {
  CorruptLog,
  HashFilter,
  hashKey,
  hashText,
  Interning,
  NO_HASH,
  recordTallies,
  Shelf,
  Tray,
  turn,
} from '../log/index.ts'
import type { Elsewhere } from './elsewhere.ts'
import type { Ledger } from './ledger.ts'
import type { Retention } from './retention.ts'
import { Forgetting } from './retention.ts'
import { keepSpec } from './stored-job.ts'
import type { Listed } from './views.ts'
import { listing } from './views.ts'

/** When there are so many, guests leave. */
const MOST_GUESTS = 1_000
/** Jobs that are read page by page at the same time: each may be large. */
const MOST_READ = 4
/** Jobs that are looked up between two turns of the event loop: a few milliseconds. */
const STEP = 500
/** Rows whose hashes are noted between two turns: a fraction of a millisecond. */
const HASHES_STEP = 8_192
/** So many jobs are expected at least. */
const FEW_JOBS = 65_536

/** A tray, and the waypoint behind which its jobs came to their ends. */
interface Laid {
  readonly tray: Tray
  readonly since: number
}

export class EndedJobs implements Elsewhere {
  readonly #disk: Disk
  readonly #folder: string
  readonly #interning = new Interning()
  #shelves: Shelf[] = []
  /** In the order of time. */
  #trays: Laid[] = []
  /** The hashes of all ids and keys that stand here, and perhaps some more. */
  #known = new HashFilter(FEW_JOBS)
  /** The same for the shelves that are being adopted. */
  #soonKnown: HashFilter | null = null
  /** Where the checkpoint ends that the shelves belong to. */
  #position = 0
  /** The newest waypoint: where a checkpoint ends, or will end that is being made. */
  #waypoint = 0
  /** Over before the newest waypoint, and changed or forgotten since. */
  #outdated: string[] = []
  /** Copies of jobs that stand here, and are in memory again. */
  readonly #guests = new Set<Job>()
  readonly #forgetting = new Forgetting()
  /** Jobs whose outputs are being read page by page: each is taken from its shelf once. */
  readonly #beingRead = new Map<string, JobRecord>()
  /** Whose jobs these are; set once, before anything else happens. */
  ledger!: Ledger
  /** Called for each shelf whose tables had to be made again. */
  onRebuilt: (file: string) => void = () => undefined

  /** Told, when jobs are to be forgotten, of one that cannot be read. */
  set onUnreadable(told: (error: Error) => void) {
    this.#forgetting.onUnreadable = told
  }

  constructor(disk: Disk, folder: string) {
    this.#disk = disk
    this.#folder = folder
  }

  findKey(type: string, key: string): JobRecord | null {
    if (!this.#known.mayHave(hashKey(type, key))) return null
    try {
      for (const rack of this.#racks()) {
        const row = rack.findKey(type, key, this.#interning)
        if (row !== -1) return rack.read(row, this.#interning)
      }
    } catch (error) {
      throw naming(error, `the ${type} with the key '${key}'`)
    }
    return null
  }

  mayHave(id: string): boolean {
    return this.#known.mayHave(hashText(id))
  }

  find(id: string): JobRecord | null {
    if (!this.mayHave(id)) return null
    for (const { tray } of this.#trays) {
      const row = tray.find(id)
      if (row !== -1) return tray.read(row, this.#interning)
    }
    try {
      for (const shelf of this.#shelves) {
        const row = shelf.find(id)
        if (row !== -1) return shelf.read(row, this.#interning)
      }
    } catch (error) {
      throw naming(error, `job '${id}'`)
    }
    return null
  }

  /** The same, to be asked for again and again until `wasRead`. */
  findToRead(id: string): JobRecord | null {
    const record = this.#beingRead.get(id) ?? this.find(id)
    if (record === null) return null
    // The latest last. Whoever stops half-way does not say so: others take the place.
    this.#beingRead.delete(id)
    this.#beingRead.set(id, record)
    const [oldest] = this.#beingRead.keys()
    if (this.#beingRead.size > MOST_READ && oldest !== undefined) this.#beingRead.delete(oldest)
    return record
  }

  wasRead(id: string): void {
    this.#beingRead.delete(id)
  }

  welcome(job: Job): void {
    this.#guests.add(job)
  }

  seeOut(): void {
    if (this.#guests.size < MOST_GUESTS) return
    for (const guest of this.#guests) this.ledger.evict(guest)
    this.#guests.clear()
  }

  /** A job in memory is over: it leaves. */
  ended(job: Job): void {
    const stages = this.ledger.world.tasks.get(job.id) ?? null
    // Once: it may have to be read.
    keepSpec(job)
    const endedAt = jobEndedAt(job, this.ledger.tallies(job))
    const tray = this.#tray()
    const row = tray.add(job, stages, endedAt)
    note(this.#known, tray, row)
    if (this.#soonKnown !== null) note(this.#soonKnown, tray, row)
    this.#forgetting.added(job.spec, endedAt)
    this.ledger.evict(job)
  }

  /** Something was noted about a job that is over: from now on it stands here as it is now. */
  changed(job: Job): void {
    this.#guests.delete(job)
    this.#takeOff(job)
    this.ended(job)
  }

  forgot(job: Job): void {
    this.#guests.delete(job)
    this.#takeOff(job)
  }

  /** Forgetting a job was refused: it is not named again for a while. */
  postpone(id: string, now: number): void {
    this.#forgetting.postpone(id, now)
  }

  /** A checkpoint will be made that has everything up to here. */
  waypoint(position: number): void {
    this.#waypoint = position
    this.#outdated = []
  }

  /** Takes on the shelves of a checkpoint. What stands on them leaves memory. */
  async adopt(manifest: Manifest): Promise<void> {
    const before = new Map(this.#shelves.map((shelf) => [shelf.about.name, shelf]))
    const fresh = manifest.shelves.filter(({ name }) => !before.has(name))
    const opened = await this.#open(fresh)
    const shelves = manifest.shelves.map(({ name }) => {
      return (before.get(name) ?? opened.get(name)) as Shelf
    })
    // Everything that can fail comes BEFORE the change, which is made at once.
    const rows: { shelf: Shelf; row: number }[] = []
    const racks = [...shelves, ...this.#trays.map(({ tray }) => tray)]
    const jobs = racks.reduce((sum, { records }) => sum + records, FEW_JOBS)
    // Twice as many: before the next ones are adopted, more come.
    const known = (this.#soonKnown = new HashFilter(2 * jobs))
    try {
      await learn(known, racks)
      // What has changed while the checkpoint was made stands on its shelves all the same.
      for (let i = 0; i < this.#outdated.length; i++) {
        if (i % STEP === STEP - 1) await turn()
        rows.push(...rowsOf(shelves, this.#outdated[i] as string))
      }
    } catch (error) {
      this.#soonKnown = null
      for (const shelf of opened.values()) await shelf.close()
      throw error
    }
    this.#known = known
    this.#soonKnown = null
    for (const [i, { name, gone }] of manifest.shelves.entries()) {
      // What has changed since the shelf was made stands on another one now.
      for (const row of gone) shelves[i]?.leave(row)
      before.delete(name)
    }
    this.#shelves = shelves
    this.#position = manifest.position
    this.#waypoint = Math.max(this.#waypoint, manifest.position)
    for (const { shelf, row } of rows) shelf.leave(row)
    this.#trays = this.#trays.filter(({ since }) => since >= manifest.position)
    for (const shelf of before.values()) await shelf.close()
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
  toForget(retention: Retention, now: number, limit: number): Command[] {
    return this.#forgetting.due(this.#racks(), retention, now, limit)
  }

  /** Jobs that were submitted behind a position, in order. Good until something changes. */
  *after(position: number): IterableIterator<Listed> {
    const cursors = this.#racks().map((rack) => ({ rack, at: rack.submittedUpTo(position) }))
    for (;;) {
      let best: (typeof cursors)[number] | null = null
      for (const cursor of cursors) {
        const { rack } = cursor
        while (cursor.at < rack.records && rack.isGone(rack.nthSubmitted(cursor.at))) {
          cursor.at += 1
        }
        if (cursor.at === rack.records) continue
        if (best === null || firstOf(cursor) < firstOf(best)) best = cursor
      }
      if (best === null) return
      const record = best.rack.read(best.rack.nthSubmitted(best.at), this.#interning)
      best.at += 1
      yield listing(record.job, recordTallies(record), 0)
    }
  }

  async close(): Promise<void> {
    for (const shelf of this.#shelves) await shelf.close()
  }

  #racks(): Rack[] {
    return [...this.#shelves, ...this.#trays.map(({ tray }) => tray)]
  }

  /** Where the next job goes. */
  #tray(): Tray {
    const newest = this.#trays.at(-1)
    if (newest?.since === this.#waypoint && !newest.tray.isFull) return newest.tray
    const tray = new Tray()
    this.#trays.push({ tray, since: this.#waypoint })
    return tray
  }

  /**
   * What stands here of a job counts no more. That was decided, and must not fail, so no file is
   * looked at.
   */
  #takeOff({ id, firstPosition }: Job): void {
    this.#beingRead.delete(id)
    for (const { tray, since } of this.#trays) {
      const row = tray.find(id)
      if (row === -1) continue
      tray.leave(row)
      if (since < this.#waypoint) this.#outdated.push(id)
      return
    }
    let wasHere = false
    for (const shelf of this.#shelves) {
      const row = shelf.rowOf(id, firstPosition)
      if (row === -1) continue
      shelf.leave(row)
      wasHere = true
    }
    if (wasHere && this.#position < this.#waypoint) this.#outdated.push(id)
  }
}

function note(known: HashFilter, rack: Rack, row: number): void {
  known.add(rack.idHash(row))
  const keyHash = rack.keyHash(row)
  if (keyHash !== NO_HASH) known.add(keyHash)
}

/** Notes all that stand there. Those that come meanwhile are noted by whoever brings them. */
async function learn(known: HashFilter, racks: readonly Rack[]): Promise<void> {
  let noted = 0
  for (const rack of racks) {
    for (let row = 0; row < rack.records; row++) {
      note(known, rack, row)
      noted += 1
      if (noted % HASHES_STEP === 0) await turn()
    }
  }
}

function naming(error: unknown, job: string): unknown {
  return error instanceof CorruptLog ? error.about(job) : error
}

function rowsOf(shelves: readonly Shelf[], id: string): { shelf: Shelf; row: number }[] {
  return shelves.flatMap((shelf) => {
    const row = shelf.find(id)
    return row === -1 ? [] : [{ shelf, row }]
  })
}

function firstOf({ rack, at }: { rack: Rack; at: number }): number {
  return rack.firstPosition(rack.nthSubmitted(at))
}
