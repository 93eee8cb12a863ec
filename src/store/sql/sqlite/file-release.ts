/**
 * Whether a file that was closed is let go of. A driver may keep it open for as long as one of its prepared
 * statements is in memory: so the thread collects its garbage, and then looks whether the process has the file open.
 *
 * Where that cannot be seen the answer is no, and the thread ends, which lets go of everything.
 */
import { readdirSync, readlinkSync, realpathSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** What a process has open, where the system shows it. */
const OPEN_FILES = '/proc/self/fd'
/** The statements are collected at once, and what they hold a turn of the event loop later. */
const TURNS = 3

let collect: (() => void) | null = null

/** AFTER it was closed. `path`: absolute. */
export async function isLetGo(path: string): Promise<boolean> {
  if (process.platform !== 'linux') return false
  try {
    collect ??= collector()
    collect()
    const real = realpathSync(path)
    for (let turn = 0; turn < TURNS; turn++) {
      await new Promise((resolve) => setImmediate(resolve))
      if (!isOpen(real)) return true
    }
  } catch {
    // It is gone, or the system does not say what is open.
  }
  return false
}

/** Of this thread's memory alone, which is small: it takes a few milliseconds. */
function collector(): () => void {
  setFlagsFromString('--expose-gc')
  try {
    return runInNewContext('gc') as () => void
  } finally {
    setFlagsFromString('--no-expose-gc')
  }
}

/** The file itself, or one of those that SQLite keeps beside it. */
function isOpen(real: string): boolean {
  return readdirSync(OPEN_FILES).some((entry) => {
    try {
      return readlinkSync(`${OPEN_FILES}/${entry}`).startsWith(real)
    } catch {
      // It was closed meanwhile.
      return false
    }
  })
}
