/**
 * Opens the store that is measured, as anybody would, and says so when its checkpoints fail:
 * figures of a store that makes none would not be its own.
 */
import type { DirectoryStore } from '../../src/store/directory/directory-store.ts'
import type { DirectoryOptions } from '../../src/store/directory/open-directory.ts'
import { openDirectory } from '../../src/store/directory/open-directory.ts'

export function openStore(folder: string, options: DirectoryOptions = {}): Promise<DirectoryStore> {
  return openDirectory(folder, {
    ...options,
    onNotice(notice) {
      options.onNotice?.(notice)
      if (notice.kind !== 'checkpoint-made') console.error('NOTICE of the store:', notice)
    },
  })
}
