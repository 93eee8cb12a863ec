/**
 * Part `answers`: how long the server takes for all that a view asks, with very many jobs: after the store has settled, and
 * the first time after it was opened.
 */
import type { Browser } from 'playwright-core'
import { whole } from '../table.ts'
import { spread } from '../spread.ts'
import { Machine } from './machine.ts'
import { KEYS } from './mix.ts'
import type { PageCall, RecordedView } from './page-calls.ts'
import { ask, movedTo, PageRecorder } from './page-calls.ts'
import { filterRoutes, jobRoutes, laterRoute, PLAIN_ROUTES } from './routes.ts'
import type { BenchStore } from './stores.ts'

export const MOST_MS = 200
const CALLS = 20
const LATER_PAGES = 12

interface ViewTimes {
  readonly view: RecordedView
  readonly settled: readonly number[]
  /** The first time after the store was opened. */
  readonly opened: number
  /** Of a view that is slow: each of its calls by itself. */
  readonly alone: readonly number[]
}

export interface Answers {
  readonly openedMs: number
  readonly views: readonly ViewTimes[]
}

export async function measureAnswers(
  store: BenchStore,
  browser: Browser,
  settleMs: number,
  say: (line: string) => void,
): Promise<Answers> {
  const first = await Machine.open(store.address)
  const url = await first.serve()
  say('the calls of each view are recorded …')
  const views = await recordAll(browser, url, say)
  say('the store settles …')
  await new Promise((resolve) => setTimeout(resolve, settleMs))
  say(`${views.length} views, ${CALLS} times each …`)
  const settled: (readonly number[])[] = []
  const alone: (readonly number[])[] = []
  for (const view of views) {
    const times = await timesOf(view, url, CALLS)
    settled.push(times)
    const isSlow = Math.max(...times) > MOST_MS
    alone.push(isSlow ? await timesAlone(view, url) : [])
  }
  await first.close()
  say('opened again, each view once …')
  const second = await Machine.open(store.address)
  const again = await second.serve()
  const opened: number[] = []
  for (const view of views) opened.push((await timesOf(view, again, 1))[0] as number)
  await second.close()
  return {
    openedMs: second.openedMs,
    views: views.map((view, i) => ({
      view,
      settled: settled[i] as readonly number[],
      opened: opened[i] as number,
      alone: alone[i] as readonly number[],
    })),
  }
}

async function recordAll(
  browser: Browser,
  url: string,
  say: (line: string) => void,
): Promise<RecordedView[]> {
  const recorder = await PageRecorder.open(browser, url)
  const views: RecordedView[] = []
  for (const route of PLAIN_ROUTES) views.push(await recorder.record(route))
  const ids = new Map<string, string>()
  for (const key of KEYS) {
    const { jobs } = await list(new URL(`../v1/jobs?key=${encodeURIComponent(key)}`, url))
    const id = jobs[0]?.id
    if (id === undefined) throw new Error(`There is no job with the key '${key}'.`)
    ids.set(key, id)
  }
  for (const route of jobRoutes(ids)) views.push(await recorder.record(route))
  let later = 0
  for (const route of filterRoutes()) {
    const view = await recorder.record(route)
    views.push(view)
    const next = await nextOf(view)
    if (next === null) continue
    // Of every fifth list: the second page, and one in the middle of the store.
    if (later++ % 5 !== 0 || later > LATER_PAGES * 5) continue
    views.push(await recorder.record(laterRoute(route, next)))
    views.push(await recorder.record(laterRoute(route, await middle(url))))
  }
  await recorder.close()
  say(`${whole(views.length)} views ask ${whole(views.flatMap(({ calls }) => calls).length)} calls`)
  return views
}

interface ListAnswer {
  readonly jobs: readonly { readonly id: string }[]
  readonly next: number | null
}

async function list(url: URL): Promise<ListAnswer> {
  return JSON.parse(await ask(getOf(url))) as ListAnswer
}

function getOf({ href: url }: URL): PageCall {
  return { method: 'GET', url, body: null, cacheControl: null }
}

async function nextOf({ calls }: RecordedView): Promise<number | null> {
  const call = calls.find(({ url }) => new URL(url).pathname.endsWith('/v1/jobs'))
  return call === undefined ? null : (JSON.parse(await ask(call)) as ListAnswer).next
}

/** A position between the oldest job and the newest one. */
async function middle(url: string): Promise<number> {
  const [oldest, newest] = await Promise.all(
    ['oldest', 'newest'].map((order) => list(new URL(`../v1/jobs?limit=1&order=${order}`, url))),
  )
  return Math.round(((oldest?.next ?? 0) + (newest?.next ?? 0)) / 2)
}

/** All calls of a view at once, as a browser does at the most, until the last of them is answered. */
async function timesOf(view: RecordedView, url: string, count: number): Promise<number[]> {
  const calls = view.calls.map((call) => movedTo(call, url))
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    const began = performance.now()
    await Promise.all(calls.map((call) => ask(call)))
    times.push(performance.now() - began)
  }
  return times
}

async function timesAlone(view: RecordedView, url: string): Promise<number[]> {
  const times: number[] = []
  for (const call of view.calls) {
    const one = { ...view, calls: [call] }
    times.push(spread(await timesOf(one, url, 3)).p50)
  }
  return times
}

/** A line for each group of views, and what is too slow in it. */
export function answerRows(store: string, { views }: Answers): string[][] {
  const groups = new Set(views.map(({ view }) => view.route.group))
  return [...groups].map((group) => {
    const own = views.filter(({ view }) => view.route.group === group)
    const settled = spread(own.flatMap((one) => one.settled))
    const slowest = own.toSorted((a, b) => worstOf(b) - worstOf(a))[0] as ViewTimes
    return [
      store,
      group,
      `#/${slowest.view.route.hash.slice(0, 60)}`,
      whole(own.length),
      whole(own.reduce((sum, { view }) => sum + view.calls.length, 0)),
      settled.p50.toFixed(1),
      settled.most.toFixed(1),
      Math.max(...own.map(({ opened }) => opened)).toFixed(1),
    ]
  })
}

export const ANSWER_COLUMNS = [
  'store',
  'views',
  'the slowest of them',
  'views',
  'calls',
  'p50 ms',
  'worst ms',
  'worst ms, just opened',
]

function worstOf({ settled, opened }: ViewTimes): number {
  return Math.max(...settled, opened)
}

/** Views that took too long, and which of their calls did when asked alone. */
export function slowViews(store: string, { views }: Answers): string[] {
  return views
    .filter((one) => worstOf(one) > MOST_MS)
    .map((one) => {
      const calls = one.view.calls
        .map((call, i) => `${pathOf(call)} ${one.alone[i]?.toFixed(0) ?? ''}`)
        .join(', ')
      const times = `p50 ${spread(one.settled).p50.toFixed(0)}, worst ${Math.max(...one.settled).toFixed(0)}, just opened ${one.opened.toFixed(0)}`
      return `${store}: #/${one.view.route.hash} took more than ${MOST_MS} ms (${times} ms): ${calls}`
    })
}

function pathOf({ method, url }: PageCall): string {
  const { pathname, search } = new URL(url)
  return `${method} ${pathname}${search}`
}
