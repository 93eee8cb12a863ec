/**
 * Work on a folder that no store has open: it is owned meanwhile, as a store would own it, and
 * released afterwards. Refuses a folder that another process owns. Repair is nothing more than that
 * around `repairLog`, and never runs by itself.
 */
import { resolve } from 'node:path'
import type { RepairReport } from '../../log/index.ts'
import { repairLog } from '../../log/index.ts'
import type { DirectoryOptions, DirectorySettings } from '../directory/open-directory.ts'
import { settingsFrom } from '../directory/open-directory.ts'

/** What of a store's options counts while it is not open. */
export type OfflineOptions = Pick<DirectoryOptions, 'disk' | 'own' | 'clock'>

export async function withOwnedFolder<T>(
  path: string,
  options: OfflineOptions,
  task: (folder: string, settings: DirectorySettings) => Promise<T>,
): Promise<T> {
  const folder = resolve(path)
  const { disk, own, clock } = options
  const settings = settingsFrom({
    ...(disk === undefined ? {} : { disk }),
    ...(own === undefined ? {} : { own }),
    ...(clock === undefined ? {} : { clock }),
  })
  const owner = await settings.own(folder)
  try {
    return await task(folder, settings)
  } finally {
    await owner.release()
  }
}

export interface RepairOptions extends OfflineOptions {
  /** False: only says what it would do. */
  readonly apply: boolean
}

export async function repairDirectory(path: string, options: RepairOptions): Promise<RepairReport> {
  return withOwnedFolder(path, options, (folder, { disk }) =>
    repairLog(disk, folder, options.apply),
  )
}
