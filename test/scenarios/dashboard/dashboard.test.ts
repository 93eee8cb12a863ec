/**
 * The dashboard in a real browser, on a real server. Where no browser starts, these tests say so and are skipped.
 *
 * One page goes through the views of one engine. What a view may never do is watched all the time: an error on the console,
 * and something that the content security policy stopped.
 */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Pawl } from '../../../src/index.ts'
import { job, open, pipeline, typed } from '../../../src/index.ts'
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
import type { Shop } from './shop.ts'
import { HOSTILE, mail, note, openShop, refund } from './shop.ts'

const OPERATOR = 'operator-0123456789abcdef'
const VIEWER = 'viewer-0123456789abcdef'
const TOKENS = [
  { token: OPERATOR, name: 'ada', roles: ['admin'] },
  { token: VIEWER, name: 'eve', roles: ['read'] },
] as const

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

const openPage = (url = served.url, isNarrow = false): Promise<OpenedPage> =>
  openPageIn(browser as Browser, url, isNarrow)

beforeEach(({ skip }) => skip(browser === null, 'no browser starts here'))

describe('the dashboard', () => {
  it('shows every view, on a desk and on a phone, without an error and with nothing serious for axe', async () => {
    for (const isNarrow of [false, true]) {
      const { page, faults, go } = await openPage(served.url, isNarrow)
      await page.getByRole('heading', { name: 'Needs a person' }).waitFor()
      const shown: Record<string, string> = {
        '': 'Queue letters is paused',
        jobs: shop.running,
        [`job?id=${shop.question}`]: 'waits',
        [`job?id=${shop.film}`]: 'render',
        [`job?id=${shop.held}`]: 'HELD',
        quarantine: 'no mailbox at one.example',
        inbox: 'Refund 4200 cents for order A-17?',
        queues: 'letters',
        schedules: 'from Monday to Friday',
        workers: 'shop-1',
        machine: 'SUSPENDED',
        [`past?time=${Date.now()}`]: 'Difference',
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

  it('shows what a job is full of as text, and runs none of it', async () => {
    const { page, faults, go } = await openPage()
    await go(`job?id=${shop.hostile}`)
    await page.getByRole('button', { name: 'Show more' }).click()
    const text = (await page.locator('main').textContent()) ?? ''
    expect(text).toContain(HOSTILE.markup)
    expect(text).toContain('safe\\u{202e}gnp.exe\\u{2066}')
    expect(text).toContain('a\\u{0}b\\u{1b}[31mred\\u{7}')
    // oxlint-disable-next-line no-control-regex -- they are what must not be there
    expect(text).not.toMatch(/[\u0000\u001b\u202e\u2066]/)
    for (const view of ['', 'jobs', 'quarantine', 'workers']) await go(view)
    expect(await page.evaluate('globalThis.harmed')).toBe(undefined)
    expect(await page.locator('main img').count()).toBe(0)
    expect(faults).toEqual([])
    await page.close()
  })

  it('shows what changes without being loaded again', async () => {
    const { page, go } = await openPage()
    await go('machine')
    const succeeded = page.getByRole('link', { name: /^SUCCEEDED\s*30$/ })
    await succeeded.waitFor()
    await page.evaluate('globalThis.isSamePage = true')
    await pawl.submit(note, 'one more')
    await page.getByRole('link', { name: /^SUCCEEDED\s*31$/ }).waitFor()
    expect(await page.evaluate('globalThis.isSamePage')).toBe(true)
    await page.close()
  })

  it('keeps the filter of jobs in the address, and a state leads to its jobs', async () => {
    const { page, go } = await openPage()
    await go('jobs')
    await page.getByRole('combobox', { name: 'Filter' }).fill('type:mail')
    await page.getByRole('button', { name: 'Show' }).click()
    await page.waitForURL(/#\/jobs\?type=mail/)
    await expect.poll(() => page.locator('tbody tr').count()).toBe(3)
    await go('machine')
    await page
      .getByRole('link', { name: /^QUARANTINED/ })
      .first()
      .click()
    await page.waitForURL(/#\/jobs\?state=QUARANTINED/)
    await page.close()
  })

  it('announces another job, and shows it like one that was opened first', async () => {
    const long = job('long', {
      run: async ({ step }) => {
        for (let i = 0; i < 210; i++) await step(`${i}`, () => i)
      },
    })
    const worker = pawl.work([long])
    const { id } = await pawl.submit(long)
    await pawl.handle(id).result()
    const { page, go } = await openPage()
    const limits: (string | null)[] = []
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url())
      if (pathname.endsWith('/history')) limits.push(searchParams.get('limit'))
    })
    await go(`job?id=${id}`)
    await page.getByRole('button', { name: 'Show more' }).click()
    await expect.poll(() => limits.at(-1)).toBe('1000')
    await go(`job?id=${shop.film}`)
    await expect.poll(() => limits.at(-1)).toBe('200')
    await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('H1')
    await page.close()
    await worker.stop()
  })

  it('shows what went wrong with a stage only as long as it is not done', async () => {
    let runs = 0
    const twice = pipeline('twice', { input: typed<null>() }).stage('print', {
      retry: { max: 1, delay: 1 },
      run: () => {
        runs += 1
        if (runs === 1) throw new Error('no ink')
        return 'printed'
      },
    })
    const worker = pawl.work([twice])
    const { id } = await pawl.submit(twice, null)
    await pawl.handle(id).result()
    const { page, go } = await openPage()
    await go(`job?id=${id}&stage=print`)
    const stage = page.getByRole('region', { name: 'Stage', exact: true })
    await stage.getByRole('row', { name: /^#1 ABORTED.*no ink/ }).waitFor()
    expect(await stage.locator('.problem').count()).toBe(0)
    await page.close()
    await worker.stop()
  })

  it('says that the connection is lost, and that it is back', async () => {
    const { page, go } = await openPage()
    await go('queues')
    const { port } = served
    await served.close()
    await page.getByText('Connection lost').waitFor()
    served = await built.serve(pawl, { port })
    await page.getByText('Connected again').waitFor()
    await pawl.pause('gpu', { by: 'ada' })
    await page.getByRole('row', { name: /gpu.*paused/ }).waitFor()
    await pawl.resume('gpu', { by: 'ada' })
    await page.close()
  })

  it('is served below any path, with nothing from elsewhere and nothing inline', async () => {
    const below = await built.serve(pawl, { path: '/ops/pawl' })
    const { page, faults, go } = await openPage(below.url)
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await go('jobs')
    await page.getByText(shop.running).waitFor()
    expect(asked.filter((url) => !url.startsWith(below.url.replace('dashboard/', '')))).toEqual([])
    expect(faults).toEqual([])
    await page.close()
    const response = await fetch(below.url)
    const policy = response.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toContain('unsafe')
    expect(await response.text()).not.toMatch(/<style|style=|<script(?![^>]*src=)|\son\w+=/)
    await below.close()
  })
})

describe('actions of the dashboard', () => {
  it('are done by keyboard alone, with a name and a reason that the history keeps', async () => {
    const { id } = await pawl.submit(note, 'by keyboard', { delay: '1h' })
    const { page, faults, go } = await openPage()
    await go(`job?id=${id}`)
    const cancel = page.getByRole('button', { name: 'Cancel…' })
    await cancel.waitFor()
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press('Tab')
      if (await cancel.evaluate((one) => one.matches(':focus'))) break
    }
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.getByLabel('Your name').focus()
    await page.keyboard.type('grace')
    await page.keyboard.press('Tab')
    await page.keyboard.type('asked twice')
    expect(await seriousFaults(page)).toEqual([])
    await page.keyboard.press('Enter')
    await page.getByText('asked twice').first().waitFor()
    const last = (await pawl.history(id)).at(-1)
    expect(last).toMatchObject({ type: 'JobCancelled', by: 'grace', reason: 'asked twice' })
    expect(faults).toEqual([])
    await page.close()
  })

  it('answer a question by a form, resume a queue, and discard a group after a look', async () => {
    const { page, go } = await openPage()
    const asked = await pawl.submit(refund, { order: 'B-2', cents: 100 })
    await go('inbox')
    const card = page.locator('.question', { hasText: 'order B-2' })
    await card.getByLabel('Yes').check()
    await card.getByLabel('Your name').fill('ada')
    await card.getByRole('button', { name: 'Answer' }).click()
    await card.waitFor({ state: 'detached' })
    expect(await asked.result()).toEqual({ ok: true })
    await go('queues')
    await page.getByRole('button', { name: 'Resume queue letters' }).click()
    await submitButton(page).click()
    await page.getByRole('button', { name: 'Pause queue letters' }).waitFor()
    expect((await pawl.queue('letters')).pausedAt).toBe(null)
    await go('quarantine')
    const group = page.locator('.card', { hasText: 'no mailbox at two.example' })
    await group.getByRole('button', { name: 'Discard them…' }).click()
    const preview = page.locator('.preview')
    await preview.getByText('jobs match').waitFor()
    const matched = Number(await preview.locator('strong').textContent())
    const { states } = await pawl.counts({ type: mail.name })
    await submitButton(page).click()
    await page.getByText(`done to ${matched} of ${matched} jobs`).waitFor()
    expect((await pawl.counts({ type: mail.name })).states.QUARANTINED).toBe(
      states.QUARANTINED - matched,
    )
    await page.close()
  })

  it('on all jobs that match are previewed, done, and counted', async () => {
    const { page, go } = await openPage()
    const bulk = { delay: '1h', tags: ['bulk'] } as const
    await pawl.submitMany(note, [
      { input: 1, options: bulk },
      { input: 2, options: bulk },
    ])
    await go('jobs?tag=bulk')
    await page.getByRole('button', { name: 'Cancel…' }).click()
    await page.locator('.preview', { hasText: '2 jobs match' }).waitFor()
    await submitButton(page).click()
    await page.getByText('done to 2 of 2 jobs').waitFor()
    expect((await pawl.counts({ tag: 'bulk' })).states.FAILED).toBe(2)
    await page.close()
  })

  it('are not offered to a reader whose token may not do them, and a token is asked for', async () => {
    const guarded = await built.serve(pawl, { tokens: TOKENS })
    const { page, go } = await openPage(guarded.url)
    const enter = async (token: string): Promise<void> => {
      await page.getByLabel('Token').fill(token)
      await page.getByRole('button', { name: 'Enter' }).click()
    }
    await page.getByLabel('Token').waitFor()
    expect(await seriousFaults(page)).toEqual([])
    // Nothing was entered: it goes on asking.
    await enter('   ')
    await enter('wrong-0123456789abcdef')
    await page.getByRole('alert').waitFor()
    await enter(VIEWER)
    await page.getByRole('heading', { name: 'Needs a person' }).waitFor()
    for (const view of [`job?id=${shop.running}`, 'queues', 'quarantine', 'schedules', 'jobs']) {
      await go(view)
      await page.locator('main table, main .card').first().waitFor()
      expect(await page.locator('button', { hasText: '…' }).allTextContents()).toEqual([])
    }
    await page.reload()
    await page.locator('.reader', { hasText: 'eve' }).waitFor()
    await page.getByRole('button', { name: 'Leave' }).click()
    await enter(OPERATOR)
    await go('queues')
    await page.getByRole('button', { name: 'Configure queue gpu' }).waitFor()
    await page.close()
    await guarded.close()
  })

  it('are done under the name of their reader, and not of the one who read before', async () => {
    const guarded = await built.serve(pawl, { tokens: TOKENS })
    const { page } = await openPage(`${guarded.url}#/queues`)
    const enter = async (): Promise<void> => {
      await page.getByLabel('Token').fill(OPERATOR)
      await page.getByRole('button', { name: 'Enter' }).click()
    }
    const name = page.getByLabel('Your name')
    const openDialog = (): Promise<void> =>
      page.getByRole('button', { name: 'Configure queue gpu' }).click()
    await enter()
    await openDialog()
    await name.fill('grace')
    await page.getByRole('dialog').getByRole('button', { name: 'Back' }).click()
    await page.getByRole('button', { name: 'Leave' }).click()
    await enter()
    await openDialog()
    expect(await name.inputValue()).toBe('')
    await name.fill('grace')
    // The server does not know the token any more.
    await page.route('**/v1/queues', (route) =>
      route.fulfill({ status: 401, json: { code: 'Unauthorized', detail: 'It is not known.' } }),
    )
    await page.getByText('It is not known.').waitFor()
    await page.unroute('**/v1/queues')
    await enter()
    await openDialog()
    expect(await name.inputValue()).toBe('')
    await page.close()
    await guarded.close()
  })
})
