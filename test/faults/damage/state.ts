/**
 * A whole state as one text: as a store shows it, and as the kernel makes it from entries. Where
 * entries stand is left out, so that states of different logs can be compared.
 */
import type { Entry, Job, Queue, Schedule, Task } from '../../../src/kernel/index.ts'
import { replay } from '../../../src/kernel/index.ts'
import type { Store } from '../../../src/store/store.ts'
import { sortedText } from './sorted-text.ts'

/** All that the stories here use. */
const QUEUES = ['q', 'default']
const SCHEDULES = ['s']

interface State {
  readonly jobs: Map<string, { job: Job; tasks: readonly (readonly Task[])[] }>
  readonly queues: Map<string, Queue>
  readonly schedules: Map<string, Schedule>
}

function textOf({ jobs, queues, schedules }: State): string {
  return sortedText({
    jobs: [...jobs]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, { job, tasks }]) => [id, { ...job, firstPosition: 0, lastPosition: 0 }, tasks]),
    // One that nobody ever configured has the defaults, or is not there: that is the same.
    queues: QUEUES.map((name) => queues.get(name)).filter((one) => (one?.version ?? 0) > 0),
    schedules: SCHEDULES.map((id) => schedules.get(id) ?? null),
  })
}

export async function stateOf(store: Store): Promise<string> {
  const jobs: State['jobs'] = new Map()
  const page = await store.query({ kind: 'jobs', limit: 1_000 })
  for (const { id } of page.jobs) {
    const view = await store.query({ kind: 'job', job: id })
    if (view === null) throw new Error(`job ${id} is listed, and not there`)
    jobs.set(id, { job: view.job, tasks: view.stages.map(({ tasks }) => tasks) })
  }
  const queues: State['queues'] = new Map()
  for (const queue of QUEUES) {
    queues.set(queue, (await store.query({ kind: 'queue', queue })).queue)
  }
  const schedules: State['schedules'] = new Map()
  for (const schedule of SCHEDULES) {
    const found = await store.query({ kind: 'schedule', schedule })
    if (found !== null) schedules.set(schedule, found)
  }
  return textOf({ jobs, queues, schedules })
}

export function stateFrom(entries: Iterable<Entry>): string {
  const world = replay(entries)
  const jobs: State['jobs'] = new Map()
  for (const [id, job] of world.jobs) {
    const stages = world.tasks.get(id)
    const tasks = job.task === null ? (stages ?? []).map((some) => some ?? []) : [[job.task]]
    jobs.set(id, { job, tasks })
  }
  return textOf({ jobs, queues: world.queues, schedules: world.schedules })
}
