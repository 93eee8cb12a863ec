/**
 * Makes the state of a directory from what is on the disk: the newest checkpoint that checks, and
 * the log behind it; without a checkpoint, the whole log. All three ways give the same state.
 */
import type { Job } from '../../kernel/index.ts'
import type { Disk, LogFound, Manifest } from '../../log/index.ts'
import {
  ByteReader,
  CorruptLog,
  decodeEntry,
  findMark,
  Interning,
  listCheckpoints,
  MalformedBytes,
  readJob,
  readLog,
  readRecords,
  MARKER_CODE,
} from '../../log/index.ts'
import { COPYING_FILE, CopyUnfinished } from '../errors.ts'
import type { StoreNotice } from '../notice.ts'
import { JobWithStoredSpec } from '../state/job-with-stored-spec.ts'
import { DirectoryState } from './directory-state.ts'

export interface LoadedDirectory {
  readonly state: DirectoryState
  /** Null: there was no log. */
  readonly log: LogFound | null
  /** Newest first, the one that was used at their head. */
  readonly manifests: readonly Manifest[]
  /** Entries that were replayed. */
  readonly entries: number
}

export async function loadDirectory(
  disk: Disk,
  folder: string,
  onNotice: (notice: StoreNotice) => void,
): Promise<LoadedDirectory> {
  if ((await disk.list(folder)).includes(COPYING_FILE)) throw new CopyUnfinished(folder)
  const { manifests, bad } = await listCheckpoints(disk, folder)
  for (const position of bad) {
    onNotice({ kind: 'checkpoint-damaged', position, why: 'its manifest does not check.' })
  }
  await assertOneStore(disk, folder, manifests, bad)
  const good = [...manifests]
  const told = new Set<string>()
  // Once a file: checkpoints have files of finished jobs in common, and each that is made reads them.
  const onRebuilt = (file: string): void => {
    if (told.has(file)) return
    told.add(file)
    onNotice({ kind: 'finished-index-rebuilt', file })
  }
  const onUnreadable = (error: Error): void => {
    if (told.has(error.message)) return
    told.add(error.message)
    onNotice({ kind: 'job-unreadable', error })
  }
  for (;;) {
    const [manifest] = good
    const state = new DirectoryState(disk, folder)
    state.finished.onRebuilt = onRebuilt
    state.finished.onUnreadable = onUnreadable
    if (manifest === undefined) return replayLog(disk, folder, state, [], 0)
    try {
      await restoreCheckpoint(disk, folder, state, manifest)
    } catch (error) {
      await state.close()
      if (!isDamage(error)) throw error
      const why = (error as Error).message
      onNotice({ kind: 'checkpoint-damaged', position: manifest.position, why })
      good.shift()
      continue
    }
    try {
      return await replayLog(disk, folder, state, good, manifest.position)
    } catch (error) {
      await state.close()
      throw error
    }
  }
}

/** Checkpoints without a log, or of another store, are no accident: a person must look. */
async function assertOneStore(
  disk: Disk,
  folder: string,
  manifests: readonly Manifest[],
  bad: readonly number[],
): Promise<void> {
  const mark = await findMark(disk, folder)
  const file = `${folder}/MARK`
  if (mark.kind === 'none' && manifests.length + bad.length > 0) {
    const why = 'it is missing, but there is a checkpoint.'
    throw new CorruptLog({ file, offset: 0, position: null }, why)
  }
  if (mark.kind !== 'mark') return
  const foreign = manifests.find(({ storeId }) => storeId !== mark.storeId)
  if (foreign === undefined) return
  const why = `the checkpoint at position ${foreign.position} is of another store.`
  throw new CorruptLog({ file, offset: 0, position: foreign.position }, why)
}

/** The checkpoint's own bytes are wrong, or not there: another one may do. */
function isDamage(error: unknown): boolean {
  return (
    error instanceof CorruptLog ||
    error instanceof MalformedBytes ||
    (error as NodeJS.ErrnoException).code === 'ENOENT'
  )
}

async function restoreCheckpoint(
  disk: Disk,
  folder: string,
  { ledger, live, specs, finished, erased }: DirectoryState,
  manifest: Manifest,
): Promise<void> {
  ledger.restoreManifest(manifest)
  erased.restore(manifest.erased)
  await finished.useCheckpoint(manifest)
  finished.countAll()
  await specs.useCheckpoint(manifest)
  const interning = new Interning()
  const jobs: Job[] = []
  await readRecords(disk, folder, manifest.live, (bytes, body, length) => {
    const { job, stages } = readJob(new ByteReader(bytes, body, body + length), interning)
    const stored = new JobWithStoredSpec(job, specs)
    ledger.restore({ job: stored, stages })
    const kept = ledger.park(stored)
    jobs.push(kept)
    if (kept !== stored) return
    // The indexes have asked for all that they need: the rest is read when it is asked for.
    stored.loaded = null
    specs.unloadReplaced(stored)
  })
  live.addAll(jobs)
}

async function replayLog(
  disk: Disk,
  folder: string,
  state: DirectoryState,
  manifests: readonly Manifest[],
  from: number,
): Promise<LoadedDirectory> {
  const interning = new Interning()
  let entries = 0
  const log = await readLog(disk, folder, from, (record, position, bytes, body) => {
    const { code, length, version } = record
    if (code === MARKER_CODE) return
    const { entry } = decodeEntry(bytes, body, length, code, version, position, interning)
    state.replayEntry(entry, position)
    entries += 1
  })
  if (log === null && from > 0) {
    const place = { file: folder, offset: 0, position: from }
    throw new CorruptLog(place, 'there is a checkpoint, and no log.')
  }
  const first = log?.segments[0]
  if (first !== undefined && first.head.base > from) {
    const place = { file: first.path, offset: 0, position: from }
    throw new CorruptLog(
      place,
      'the log before it is gone, and no checkpoint that checks goes so far.',
    )
  }
  return { state, log, manifests, entries }
}
