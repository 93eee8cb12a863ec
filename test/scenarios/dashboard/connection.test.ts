/**
 * The page behind a gateway, in a real browser: one that answers in the server's place, hangs, is slow, or cuts what is under
 * way.
 */
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import type { Pawl } from '../../../src/index.ts'
import { job, open, typed } from '../../../src/index.ts'
import { startBrowser } from '../../support/browser.ts'
import { CutProxy } from '../../support/cut-proxy.ts'
import type { BuiltDashboard, ServedDashboard } from '../../support/dashboard.ts'
import { builtDashboard } from '../../support/dashboard.ts'
import { openPage } from '../../support/dashboard-page.ts'
import { HttpProxy } from '../../support/http-proxy.ts'
import { freshSchema } from '../../support/postgres.ts'

let browser: Browser | null = null
let built: BuiltDashboard
let pawl: Pawl
let served: ServedDashboard
let proxy: HttpProxy

const note = job('note', { input: typed<unknown>(), run: ({ input }) => input })

beforeAll(async () => {
  built = await builtDashboard()
  browser = await startBrowser()
  pawl = await open('memory:')
  pawl.work([note])
  served = await built.serve(pawl)
  proxy = await HttpProxy.to(served.port)
  for (let i = 0; i < 5; i++) await (await pawl.submit(note, i)).result()
}, 120_000)

afterAll(async () => {
  await browser?.close()
  proxy.close()
  await served.close()
  await pawl.close()
  await built.remove()
})

beforeEach(({ skip }) => skip(browser === null, 'no browser starts here'))
afterEach(() => {
  proxy.mode = 'passes'
  proxy.delayMs = 0
})

const openThrough = async (view: string): Promise<Page> => {
  const { page, go } = await openPage(browser as Browser, proxy.through(served.url))
  await go(view)
  return page
}

it('takes what a gateway says for no answer: the connection is lost, and times stay', async () => {
  const page = await openThrough('jobs')
  const times = page.locator('main tbody time')
  await times.first().waitFor()
  proxy.mode = 'is a bad gateway'
  await page.locator('.lost').waitFor()
  expect((await times.allTextContents()).filter((one) => /\d+ d/.test(one))).toEqual([])
  expect(await page.locator('main .problem').count()).toBe(0)
  proxy.mode = 'passes'
  await page.locator('.back', { hasText: 'Connected again.' }).waitFor()
  await page.close()
})

it('notices a server that answers nothing', { timeout: 90_000 }, async () => {
  const page = await openThrough('')
  await page.locator('.needs').waitFor()
  proxy.mode = 'hangs'
  await page.locator('.lost').waitFor()
  expect(await page.locator('.needs', { hasText: 'Nothing does now.' }).count()).toBe(0)
  // Connections stay open and nothing comes over them: the page gives its questions up, and asks anew.
  proxy.mode = 'passes'
  await page.locator('.back', { hasText: 'Connected again.' }).waitFor({ timeout: 60_000 })
  await page.close()
})

it('goes through time on a slow server', { timeout: 60_000 }, async () => {
  const page = await openThrough('past')
  await page.locator('tr.current').waitFor()
  proxy.delayMs = 2_500
  await page.getByRole('button', { name: 'Previous entry' }).click()
  await page.locator('tr.later').first().waitFor()
  await page.getByText('Written between them: 1 entries').waitFor()
  expect(await page.getByText('What happened around it').count()).toBe(1)
  await page.close()
})

it.each([
  [false, 'cut'],
  [true, 'ended by a gateway as if it was whole'],
])('says how far an action for many came whose stream was %s %s', async (isClean) => {
  const queue = isClean ? 'ended' : 'cut'
  await pawl.submitMany(
    note,
    Array.from({ length: 400 }, (_, input) => ({ input, options: { hold: true, queue } })),
  )
  const page = await openThrough(`jobs?queue=${queue}`)
  await page.getByRole('button', { name: 'Cancel…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('400 jobs match').waitFor()
  await dialog.getByLabel('Rate').fill('50/s')
  await dialog.locator('button[type=submit]').click()
  await dialog.getByText(/[1-9]\d* of 400 are done/).waitFor()
  proxy.cut(isClean)
  await dialog.getByText(/It stopped before its end, at \d+ of 400 jobs/).waitFor()
  const { FAILED } = (await pawl.counts({ queue })).states
  expect(FAILED).toBeLessThan(400)
  await page.close()
})

it('says that the store is away, and not that all is well', { timeout: 90_000 }, async () => {
  const { url, schema } = await freshSchema()
  const cut = await CutProxy.to(url)
  const far = await open(cut.through(url), { schema })
  const other = await built.serve(far)
  onTestFinished(async () => {
    cut.mend()
    await other.close()
    await far.close()
  })
  const { page } = await openPage(browser as Browser, other.url)
  const needs = page.locator('.needs')
  await needs.getByText('Nothing does now.').waitFor()
  cut.cut('all')
  await needs.getByText('The store does not work for').waitFor()
  expect(await needs.innerText()).not.toContain('Nothing does now.')
  // One that is opened now learns the same.
  const late = await openPage(browser as Browser, other.url)
  await late.page.locator('.needs.bad', { hasText: 'The store does not work for' }).waitFor()
  cut.mend()
  await needs.getByText('Nothing does now.').waitFor({ timeout: 40_000 })
  await late.page.close()
  await page.close()
})
