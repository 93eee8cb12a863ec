/**
 * Repair of a folder that no store has open: see `log/repair.ts` for what it does and keeps.
 * It never runs by itself.
 */
import type { RepairReport } from '../../log/index.ts'
import { repairLog } from '../../log/index.ts'
import type { OfflineOptions } from './owned-folder.ts'
import { withOwnedFolder } from './owned-folder.ts'

export interface RepairOptions extends OfflineOptions {
  /** False: only says what it would do. */
  readonly apply: boolean
}

export async function repairDirectory(path: string, options: RepairOptions): Promise<RepairReport> {
  return withOwnedFolder(path, options, (folder, { disk }) =>
    repairLog(disk, folder, options.apply),
  )
}
