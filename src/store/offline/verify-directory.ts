/**
 * Verify: whether a folder that no store has open holds what it should, to the last byte and to
 * the last entry. It changes nothing, and names everything that is wrong, each with its place.
 *
 * First the bytes: every segment, the mark, every file of every checkpoint. Then the entries:
 * each must have been legitimate, the invariants must hold, the log must lead to every
 * checkpoint, and opening must give what the whole log says. Where the log is damaged, or its
 * beginning was removed, this goes on from the next checkpoint that checks.
 *
 * Damage never makes it throw. It refuses a folder that is owned, and formats that are newer.
 */
import type { Entry, Job, StageTasks } from '../../kernel/index.ts'
import { PawlError, sameContent, worldViolations } from '../../kernel/index.ts'
import type {
  Disk,
  ErasedJob,
  LogSurvey,
  Manifest,
  Problem,
  LogRun,
  CheckpointJob,
  Torn,
} from '../../log/index.ts'
import {
  allProblems,
  ByteWriter,
  damageIn,
  isReadable,
  LogReader,
  readCheckpoint,
  surveyCheckpoints,
  surveyLog,
  UNIT,
  writeJob,
} from '../../log/index.ts'
import { checkEntry, texts } from '../state/entry-check.ts'
import { Ledger } from '../state/ledger.ts'
import type { DirectoryState } from '../directory/directory-state.ts'
import { loadDirectory } from '../directory/load-directory.ts'
import type { OfflineOptions } from './owned-folder.ts'
import { withOwnedFolder } from './owned-folder.ts'

export interface VerifyOptions extends OfflineOptions {
  /** Called now and then with how much of the work is done, in bytes. */
  readonly onProgress?: (done: number, total: number) => void
}

export interface VerifyReport {
  readonly segments: number
  /** Entries that are whole. */
  readonly entries: number
  readonly checkpoints: number
  /** Jobs at the end of the log. */
  readonly jobs: number
  /** From here on entries were folded: 0, or the oldest checkpoint if the log before it is gone. */
  readonly from: number
  /** Where the log ends. */
  readonly end: number
  /** What opening would cut off: nothing that was acknowledged, so it is no problem. */
  readonly torn: Torn | null
  /** None: all is well. At most 1,000 are listed. */
  readonly problems: readonly Problem[]
}

const MOST_PROBLEMS = 1_000

export async function verifyDirectory(
  path: string,
  options: VerifyOptions = {},
): Promise<VerifyReport> {
  return withOwnedFolder(path, options, (folder, { disk }) =>
    new Verification(disk, folder, options.onProgress).run(),
  )
}

class Verification {
  readonly #disk: Disk
  readonly #folder: string
  readonly #onProgress: (done: number, total: number) => void
  readonly #problems: Problem[] = []
  #done = 0
  #total = 0
  /** Where folding began. */
  #from: number | null = null

  constructor(disk: Disk, folder: string, onProgress: VerifyOptions['onProgress']) {
    this.#disk = disk
    this.#folder = folder
    this.#onProgress = onProgress ?? ((): void => undefined)
  }

  async run(): Promise<VerifyReport> {
    const disk = this.#disk
    const folder = this.#folder
    this.#total = 2 * (await this.#bytesOf(/^log-/)) + (await this.#bytesOf(/^(?:live|finished)-/))
    const survey = await surveyLog(disk, folder, { onBytes: (bytes) => this.#advance(bytes) })
    const checkpoints = await surveyCheckpoints(disk, folder, survey.storeId)
    this.#advance(await this.#bytesOf(/^(?:live|finished)-/))
    for (const problem of allProblems(survey, checkpoints)) this.#add(problem)
    const manifests = checkpoints.filter(isReadable).flatMap(({ manifest }) => manifest ?? [])
    let audit: LogAudit | null = null
    for (const run of survey.runs) audit = await this.#fold(run, manifests)
    await this.#compareOpening(audit, survey)
    this.#onProgress(this.#total, this.#total)
    return {
      segments: survey.files.length,
      entries: survey.runs.reduce((sum, { entries }) => sum + entries, 0),
      checkpoints: checkpoints.length,
      jobs: audit?.ledger.world.jobs.size ?? 0,
      from: this.#from ?? 0,
      end: survey.runs.at(-1)?.end ?? 0,
      torn: survey.torn,
      problems: this.#problems,
    }
  }

  /** Folds a run from where a state is known; null: at its end none is. */
  async #fold(run: LogRun, manifests: readonly Manifest[]): Promise<LogAudit | null> {
    const reader = new LogReader(this.#disk, () => run.segments)
    try {
      let audit = run.from === 0 ? new LogAudit() : null
      let place = run.from
      for (const manifest of manifests) {
        if (!run.markers.has(manifest.position)) continue
        if (audit !== null) audit = await this.#read(reader, run, audit, place, manifest.position)
        if (audit === null) audit = await LogAudit.from(this.#disk, this.#folder, manifest)
        else await this.#compare(audit, manifest)
        this.#from ??= run.from === 0 ? 0 : manifest.position
        place = manifest.position
      }
      if (audit === null) return null
      this.#from ??= run.from
      const last = await this.#read(reader, run, audit, place, run.end)
      for (const what of last?.violations() ?? []) this.#addAt(run, run.end, what)
      return last
    } finally {
      await reader.close()
    }
  }

  /** Applies the entries up to a place; null: they cannot be read. */
  async #read(
    reader: LogReader,
    run: LogRun,
    audit: LogAudit,
    from: number,
    until: number,
  ): Promise<LogAudit | null> {
    try {
      for (let place = from; place < until;) {
        const { entries, next } = await reader.from(place, until)
        for (const { entry, position } of entries) {
          for (const what of audit.apply(entry, position)) this.#addAt(run, position, what)
        }
        this.#advance((next - place) * UNIT)
        place = next
      }
      return audit
    } catch (error) {
      const problem = damageIn(error, this.#folder)
      if (problem === null) throw error
      this.#add(problem)
      return null
    }
  }

  /** The state at a checkpoint's position: sound in itself, and what the checkpoint holds. */
  async #compare(audit: LogAudit, manifest: Manifest): Promise<void> {
    const { position, marker } = manifest
    audit.ledger.tick(marker.now)
    const add = (what: string): void => this.#add({ what, file: null, offset: null, position })
    for (const what of audit.violations()) add(what)
    const differences = await compareCheckpoint(this.#disk, this.#folder, manifest, audit.ledger)
    this.#differ(differences, position)
    const known = new Set(manifest.erased.map(({ job, from }) => `${from} ${job}`))
    for (const { job, from } of audit.erased) {
      if (!known.has(`${from} ${job}`)) add(`${job} was erased, and the checkpoint does not say so`)
    }
  }

  /** What opening would give must be what the log says; opening that fails is a problem itself. */
  async #compareOpening(audit: LogAudit | null, survey: LogSurvey): Promise<void> {
    try {
      const { state } = await loadDirectory(this.#disk, this.#folder, () => undefined)
      try {
        if (audit !== null) {
          this.#differ(compareLoaded(state, audit.ledger), survey.runs.at(-1)?.end)
        }
      } finally {
        await state.close()
      }
    } catch (error) {
      // Written by a newer version: that is no damage.
      if (error instanceof PawlError && error.kind === 'rejected') throw error
      const problem = damageIn(error, this.#folder) ?? broken(error)
      const isKnown = this.#problems.some(
        ({ file, offset }) => file === problem.file && offset === problem.offset,
      )
      if (!isKnown) this.#add({ ...problem, what: `it does not open: ${problem.what}` })
    }
  }

  #differ(differences: readonly Difference[], position: number | undefined): void {
    for (const one of differences) this.#add({ ...one, position: position ?? null })
  }

  #addAt(run: LogRun, position: number, what: string): void {
    const segment = run.segments.findLast(({ base }) => base <= position)
    this.#add({ what, file: segment?.path ?? null, offset: null, position })
  }

  #add(problem: Problem): void {
    if (this.#problems.length < MOST_PROBLEMS) this.#problems.push(problem)
  }

  #advance(bytes: number): void {
    this.#done = Math.min(this.#done + bytes, this.#total)
    this.#onProgress(this.#done, this.#total)
  }

  async #bytesOf(names: RegExp): Promise<number> {
    let sum = 0
    for (const name of await this.#disk.list(this.#folder)) {
      if (!names.test(name)) continue
      const file = await this.#disk.open(`${this.#folder}/${name}`, 'read')
      sum += await file.size()
      await file.close()
    }
    return sum
  }
}

/** Entries that cannot be applied were named already, each with its place. */
function broken(error: unknown): Problem {
  return { what: (error as Error).message, file: null, offset: null, position: null }
}

/**
 * Entries are applied one after the other, and each must have been legitimate when it was written.
 * It has a ledger of its own with every job in memory, so that its indexes are those of a store that
 * was never stopped.
 */
export class LogAudit {
  readonly ledger = new Ledger()
  /** Jobs whose `JobErased` was applied. */
  readonly erased: ErasedJob[] = []
  /** What is wrong stays wrong: it is named once. */
  readonly #named = new Set<string>()

  /** Begins with the state that a checkpoint holds. */
  static async from(disk: Disk, folder: string, manifest: Manifest): Promise<LogAudit> {
    const audit = new LogAudit()
    const { ledger } = audit
    ledger.restoreManifest(manifest)
    await readCheckpoint(disk, folder, manifest, ({ record }) => ledger.restore(record))
    return audit
  }

  /** What is wrong with the next entry. */
  apply(entry: Entry, position: number): string[] {
    const { ledger } = this
    const { step, task } = checkEntry(ledger.world, entry, () => {
      const job = ledger.apply(entry)
      if (job === null) return
      if (entry.type === 'JobSubmitted') job.firstPosition = position
      job.lastPosition = position
      if (entry.type !== 'JobErased') return
      this.erased.push({ job: job.id, from: job.firstPosition, through: position })
    })
    return [...step, ...this.#newOf(task)]
  }

  /** Which invariants do not hold now. */
  violations(): string[] {
    const { ledger } = this
    try {
      return this.#newOf(texts(worldViolations(ledger.world, ledger, ledger.now)))
    } catch (error) {
      return [`the invariants cannot be checked: ${(error as Error).message}`]
    }
  }

  #newOf(problems: readonly string[]): string[] {
    const fresh = problems.filter((what) => !this.#named.has(what))
    for (const what of fresh) this.#named.add(what)
    return fresh
  }
}

/**
 * What differs between two states, record by record: a job by the very bytes that a checkpoint would
 * hold of it, positions included.
 */
interface Difference {
  readonly what: string
  readonly file: string | null
  readonly offset: number | null
}

/** A checkpoint beside the state that the log makes up to its position. */
async function compareCheckpoint(
  disk: Disk,
  folder: string,
  manifest: Manifest,
  ledger: Ledger,
): Promise<Difference[]> {
  const found: Difference[] = []
  const seen = new Set<string>()
  const encoder = new Encoder()
  await readCheckpoint(disk, folder, manifest, (stored) => {
    const { id } = stored.record.job
    const { file, offset } = stored
    const add = (what: string): number => found.push({ what: `${id} ${what}`, file, offset })
    if (seen.has(id)) add('is in the checkpoint twice')
    seen.add(id)
    const job = ledger.world.jobs.get(id)
    if (job === undefined) add('is in the checkpoint, and not in what the log says')
    else checkJob(ledger, job, stored, encoder, add)
  })
  const plain = (what: string): number => found.push({ what, file: null, offset: null })
  for (const id of ledger.world.jobs.keys()) {
    if (!seen.has(id)) plain(`${id} is not in the checkpoint`)
  }
  const { queues, schedules, marker } = manifest
  checkAll(
    'queue',
    queues.map((one) => [one.name, one]),
    ledger.world.queues,
    plain,
  )
  checkAll(
    'schedule',
    schedules.map((one) => [one.id, one]),
    ledger.world.schedules,
    plain,
  )
  const buckets = ledger.ready.buckets(marker.now)
  if (!sameBuckets(marker.queues, buckets.queues)) plain('what rates of queues have used differs')
  if (!sameBuckets(marker.limits, buckets.limits)) plain('what rates of limits have used differs')
  return found
}

function checkJob(
  ledger: Ledger,
  job: Job,
  { bytes, isFinished }: CheckpointJob,
  encoder: Encoder,
  add: (what: string) => void,
): void {
  const expected = encoder.encode(job, ledger.world.tasks.get(job.id) ?? null)
  if (!expected.equals(bytes)) add('is not in the checkpoint as the log says')
  const isOver = ledger.isOver(job)
  if (isOver !== isFinished)
    add(
      isOver
        ? 'is over, and not among the finished jobs'
        : 'is among the finished jobs, and not over',
    )
}

/** What opening gives beside the state that the whole log makes. */
function compareLoaded(state: DirectoryState, ledger: Ledger): Difference[] {
  const found: Difference[] = []
  const plain = (what: string): number => found.push({ what, file: null, offset: null })
  const { live, finished, ledger: other } = state
  const here = new Encoder()
  const there = new Encoder()
  for (const job of ledger.world.jobs.values()) {
    const inMemory = other.inMemory(job.id)
    const record =
      inMemory === undefined
        ? finished.find(job.id)
        : { job: inMemory, stages: other.world.tasks.get(job.id) ?? null }
    if (record === null) {
      plain(`${job.id} is not there when the store is opened`)
      continue
    }
    const expected = here.encode(job, ledger.world.tasks.get(job.id) ?? null)
    if (!expected.equals(there.encode(record.job, record.stages))) {
      plain(`${job.id} is another when the store is opened than the log says`)
    }
  }
  const ids = new Set<string>()
  for (const job of live.after(0)) ids.add(job.id)
  for (const { job } of finished.after(0)) ids.add(job.id)
  for (const id of ids) {
    if (!ledger.world.jobs.has(id))
      plain(`${id} is there when the store is opened, and not in the log`)
  }
  checkAll('queue', other.world.queues, ledger.world.queues, plain)
  checkAll('schedule', other.world.schedules, ledger.world.schedules, plain)
  compareUse(other, ledger, plain)
  return found
}

function checkAll(
  kind: string,
  found: Iterable<readonly [string, unknown]>,
  expected: ReadonlyMap<string, unknown>,
  add: (what: string) => void,
): void {
  const records = new Map(found)
  for (const name of new Set([...records.keys(), ...expected.keys()])) {
    if (!sameContent(records.get(name), expected.get(name))) {
      add(`${kind} ${name} is not as the log says`)
    }
  }
}

/** What is held and used of queues and limits follows from the log, so it must be the same. */
function compareUse(other: Ledger, ledger: Ledger, add: (what: string) => void): void {
  const now = Math.max(other.now, ledger.now)
  const left = other.ready.buckets(now)
  const right = ledger.ready.buckets(now)
  if (!sameBuckets(left.queues, right.queues)) add('what rates of queues have used differs')
  if (!sameBuckets(left.limits, right.limits)) add('what rates of limits have used differs')
  const keys = new Set([...other.usage.keys(), ...ledger.usage.keys()])
  for (const key of keys) {
    const held = ledger.usage.get(key)?.held ?? 0
    if ((other.usage.get(key)?.held ?? 0) !== held) add(`limit ${key} is held by another number`)
  }
  for (const queue of ledger.world.queues.keys()) {
    const held = ledger.queueUsage(queue)?.held ?? 0
    if ((other.queueUsage(queue)?.held ?? 0) !== held) add(`queue ${queue} has another number held`)
  }
}

interface Named {
  readonly name: string
  readonly fullAt: number
}

function sameBuckets(a: readonly Named[], b: readonly Named[]): boolean {
  const other = new Map(b.map(({ name, fullAt }) => [name, fullAt]))
  return a.length === b.length && a.every(({ name, fullAt }) => other.get(name) === fullAt)
}

/** A job as a checkpoint holds it. The bytes are only lent until the next one. */
class Encoder {
  readonly #writer = new ByteWriter()

  encode(job: Job, stages: StageTasks | null): Buffer {
    this.#writer.at = 0
    writeJob(this.#writer, job, stages)
    return this.#writer.buffer.subarray(0, this.#writer.at)
  }
}
