/**
 * How the machine runs, in a real browser: the overview, the machine, queues, schedules and workers. Where no browser starts, these tests
 * say so and are skipped.
 */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Pawl } from '../../../src/index.ts'
import type { Figures } from '../../../src/protocol/index.ts'
import { job, open, typed } from '../../../src/index.ts'
import { startBrowser } from '../../support/browser.ts'
import type { BuiltDashboard, ServedDashboard } from '../../support/dashboard.ts'
import { builtDashboard } from '../../support/dashboard.ts'
import type { OpenedPage } from '../../support/dashboard-page.ts'
import {
  OF_A_PHONE,
  openPage as openPageIn,
  seriousFaults,
  submitButton,
} from '../../support/dashboard-page.ts'
import { deferred } from '../../support/engines.ts'
import type { Shop } from './shop.ts'
import { note, openShop } from './shop.ts'

let browser: Browser | null = null
let built: BuiltDashboard
let pawl: Pawl
let shop: Shop
let served: ServedDashboard

beforeAll(async () => {
  built = await builtDashboard()
  browser = await startBrowser()
  pawl = await open('memory:')
  shop = await openShop(pawl)
  served = await built.serve(pawl)
}, 120_000)

afterAll(async () => {
  await browser?.close()
  await shop.finish()
  await served.close()
  await pawl.close()
  await built.remove()
})

const openPage = (isNarrow = false): Promise<OpenedPage> =>
  openPageIn(browser as Browser, served.url, isNarrow)

beforeEach(({ skip }) => skip(browser === null, 'no browser starts here'))

/** Goes on with `step` until the page shows it. */
async function until(isShown: () => Promise<boolean>, step: () => Promise<unknown>): Promise<void> {
  await expect
    .poll(
      async () => {
        await step()
        return isShown()
      },
      { timeout: 20_000, interval: 100 },
    )
    .toBe(true)
}

describe('what runs', () => {
  it('is shown on a desk and on a phone, without an error and with nothing serious for axe', async () => {
    for (const isNarrow of [false, true]) {
      const { page, faults, go } = await openPage(isNarrow)
      const shown: Record<string, string> = {
        '': 'Last verified: ',
        machine: 'The moves are those of plain jobs',
        queues: 'Limits by key',
        'queues?queue=gpu': '4 of 4',
        'queues?queue=letters&drained=2': 'Drained: nothing of this queue runs',
        'queues?limit=tenant+acme': 'Nothing of limit tenant acme is used now.',
        'schedules?schedule=nightly': 'The next times, in UTC',
        workers: '5 tasks',
      }
      for (const [view, text] of Object.entries(shown)) {
        await go(view)
        await page.locator('main', { hasText: text }).waitFor()
        expect(await seriousFaults(page, isNarrow ? OF_A_PHONE : undefined), view).toEqual([])
        const isWider = await page.evaluate(
          'document.documentElement.scrollWidth > document.documentElement.clientWidth + 1',
        )
        expect(isWider, `${view} is wider than the screen`).toBe(false)
      }
      expect(faults).toEqual([])
      await page.close()
    }
  })

  it('says first what needs a person, and nothing when nothing does', async () => {
    const { page } = await openPage()
    const needs = page.locator('.needs')
    await needs.getByText('1 question waits for an answer').waitFor()
    await needs.getByText('an effect whose outcome a person has to say').waitFor()
    const text = (await needs.innerText()).split('\n').filter((one) => one !== '')
    expect(text[1]).toContain('an effect whose outcome a person has to say')
    expect(text[2]).toMatch(/^\d jobs in quarantine/)
    expect(text).toContain('Queue letters is paused by ada: the printer is out of paper')
    await pawl.submit(note, 'alone', { queue: 'nowhere' })
    await needs.getByText('1 waits in queue nowhere, and no worker serves it').waitFor()
    await page.close()
    const idle = await open('memory:')
    const other = await built.serve(idle)
    const opened = await openPageIn(browser as Browser, other.url)
    await opened.page.locator('.needs', { hasText: 'Nothing does now.' }).waitFor()
    await opened.page.locator('.verdict', { hasText: 'All invariants hold.' }).waitFor()
    expect(opened.faults).toEqual([])
    await opened.page.close()
    await other.close()
    await idle.close()
  })

  it('is drawn over time, and says what is under the pointer or the arrow keys', async () => {
    const { page, faults } = await openPage()
    const chart = page.getByRole('slider', { name: 'Throughput, a second' })
    const submitted = page.locator('.chart', { hasText: 'Throughput' }).locator('.legend')
    await until(
      async () => /Submitted [1-9]/.test(await submitted.innerText()),
      () =>
        pawl.submitMany(
          note,
          Array.from({ length: 20 }, (_, input) => ({ input })),
        ),
    )
    const line = page.locator('.chart polyline').first()
    await expect
      .poll(async () => (await line.getAttribute('points'))?.split(' ').length, { timeout: 20_000 })
      .toBeGreaterThan(2)
    await chart.focus()
    await page.keyboard.press('Home')
    const first = await chart.getAttribute('aria-valuetext')
    expect(first).toMatch(/^\d\d:\d\d:\d\d, Submitted: /)
    expect(await chart.getAttribute('aria-valuenow')).toBe('0')
    await page.keyboard.press('End')
    expect(await chart.getAttribute('aria-valuetext')).not.toBe(first)
    const box = await chart.boundingBox()
    await page.mouse.move((box?.x ?? 0) + 60, (box?.y ?? 0) + 60)
    await page
      .locator('.chart', { hasText: 'Failures' })
      .getByText(/\d\d:\d\d:\d\d/)
      .first()
      .waitFor()
    expect(faults).toEqual([])
    await page.close()
  })

  it('is drawn on the first view of a page that has just been opened, from before it was', async () => {
    // The server has been there for a while.
    const figures = async (): Promise<Figures> => {
      const answer = await fetch(new URL('../v1/figures', served.url))
      return (await answer.json()) as Figures
    }
    await expect
      .poll(async () => (await figures()).times.length, { timeout: 20_000 })
      .toBeGreaterThan(2)
    const { page } = await openPage()
    await page.goto('about:blank')
    let asked = 0
    // Only the first question is answered.
    await page.route(/\/v1\/figures/, async (route) => {
      asked += 1
      if (asked === 1) await route.continue()
    })
    await page.goto(served.url)
    const chart = page.locator('.chart', { hasText: 'Throughput' })
    await chart.locator('polyline').first().waitFor({ state: 'attached' })
    const points = await chart.locator('polyline').first().getAttribute('points')
    expect(points?.split(' ').length).toBeGreaterThan(1)
    expect(await page.locator('.chart polyline').count()).toBeGreaterThan(3)
    await page.locator('.trend .spark polyline').first().waitFor({ state: 'attached' })
    await page.getByText('What all processes on the store did, as this server has noted').waitFor()
    await page.close()
  })

  it('is drawn over the time that is chosen, which is in the address', async () => {
    const { page, faults, go } = await openPage()
    const range = page.getByLabel('The last')
    expect(await range.inputValue()).toBe('15m')
    const asked = page.waitForRequest(/figures\?range=6h/)
    await range.selectOption('6h')
    await asked
    await page.waitForURL(/#\/\?range=6h$/)
    await page.reload()
    await range.waitFor()
    expect(await range.inputValue()).toBe('6h')
    expect(await seriousFaults(page)).toEqual([])
    await go('?range=constructor')
    expect(await range.inputValue()).toBe('15m')
    expect(faults).toEqual([])
    await page.close()
  })

  it('has a gap where the server could not ask the store', async () => {
    const start = Date.now() - 120_000
    const { page } = await openPage()
    await page.route(/\/v1\/figures/, async (route) => {
      const answer = await route.fetch()
      const figures = (await answer.json()) as Figures
      const times = Array.from({ length: 7 }, (_, i) => start + 6_000 * i)
      const line = [1, 2, 3, null, 3, 2, 1]
      const rates = Object.fromEntries(Object.keys(figures.rates).map((name) => [name, line]))
      // Nothing waited in two of the steps that are known.
      const waitMs = { mean: [4, null, 4, null, null, 4, 4], most: line }
      await route.fulfill({ json: { ...figures, times, rates, waitMs } })
    })
    await page.reload()
    const stretches = (chart: string): Promise<string[]> =>
      page
        .locator('.chart', { hasText: chart })
        .locator('.line')
        .first()
        .locator('polyline')
        .evaluateAll((all) => all.map((one) => `${one.getAttribute('points')?.split(' ').length}`))
    await expect.poll(() => stretches('Throughput')).toEqual(['3', '3'])
    expect(await stretches('Waiting')).toEqual(['2', '2'])
    await page.close()
  })

  it('shows on the arrows of the machine how many jobs take them, and says the same in its table', async () => {
    const { page, faults, go } = await openPage()
    await go('machine')
    await page.evaluate('globalThis.isSamePage = true')
    const row = page.getByRole('row', { name: /^QUEUED/ })
    await until(
      async () => /RUNNING\s+[<\d.]+ a second/.test(await row.innerText()),
      () => pawl.submit(note, 'flows'),
    )
    const widthOf = async (arrow: string): Promise<number> => {
      const path = `getComputedStyle(document.querySelector('.machine ${arrow} path.arrow'))`
      return Number.parseFloat(String(await page.evaluate(`${path}.strokeWidth`)))
    }
    expect(await widthOf('.taken')).toBeGreaterThan((await widthOf('.idle')) + 1)
    expect(await page.locator('.machine .rate').count()).toBeGreaterThan(2)
    const motion = (): Promise<unknown> =>
      page.evaluate(`getComputedStyle(document.querySelector('.machine .stream')).display`)
    expect(await motion()).toBe('inline')
    await page.emulateMedia({ reducedMotion: 'reduce' })
    expect(await motion()).toBe('none')
    await page.getByLabel('Moves of').selectOption('segments')
    await page.getByText('The moves are those of segments').waitFor()
    await page.getByLabel('Moves of').selectOption('pipeline')
    await page.getByText('What a pipeline does follows from its segments').waitFor()
    expect(await page.locator('.machine .rate').count()).toBe(0)
    expect(await page.evaluate('globalThis.isSamePage')).toBe(true)
    expect(faults).toEqual([])
    await page.close()
  })

  it('is a table for readers who hear it, also where rows are cards', async () => {
    const { page, go } = await openPage(true)
    await go('queues')
    await page.getByText('letters').waitFor()
    const session = await page.context().newCDPSession(page)
    const { nodes } = await session.send('Accessibility.getFullAXTree')
    const count = (role: string): number =>
      nodes.filter((one) => one.role?.value === role && !one.ignored).length
    const { length } = await pawl.queues()
    expect(count('table')).toBe(1)
    expect(count('row')).toBe(length + 1)
    expect(count('cell')).toBe(length * 8)
    expect(count('columnheader')).toBe(8)
    // Not every browser takes a row for one that is drawn as a card.
    expect(await page.locator('tr:not([role=row]), td:not([role=cell])').count()).toBe(0)
    await page.close()
  })
})

describe('what is done about it', () => {
  it('drains a queue: pauses it, shows how many still run, and says when none does', async () => {
    const gates = [deferred(), deferred()]
    const print = job('print', {
      input: typed<number>(),
      queue: 'print',
      run: ({ input }) => gates[input]?.promise,
    })
    const worker = pawl.work([print], { concurrency: 2 })
    const running = await Promise.all([pawl.submit(print, 0), pawl.submit(print, 1)])
    const { page, faults, go } = await openPage()
    await go('queues')
    await page.getByRole('row', { name: /^print.*\b2\b/ }).waitFor()
    await page.getByRole('button', { name: 'Drain queue print' }).click()
    await page.getByLabel('Reason').fill('the paper is changed')
    expect(await seriousFaults(page)).toEqual([])
    await submitButton(page).click()
    await page.waitForURL(/#\/queues\?queue=print&drained=2/)
    await page.getByText('Draining: 2 tasks still run').waitFor()
    await page
      .getByRole('region', { name: 'Queue print' })
      .getByRole('link', { name: running[0].id })
      .waitFor()
    const waits = await pawl.submit(print, 2)
    gates[0]?.resolve()
    await page.getByText('Draining: 1 task still runs').waitFor()
    expect(await page.getByRole('progressbar').getAttribute('value')).toBe('1')
    gates[1]?.resolve()
    await page.getByText('Drained: nothing of this queue runs').waitFor()
    expect(await waits.state()).toBe('QUEUED')
    await page.getByRole('button', { name: 'Resume queue print now' }).click()
    await submitButton(page).click()
    await waits.result()
    expect((await pawl.queue('print')).pausedAt).toBe(null)
    expect(faults).toEqual([])
    await page.close()
    await worker.stop()
  })

  it('configures a queue, and lists limits by the beginning of their keys, and shows who holds one', async () => {
    const gate = deferred()
    const report = job('report', {
      limits: [{ key: 'tenant 7', concurrency: 1 }],
      run: () => gate.promise,
    })
    const worker = pawl.work([report])
    const { id } = await pawl.submit(report)
    const { page, faults, go } = await openPage()
    await go('queues')
    await page.getByRole('button', { name: 'Configure queue default' }).click()
    await page.getByLabel('Rate').fill('500/1s')
    await submitButton(page).click()
    await page.getByRole('row', { name: /^default.*500 may start per 1 s/ }).waitFor()
    expect((await pawl.queue('default')).rate).toEqual({ count: 500, perMs: 1_000 })
    const limits = page.getByRole('table', { name: 'Limits' })
    await page.getByLabel('Keys that begin with').fill('nobody')
    await page.getByText('Nothing of such limits is used now.').waitFor()
    await page.getByLabel('Keys that begin with').fill('tenant')
    await limits.getByRole('row', { name: /^tenant 7 1 of 1/ }).waitFor()
    await limits.getByRole('link', { name: 'tenant 7' }).click()
    await page.getByText('1 task of limit tenant 7 runs now').waitFor()
    await page
      .getByRole('region', { name: 'Limits by key' })
      .getByRole('link', { name: id })
      .waitFor()
    expect(await seriousFaults(page)).toEqual([])
    gate.resolve()
    await page.getByText('Nothing of limit tenant 7 is used now').waitFor()
    await pawl.configure('default', {})
    expect(faults).toEqual([])
    await page.close()
    await worker.stop()
  })

  it('shows the next times of a schedule, pauses it and resumes it', async () => {
    const { page, faults, go } = await openPage()
    await go('schedules')
    await page.getByRole('link', { name: 'nightly' }).click()
    const panel = page.getByRole('region', { name: 'Schedule nightly' })
    await panel.getByRole('listitem').first().waitFor()
    const times = await pawl.scheduleHandle('nightly').nextTimes(8)
    expect(
      await panel
        .locator('ol time')
        .evaluateAll((all) => all.map((one) => one.getAttribute('datetime'))),
    ).toEqual(times.map((time) => time.toISOString()))
    await page.getByRole('button', { name: 'Pause schedule nightly' }).click()
    await page.getByLabel('Your name').fill('ada')
    await page.getByLabel('Reason').fill('a holiday')
    await submitButton(page).click()
    await panel.getByText('None while it is paused.').waitFor()
    expect((await pawl.scheduleHandle('nightly').info()).paused).toMatchObject({ by: 'ada' })
    await page.getByRole('button', { name: 'Resume schedule nightly' }).click()
    await submitButton(page).click()
    await panel.getByRole('listitem').nth(7).waitFor()
    expect(faults).toEqual([])
    await page.close()
  })

  it('has a schedule run now, paused or not, and leads to the job', async () => {
    const { page, faults, go } = await openPage()
    const nightly = pawl.scheduleHandle('nightly')
    const before = await nightly.info()
    await nightly.pause({ by: 'ada' })
    await go('schedules')
    await page.getByRole('button', { name: 'Run now schedule nightly' }).click()
    await page.getByLabel('Your name').fill('ada')
    await page.getByLabel('Reason').fill('numbers were late')
    await page.getByText('As a command').click()
    await page.getByText('pawl schedules run nightly --by ada').waitFor()
    expect(await seriousFaults(page)).toEqual([])
    await submitButton(page).click()
    await page.waitForURL(/#\/job\?id=/)
    await page
      .getByText("ada: numbers were late (run now from schedule 'nightly')")
      .first()
      .waitFor()
    await nightly.resume()
    expect(await nightly.info()).toMatchObject({ lastTime: before.lastTime, type: before.type })
    expect(faults).toEqual([])
    await page.close()
  })

  it('drains a worker, which shows who did it and finishes what it has, and resumes it', async () => {
    const gate = deferred()
    const slow = job('slowly', { input: typed<number>(), run: () => gate.promise })
    const worker = pawl.work([slow], { name: 'mill-1', concurrency: 2 })
    const first = await pawl.submit(slow, 1)
    await expect.poll(() => worker.running).toBe(1)
    const { page, faults, go } = await openPage()
    await go('workers')
    const row = page.getByRole('row', { name: /^mill-1/ })
    await row.getByRole('button', { name: 'Drain worker mill-1' }).click()
    await page.getByLabel('Your name').fill('ada')
    await page.getByLabel('Reason').fill('the host is replaced')
    await submitButton(page).click()
    await row.getByText('ada: the host is replaced').waitFor()
    expect(await seriousFaults(page)).toEqual([])
    const second = await pawl.submit(slow, 2)
    gate.resolve()
    await first.result()
    await row.getByText('0 of 0 taken').waitFor()
    expect(await second.state()).toBe('QUEUED')
    await row.getByRole('button', { name: 'Resume worker mill-1' }).click()
    await submitButton(page).click()
    await second.result()
    await row.getByRole('button', { name: 'Drain worker mill-1' }).waitFor()
    expect(faults).toEqual([])
    await page.close()
    await worker.stop()
  })

  it('leads from a worker to the jobs that it holds', async () => {
    const { page, faults, go } = await openPage()
    await go('workers')
    const row = page.getByRole('row', { name: /^shop-1/ })
    await row.getByText('5 of 6 taken').waitFor()
    await row.getByRole('link', { name: shop.running }).click()
    await page.waitForURL(new RegExp(`#/job\\?id=${shop.running}`))
    await go('workers')
    const gate = deferred()
    const extra = job('extra', { run: () => gate.promise })
    const worker = pawl.work([extra], { name: 'late-1' })
    await page.getByRole('row', { name: /^late-1/ }).waitFor()
    gate.resolve()
    await worker.stop()
    await page.getByRole('row', { name: /^late-1/ }).waitFor({ state: 'detached' })
    expect(faults).toEqual([])
    await page.close()
  })
})
