/**
 * The views that are asked for, as they stand in the address of the page.
 */
import { KEYS } from './mix.ts'

export interface Route {
  readonly group: string
  /** What stands behind `#/`. */
  readonly hash: string
}

/** Null: any. One that many jobs have, one that few have, and a queue of many types. */
const STATES = [
  null,
  'CREATED',
  'QUEUED',
  'RUNNING',
  'RETRYING',
  'SUSPENDED',
  'QUARANTINED',
  'SUCCEEDED',
  'FAILED',
]
const TYPES = [null, 'mail', 'webhook', 'film']
const QUEUES = [null, 'mail', 'webhooks', 'reports']
const ORDERS = ['newest', 'oldest']
const OTHERS: readonly Readonly<Record<string, string>>[] = [
  { tag: 'tenant-5' },
  { tag: 'urgent' },
  { tag: 'urgent', state: 'FAILED' },
  { tag: 'urgent', type: 'webhook' },
  { key: KEYS[0] },
  { type: 'there-is-none' },
  { worker: 'watcher' },
]

export const OVERVIEW: Route = { group: 'first view', hash: '' }

export const PLAIN_ROUTES: readonly Route[] = [
  OVERVIEW,
  { group: 'quarantine', hash: 'quarantine' },
  { group: 'inbox', hash: 'inbox' },
  ...['queues', 'schedules', 'workers', 'machine'].map((hash) => ({
    group: 'queues, schedules, workers, machine',
    hash,
  })),
]

/** Every filter by state, type and queue, from both ends of the store; and some by other things. */
export function filterRoutes(): readonly Route[] {
  return ORDERS.flatMap((order) => {
    const group = `jobs, ${order} first`
    const filters = STATES.flatMap((state) =>
      TYPES.flatMap((type) =>
        QUEUES.map((queue) => jobsRoute(group, order, { state, type, queue })),
      ),
    )
    const others = OTHERS.map((one) => jobsRoute('jobs by tag, key, worker', order, one))
    return filters.concat(others)
  })
}

/** The page of a list behind a position. */
export function laterRoute({ hash }: Route, after: number): Route {
  return { group: 'jobs, later pages', hash: `${hash}&after=${after}` }
}

function jobsRoute(
  group: string,
  order: string,
  parameters: Readonly<Record<string, string | null>>,
): Route {
  const said = new URLSearchParams({ order })
  for (const [name, value] of Object.entries(parameters)) if (value !== null) said.set(name, value)
  return { group, hash: `jobs?${said.toString()}` }
}

/** `ids`: by key. */
export function jobRoutes(ids: ReadonlyMap<string, string>): readonly Route[] {
  return [...ids].map(([key, id]) => ({
    group: key.startsWith('a pipeline') ? 'job pages, of large pipelines' : 'job pages',
    hash: `job?id=${encodeURIComponent(id)}`,
  }))
}
