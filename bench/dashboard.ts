/**
 * The dashboard bench: how long a server takes for what the page asks, how quickly the page stands there, and what ten open
 * pages cost an engine that works. The page is the real one, in a real browser.
 */
import type { Browser } from 'playwright-core'
import { startBrowser } from '../test/support/browser.ts'
import { ANSWER_COLUMNS, answerRows, measureAnswers, slowViews } from './dashboard/answers.ts'
import type { Costs } from './dashboard/cost.ts'
import { measureCosts, MOST_COST } from './dashboard/cost.ts'
import {
  firstViews,
  MOST_INTERACTIVE_MS,
  MOST_SCRIPT_BYTES,
  scriptBytes,
} from './dashboard/first-view.ts'
import { Machine } from './dashboard/machine.ts'
import { measureNoting } from './dashboard/noting.ts'
import type { BenchStore } from './dashboard/stores.ts'
import { benchStore } from './dashboard/stores.ts'
import type { StoreName } from './growth/place.ts'
import { seesServer, STORE_NAMES } from './growth/place.ts'
import { Scratch } from './log/scratch.ts'
import { AimMissed, readOptions } from './options.ts'
import { agreement, ratioText } from './ratio.ts'
import { spread } from './spread.ts'
import { table, whole } from './table.ts'

type Say = (line: string) => void

const JOBS = 1_000_000
const ROUNDS = 10
const SETTLE_MS = 10_000
/** A server that nothing asks looks so often. */
const LOOK_SECONDS = 10
const PARTS = ['answers', 'page', 'cost', 'noting'] as const

const HELP = [
  '',
  'usage: npm run bench -- dashboard [options]',
  '',
  '  --only <part>     only one part; can be given more than once:',
  '                      answers  how long the server takes for what each view asks',
  '                      page     the size of the script, and the time until the first view takes input',
  '                      cost     CPU a job with ten open pages and with none, by turns',
  '                      noting   CPU of a look by which a server notes figures over time',
  `  --stores <name>   only these: ${STORE_NAMES.join(', ')}`,
  `  --jobs <count>    in each store (default ${whole(JOBS)})`,
  '  --quick           a tenth of the jobs',
  `  --rounds <count>  of cost and noting (default ${ROUNDS})`,
  '  --keep <path>     load the stores into this folder and leave them there, or take those that are there',
  '  --load            only load them',
  '  --folder <path>   where to write (default: the folder of the system for temporary files)',
]

interface Wanted {
  readonly parts: readonly string[]
  readonly jobs: number
  readonly rounds: number
  readonly isLoadedOnly: boolean
}

interface Found {
  readonly answers: string[][]
  readonly pages: string[][]
  readonly costs: string[][]
  readonly noting: string[][]
  readonly missed: string[]
}

export async function* benchDashboard(say: Say, args: readonly string[]): AsyncGenerator<string> {
  const options = readOptions(args, PARTS, JOBS, {
    stores: { type: 'string', multiple: true },
    rounds: { type: 'string' },
    quick: { type: 'boolean' },
    keep: { type: 'string' },
    load: { type: 'boolean' },
  })
  if (options.help) {
    yield* HELP
    return
  }
  const wanted: Wanted = {
    parts: options.parts,
    jobs: options.jobs / (options.has('quick') ? 10 : 1),
    rounds: options.count('rounds', ROUNDS),
    isLoadedOnly: options.has('load'),
  }
  const browser = await startBrowser()
  if (browser === null)
    throw new AimMissed('The page is asked for by a browser, and none starts here.')
  const found: Found = { answers: [], pages: [], costs: [], noting: [], missed: [] }
  const scratch = new Scratch(options.folder)
  try {
    for (const name of options.among('stores', STORE_NAMES)) {
      const store = await benchStore(name, wanted.jobs, options.text('keep') ?? null, scratch)
      try {
        await measure(name, store, browser, wanted, found, (line) => say(`${name}: ${line}`))
      } finally {
        await store.close()
      }
    }
  } finally {
    await browser.close()
    scratch.close()
  }
  if (!wanted.isLoadedOnly) yield* report(found, wanted)
}

async function measure(
  name: StoreName,
  store: BenchStore,
  browser: Browser,
  { parts, jobs, rounds, isLoadedOnly }: Wanted,
  found: Found,
  say: Say,
): Promise<void> {
  if (!store.isLoaded) await loadStore(store, jobs, say)
  if (isLoadedOnly) return
  if (parts.includes('answers')) {
    const answers = await measureAnswers(store, browser, SETTLE_MS, say)
    found.answers.push(...answerRows(name, answers))
    found.missed.push(...slowViews(name, answers))
    say(`opened in ${whole(answers.openedMs)} ms`)
  }
  if (parts.includes('page')) {
    say('the page is visited …')
    const { p50, most } = spread(await firstViews(store, browser))
    found.pages.push([name, whole(p50), whole(most)])
    if (p50 > MOST_INTERACTIVE_MS) {
      found.missed.push(`${name}: the first view took ${whole(p50)} ms of ${MOST_INTERACTIVE_MS}.`)
    }
  }
  if (parts.includes('cost')) {
    const costs = await store.undisturbed(() => measureCosts(store, browser, rounds, say))
    found.costs.push(...costRows(name, costs))
    found.missed.push(...dearLoads(name, costs))
  }
  if (parts.includes('noting')) {
    const { engineUs, databaseUs } = await measureNoting(store, rounds)
    const atRest = (engineUs + databaseUs) / 1_000 / LOOK_SECONDS
    found.noting.push([name, whole(engineUs), whole(databaseUs), atRest.toFixed(2)])
  }
}

async function loadStore(store: BenchStore, jobs: number, say: Say): Promise<void> {
  const began = performance.now()
  say(`${whole(jobs)} jobs are submitted …`)
  const machine = await Machine.open(store.address)
  await machine.load(jobs, say)
  await machine.close()
  store.noteLoaded()
  say(`loaded in ${whole((performance.now() - began) / 1_000)} s`)
}

function costRows(name: string, { costs, restWith, restWithout }: Costs): string[][] {
  const rows = costs.map(({ load, ratio, withUs, withoutUs, perSecond }) => [
    name,
    load,
    whole(perSecond),
    withoutUs.toFixed(1),
    withUs.toFixed(1),
    ratioText(ratio),
  ])
  const rest = [restWithout, restWith].map((ms) => `${ms.toFixed(1)} ms/s`)
  return [...rows, [name, 'at rest', '', ...rest, '']]
}

/** A checkpoint falls on one turn and not on another, so a ratio counts if every round has the same direction. */
function dearLoads(name: string, { costs }: Costs): string[] {
  return costs
    .filter(({ ratio }) => ratio.median > MOST_COST && agreement(ratio) === 'more')
    .map(({ load, ratio }) => `${name}, ${load}: ten pages cost ${ratioText(ratio)} of none.`)
}

async function* report(found: Found, { parts }: Wanted): AsyncGenerator<string> {
  const { answers, pages, costs, noting, missed } = found
  if (answers.length > 0) yield* ['', ...table(ANSWER_COLUMNS, answers, 3)]
  if (parts.includes('page')) {
    const bytes = await scriptBytes()
    if (bytes > MOST_SCRIPT_BYTES) {
      missed.push(`The page has ${whole(bytes)} bytes of script, of ${whole(MOST_SCRIPT_BYTES)}.`)
    }
    yield* ['', `script of the page, gzipped: ${whole(bytes)} bytes`]
    yield* table(['first view interactive', 'p50 ms', 'worst ms'], pages)
  }
  if (costs.length > 0) {
    const head = ['store', 'load', 'jobs/s', 'CPU us/job, no page', 'ten pages', 'ratio (spread)']
    yield* ['', ...table(head, costs, 2)]
    if (!seesServer()) yield 'The CPU of PostgreSQL cannot be seen on this system.'
  }
  if (noting.length > 0) {
    const head = ['a look, CPU', 'engine us', 'database us', 'ms a second at rest']
    yield* ['', ...table(head, noting)]
  }
  if (missed.length > 0) throw new AimMissed(missed.join('\n'))
}
