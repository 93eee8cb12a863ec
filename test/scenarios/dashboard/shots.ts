/**
 * Pictures of every view, light and dark, on a desk and on a phone: for people to look at.
 *
 *   node scripts/run.mjs test/scenarios/dashboard/shots.ts [folder] [view…]
 */
import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { open } from '../../../src/index.ts'
import { messageLink } from '../../../src/server/index.ts'
import { startBrowser } from '../../support/browser.ts'
import { builtDashboard } from '../../support/dashboard.ts'
import { openJobsShop } from './jobs-shop.ts'
import { openShop } from './shop.ts'
import { startTraffic } from './traffic.ts'

const SIZES = { desk: { width: 1_280, height: 860 }, phone: { width: 390, height: 844 } }

const KEY = randomBytes(32).toString('base64url')

function linkTo(job: string, hours = 1): string {
  const until = new Date(Date.now() + hours * 3_600_000)
  return messageLink({ key: KEY, job, question: 'decision', by: 'ada@example.com', until })
}

const SEEN_MS = 8_000

/** `only`: of these views; none: of all. */
async function main(folder: string, only: readonly string[]): Promise<void> {
  await mkdir(folder, { recursive: true })
  const built = await builtDashboard()
  const pawl = await open('memory:')
  const shop = await openShop(pawl)
  const jobs = await openJobsShop(pawl)
  const served = await built.serve(pawl, { linkKeys: [KEY] })
  const endTraffic = startTraffic(pawl)
  const browser = await startBrowser()
  const views = {
    overview: '',
    jobs: 'jobs',
    job: `job?id=${shop.running}`,
    suspended: `job?id=${shop.question}`,
    pipeline: `job?id=${shop.film}`,
    held: `job?id=${shop.held}`,
    hostile: `job?id=${shop.hostile}`,
    talker: `job?id=${jobs.talker}`,
    invoice: `job?id=${jobs.invoice}`,
    wide: `job?id=${jobs.wide}`,
    many: `job?id=${jobs.many}`,
    'jobs-filtered': 'jobs?state=QUARANTINED&type=mail',
    quarantine: 'quarantine',
    inbox: 'inbox',
    queues: 'queues',
    queue: 'queues?queue=gpu',
    drained: 'queues?queue=letters&drained=3',
    limit: 'queues?limit=tenant+acme',
    schedules: 'schedules',
    schedule: 'schedules?schedule=nightly',
    workers: 'workers',
    machine: 'machine',
    past: `past?time=${Date.now()}`,
    'past-between': `past?time=${Date.now()}&with=p20`,
    'past-job': `past?job=${shop.failed}`,
    link: linkTo(shop.question),
    'link-expired': linkTo(shop.question, -1),
  }
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const [size, viewport] of Object.entries(SIZES)) {
      const page = await browser?.newPage({ colorScheme, viewport })
      if (page === undefined) continue
      await page.goto(served.url)
      await page.getByText('Needs a person').waitFor()
      for (const [name, hash] of Object.entries(views)) {
        if (only.length > 0 && !only.includes(name)) continue
        await page.goto(`${served.url}#${hash.startsWith('pawl1.') ? '' : '/'}${hash}`)
        await page.locator('main .none', { hasText: 'Loading' }).waitFor({ state: 'detached' })
        await page.locator('section, table, .card, .empty').first().waitFor()
        if (name === 'overview' || name === 'machine') await seenMoving(page)
        await page.screenshot({
          path: join(folder, `${name}-${colorScheme}-${size}.png`),
          fullPage: true,
        })
      }
      await page.close()
    }
  }
  await browser?.close()
  await jobs.finish()
  await endTraffic()
  await shop.finish()
  await served.close()
  await pawl.close()
  await built.remove()
}

/** Figures over time need some time. A line that is flat takes no room, and is there all the same. */
async function seenMoving(page: Page): Promise<void> {
  await page.locator('.chart .line, .machine .rate').first().waitFor({ state: 'attached' })
  await page.waitForTimeout(SEEN_MS)
}

await main(process.argv[2] ?? join(tmpdir(), 'pawl-screenshots'), process.argv.slice(3))
