/**
 * A golden directory: how the story is told to a store in a folder, and everything that a store
 * can be asked, as data that fits into a file.
 */
import { realDisk } from '../../src/log/index.ts'
import type { DirectoryOptions, DirectoryStore, PositionedEntry } from '../../src/store/index.ts'
import { openDirectory } from '../../src/store/index.ts'
import { BEGIN, STORY } from './story.ts'

export class TurnedClock {
  time: number
  constructor(time: number) {
    this.time = time
  }
  now(): number {
    return this.time
  }
}

/** Nothing happens by itself: no checkpoint, no entry that goes away. */
const OPTIONS: DirectoryOptions = {
  // One call of the story may need more than that, as the store estimates: its segment is larger.
  segmentBytes: 24 * 1_024,
  reserveBytes: 1_024,
  checkpointBytes: Infinity,
  historyMs: Infinity,
  // Another object than the real disk itself, so that checkpoints are made in this thread.
  disk: { ...realDisk },
  // Without a lock, which would leave a file behind.
  own: async () => ({ release: async () => {} }),
}

export async function openAt(
  folder: string,
  time: number,
  more: DirectoryOptions = {},
): Promise<DirectoryStore> {
  return openDirectory(folder, { ...OPTIONS, ...more, clock: new TurnedClock(time) })
}

/** Tells the story to a new store in a folder. What the time is at its end. */
export async function tellStory(folder: string): Promise<number> {
  const clock = new TurnedClock(BEGIN)
  const failures: Error[] = []
  const store = await openDirectory(folder, {
    ...OPTIONS,
    clock,
    onNotice: (notice) => {
      if (notice.kind === 'checkpoint-failed') failures.push(notice.error)
    },
  })
  for (const step of STORY) {
    if (step.kind === 'wait') clock.time += step.ms
    // oxlint-disable-next-line no-await-in-loop -- a story goes on when the last step is over
    else if (step.kind === 'checkpoint') await store.checkpoint()
    // oxlint-disable-next-line no-await-in-loop
    else await store.execute(step.commands)
  }
  await store.close()
  if (failures[0] !== undefined) throw failures[0]
  return clock.time
}

/** Everything that a store says of itself. */
export interface Told {
  readonly now: number
  readonly entries: readonly PositionedEntry[]
  readonly jobs: readonly unknown[]
  readonly histories: Readonly<Record<string, readonly number[]>>
  readonly queues: readonly unknown[]
  readonly schedules: readonly unknown[]
}

export async function ask(folder: string, now: number, more?: DirectoryOptions): Promise<Told> {
  const store = await openAt(folder, now, more)
  try {
    const entries: PositionedEntry[] = []
    const watch = store.watch(0)
    const last = await endOf(store)
    for await (const one of watch) {
      entries.push(one)
      if (one.position >= last) break
    }
    const { jobs: summaries } = await store.query({ kind: 'jobs', limit: 1_000 })
    const jobs: unknown[] = []
    const histories: Record<string, number[]> = {}
    for (const { id } of summaries) {
      jobs.push(await store.query({ kind: 'job', job: id }))
      const history = await store.query({ kind: 'history', job: id, limit: 1_000 })
      histories[id] = history.map(({ position }) => position)
    }
    const names = (field: 'queue' | 'schedule'): string[] => [
      ...new Set(
        entries.flatMap(({ entry }) => (entry as { [f in typeof field]?: string })[field] ?? []),
      ),
    ]
    const queues: unknown[] = []
    for (const name of names('queue')) {
      const { queue, held } = await store.query({ kind: 'queue', queue: name })
      // The rest of the answer is made from its jobs, and grows with the question.
      queues.push({ queue, held })
    }
    const schedules: unknown[] = []
    for (const schedule of names('schedule')) {
      schedules.push(await store.query({ kind: 'schedule', schedule }))
    }
    return plainly({ now, entries, jobs, histories, queues, schedules })
  } finally {
    await store.close()
  }
}

/** The position of the newest entry of all jobs: the story ends with one. */
async function endOf(store: DirectoryStore): Promise<number> {
  const { jobs } = await store.query({ kind: 'jobs', limit: 1_000 })
  let last = 0
  for (const { id } of jobs) {
    const view = await store.query({ kind: 'job', job: id })
    last = Math.max(last, view?.job.lastPosition ?? 0)
  }
  return last
}
/* oxlint-enable no-await-in-loop */

/** As it comes back from a file. */
function plainly<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}
