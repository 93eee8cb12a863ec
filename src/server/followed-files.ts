/**
 * Files that the server reads again when they change, without a restart. It looks at them from time to time: not all file systems
 * tell, and a file may be moved over the old one.
 */
import { stat } from 'node:fs/promises'
import { repeatEvery } from '../store/clock.ts'

const LOOK_MS = 500

/**
 * Calls `read` when one of the files has changed, and once at the beginning: they may have changed since they were read. What it
 * throws is told, once for each change. Gives its end.
 */
export function followFiles(
  paths: readonly string[],
  read: () => void,
  onError: (error: Error) => void,
): () => void {
  let seen = ''
  let isLooking = false
  const look = async (): Promise<void> => {
    if (isLooking) return
    isLooking = true
    const found = await Promise.all(paths.map(stateOf))
    isLooking = false
    const now = found.join(' ')
    if (now === seen) return
    seen = now
    try {
      read()
    } catch (error) {
      onError(error as Error)
    }
  }
  void look()
  const timer = repeatEvery(LOOK_MS, () => void look())
  return () => timer.stop()
}

/** The same as long as no program has written it. */
async function stateOf(path: string): Promise<string> {
  try {
    const { mtimeMs, size, ino } = await stat(path)
    return `${mtimeMs}/${size}/${ino}`
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code)
  }
}
