/**
 * Runs a story on a simulated disk again and again, with the power going one call later each
 * time, until the story gets through.
 */
import type { SimDisk } from './sim-disk.ts'

export interface Crash {
  /** During which call the power went; the first is 1. */
  readonly call: number
  /** Ask it for its outcomes. */
  readonly disk: SimDisk
  /** The story got through, and the power goes right after it. */
  readonly isDone: boolean
}

/**
 * Each run begins with a clone of `start`. An error that is not due to the power is thrown.
 * `step`: 1 for every call, else some are passed over.
 */
export async function* everyCrash(
  start: SimDisk,
  story: (disk: SimDisk) => Promise<void>,
  step = 1,
): AsyncGenerator<Crash> {
  for (let call = 1; ; call += step) {
    const disk = start.clone()
    disk.crashAt(call)
    try {
      await story(disk)
    } catch (error) {
      // Whatever the story made of it: with the power gone nothing else can be the reason.
      if (!disk.isLost) throw error
    }
    // A story that swallows the error goes on without a disk; that is not getting through.
    const isDone = !disk.isLost
    yield { call, disk, isDone }
    if (isDone) return
  }
}
