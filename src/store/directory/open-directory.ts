/**
 * Opens a directory as a store: takes ownership, reads what is there, makes its end firm.
 */
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import type { Disk, Owner, WriterStart } from '../../log/index.ts'
import {
  createMark,
  DiskFull,
  isFull,
  LogReader,
  LogWriter,
  realDisk,
  removeOtherCheckpoints,
  recoverTail,
  takeOwnership,
} from '../../log/index.ts'
import { CheckpointSchedule } from './checkpoint-schedule.ts'
import type { Clock } from '../clock.ts'
import { awakeClock, FAR_BEHIND_MS, systemClock } from '../clock.ts'
import { DirectoryStore } from './directory-store.ts'
import type { LoadedDirectory } from './load-directory.ts'
import { loadDirectory } from './load-directory.ts'
import type { StoreNotice } from '../notice.ts'
import { newStoreId } from '../random.ts'
import type { Retention } from '../store.ts'
import { makeUsableFolder } from './usable-folder.ts'

const MIB = 1_024 * 1_024
const DAY_MS = 86_400_000

export interface DirectoryOptions {
  /**
   * How long, and how many, jobs that are over stay readable. Default: 7 days and 1,000,000.
   * `upkeep` names the commands that forget them; the engine sends these.
   */
  readonly retention?: Partial<Retention>
  /**
   * How long the entries themselves stay, once two checkpoints hold what they led to. Default
   * 7 days; Infinity keeps the history whole, and the disk must hold it.
   */
  readonly historyMs?: number
  /** A folder that old segments are moved to instead of being removed. Default: none. */
  readonly archive?: string
  /** Bytes of log between checkpoints, at least. Default 64 MiB. More makes opening slower. */
  readonly checkpointBytes?: number
  /** Bytes of a segment file of the log. Default 32 MiB, from 16 KiB to 1 GiB. */
  readonly segmentBytes?: number
  /** Room in the log that new work leaves for reports when the disk is full. Default 2 MiB. */
  readonly reserveBytes?: number
  /**
   * How many jobs that are not over time travel holds in memory at once. Default 25,000. Fewer take less
   * memory, and the log is read more often.
   */
  readonly snapshotJobs?: number
  /** Told what happens without being asked for: see `StoreNotice`. */
  readonly onNotice?: (notice: StoreNotice) => void
  /** Whether the leases of former owners are revoked. Default: true. */
  readonly presence?: boolean
  /** Default: `awakeClock`, which stands still while this process does. */
  readonly clock?: Clock
  readonly disk?: Disk
  /** Who makes sure that there is one owner. Default: a lock of the operating system. */
  readonly own?: (folder: string) => Promise<Owner>
}

export type DirectorySettings = Required<Omit<DirectoryOptions, 'archive' | 'retention'>> & {
  readonly archive: string | null
  readonly retention: Retention
}

export function settingsFrom(options: DirectoryOptions): DirectorySettings {
  const clock = options.clock ?? systemClock
  const asked = options.segmentBytes ?? 32 * MIB
  const segmentBytes = Math.min(1_024 * MIB, Math.max(16 * 1_024, asked))
  const note = (): { pid: number; host: string; since: number } => ({
    pid: process.pid,
    host: hostname(),
    since: clock.now(),
  })
  return {
    retention: { ageMs: 7 * DAY_MS, count: 1_000_000, ...options.retention },
    historyMs: options.historyMs ?? 7 * DAY_MS,
    archive: options.archive ?? null,
    checkpointBytes: options.checkpointBytes ?? 64 * MIB,
    segmentBytes,
    reserveBytes: Math.min(options.reserveBytes ?? 2 * MIB, segmentBytes / 4),
    snapshotJobs: options.snapshotJobs ?? 25_000,
    presence: options.presence ?? true,
    onNotice: options.onNotice ?? ((): void => undefined),
    clock,
    disk: options.disk ?? realDisk,
    own: options.own ?? ((folder) => takeOwnership(folder, note())),
  }
}

export async function openDirectory(
  path: string,
  options: DirectoryOptions = {},
): Promise<DirectoryStore> {
  const folder = resolve(path)
  const awake = options.clock === undefined ? awakeClock() : null
  const settings = settingsFrom(awake === null ? options : { ...options, clock: awake })
  try {
    await makeUsableFolder(settings.disk, folder)
    const owner = await settings.own(folder)
    const release = (): Promise<void> => {
      awake?.close()
      return owner.release()
    }
    try {
      return await openOwned(folder, settings, release)
    } catch (error) {
      await release()
      throw error
    }
  } catch (error) {
    awake?.close()
    throw isFull(error) ? new DiskFull(folder, settings.segmentBytes, error) : error
  }
}

async function openOwned(
  folder: string,
  settings: DirectorySettings,
  release: () => Promise<void>,
): Promise<DirectoryStore> {
  const { disk, clock, onNotice, retention } = settings
  const loaded = await loadDirectory(disk, folder, onNotice)
  const { state, manifests, entries } = loaded
  try {
    const torn = loaded.log === null ? null : await recoverTail(disk, folder, loaded.log)
    if (torn !== null) onNotice({ kind: 'torn-tail', torn })
    const { ledger } = state
    goOn(clock, ledger.now, onNotice)
    await removeOtherCheckpoints(disk, folder, manifests.slice(0, 2))
    const start = await startOf(disk, folder, loaded)
    const { segmentBytes, reserveBytes } = settings
    const now = (): number => ledger.tick(clock.now())
    const options = { segmentBytes, reserveBytes, now }
    const writer = await LogWriter.open(disk, folder, options, start)
    state.appendTo(writer)
    const reader = new LogReader(disk, () => writer.segments)
    const parts = { disk, folder, state, writer, reader }
    const checkpoints = new CheckpointSchedule({ ...parts, rules: settings, onNotice, manifests })
    const opening = { checkpoint: manifests[0]?.position ?? null, entries, torn }
    const { storeId: id } = start
    const { presence: hasPresence, snapshotJobs } = settings
    return new DirectoryStore({
      ...parts,
      id,
      clock,
      checkpoints,
      retention,
      opening,
      snapshotJobs,
      hasPresence,
      release,
    })
  } catch (error) {
    await state.close()
    throw error
  }
}

/** A clock that was years ahead once must not stop all work until that year has come. */
function goOn(clock: Clock, lastMs: number, onNotice: (notice: StoreNotice) => void): void {
  const byMs = lastMs - clock.now()
  if (byMs <= FAR_BEHIND_MS) return
  clock.goOnFrom?.(lastMs)
  onNotice({ kind: 'clock-behind', byMs })
}

/** A directory without a log begins one: the mark FIRST, because a log without one is damage. */
async function startOf(disk: Disk, folder: string, { log }: LoadedDirectory): Promise<WriterStart> {
  if (log !== null) return log
  const storeId = newStoreId()
  await createMark(disk, folder, storeId)
  return { segments: [], storeId, end: 0, link: 0 }
}
