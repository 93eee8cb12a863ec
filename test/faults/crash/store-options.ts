/**
 * How the store is opened that is killed: everything small and short, so that segments are
 * changed, made ahead and removed, and checkpoints written, all the time.
 */
import type { DirectoryOptions } from '../../../src/store/directory/open-directory.ts'

export const STORE_OPTIONS: DirectoryOptions = {
  segmentBytes: 64 * 1_024,
  reserveBytes: 8 * 1_024,
  checkpointBytes: 32 * 1_024,
  // Long enough for every entry to be looked at before it goes.
  historyMs: 15_000,
  retention: { count: 400 },
}
