/**
 * The views of jobs and of a job in a real browser, on a real server. Where no browser starts, these tests say so and are
 * skipped.
 */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Pawl } from '../../../src/index.ts'
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
import { invoice, LEFT_RUNNING, openJobsShop, SEGMENTS } from './jobs-shop.ts'
import type { JobsShop } from './jobs-shop.ts'
import type { Shop } from './shop.ts'
import { HOSTILE, mail, note, openShop } from './shop.ts'

const VIEWER = 'viewer-0123456789abcdef'
/** What no text of a job may put on the page as it is. */
// oxlint-disable-next-line no-control-regex -- they are what must not be there
const UNSEEN = /[\u0000\u0007\u001b\u202e\u2066]/

let browser: Browser | null = null
let built: BuiltDashboard
let pawl: Pawl
let shop: Shop
let jobs: JobsShop
let served: ServedDashboard

beforeAll(async () => {
  built = await builtDashboard()
  browser = await startBrowser()
  pawl = await open('memory:')
  shop = await openShop(pawl)
  jobs = await openJobsShop(pawl)
  served = await built.serve(pawl)
}, 120_000)

afterAll(async () => {
  await browser?.close()
  await jobs.finish()
  await shop.finish()
  await served.close()
  await pawl.close()
  await built.remove()
}, 60_000)

beforeEach(({ skip }) => skip(browser === null, 'no browser starts here'))

const openPage = (isNarrow = false, url = served.url): Promise<OpenedPage> =>
  openPageIn(browser as Browser, url, isNarrow)

const filterField = (page: Page) => page.getByRole('combobox', { name: 'Filter' })

async function keepView(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Keep this view…' }).click()
  await page.getByLabel('Name of the view').fill(name)
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name, exact: true }).waitFor()
}

/** Presses Tab until it is there. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  const seen: string[] = []
  for (let i = 0; i < 120; i++) {
    await page.keyboard.press('Tab')
    const at = (await page.evaluate(
      'document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? ""',
    )) as string
    if (name.test(at)) return
    seen.push(at.slice(0, 20))
  }
  throw new Error(`Tab never came to ${name}, but to ${seen.join(' | ')}`)
}

describe('the views of jobs and of a job', () => {
  it('are right for axe and no wider than the screen, on a desk and on a phone, and stop nothing', async () => {
    for (const isNarrow of [false, true]) {
      const { page, faults, go } = await openPage(isNarrow)
      const shown: Record<string, string> = {
        'jobs?order=oldest': 'Newest first',
        'jobs?state=FAILED&completedFrom=today': 'today',
        [`job?id=${jobs.talker}`]: 'downloaded 48,211 bytes',
        [`job?id=${jobs.invoice}`]: 'printer',
        [`job?id=${jobs.wide}`]: 'encode 2160p',
        [`job?id=${jobs.many}`]: '#0',
        [`job?id=${shop.held}`]: 'Say what became of charge',
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
  }, 60_000)

  it('have tables that are tables on a phone, too', async () => {
    const { page, go } = await openPage(true)
    await go('jobs?type=mail')
    await page.getByRole('row').first().waitFor()
    const session = await page.context().newCDPSession(page)
    const { nodes } = (await session.send('Accessibility.getFullAXTree')) as {
      nodes: { role?: { value?: unknown }; ignored?: boolean }[]
    }
    const roles = nodes.filter(({ ignored }) => ignored !== true).map(({ role }) => role?.value)
    const count = (wanted: string) => roles.filter((role) => role === wanted).length
    expect(count('table')).toBe(1)
    expect(count('row')).toBe(4)
    expect(count('columnheader')).toBe(8)
    expect(count('cell') + count('gridcell')).toBe(24)
    await page.close()
  })
})

describe('the filter of jobs', () => {
  it('is typed, suggests what the store counts, stands in the address, and is taken away part by part', async () => {
    const { page, faults, go } = await openPage()
    await go('jobs')
    const field = filterField(page)
    await field.fill('ty')
    await page.getByRole('option', { name: /^type:/ }).waitFor()
    await field.fill('type:ma')
    await page.getByRole('option', { name: /^mail type, 3 jobs/ }).click()
    await page.waitForURL(/#\/jobs\?type=mail$/)
    await expect.poll(() => page.locator('tbody tr').count()).toBe(3)
    await field.fill('type:mail state:')
    await field.press('ArrowDown')
    expect(await seriousFaults(page)).toEqual([])
    await page.getByRole('option', { name: 'QUARANTINED' }).click()
    await page.waitForURL(/#\/jobs\?state=QUARANTINED&type=mail$/)
    await page.getByRole('link', { name: 'Without state QUARANTINED' }).click()
    await page.waitForURL(/#\/jobs\?type=mail$/)
    await expect.poll(() => field.inputValue()).toBe('type:mail')
    await page.goBack()
    await expect.poll(() => field.inputValue()).toBe('state:QUARANTINED type:mail')
    await field.fill('type:mail type:note')
    await field.press('Enter')
    const wrong = page.getByText('There are two of type: jobs are filtered by one.')
    await wrong.waitFor()
    // It is said of that text alone, and of that address.
    await field.fill('type:mail type:')
    await wrong.waitFor({ state: 'detached' })
    await field.fill('type:mail type:note')
    await field.press('Enter')
    await wrong.waitFor()
    await go('jobs?type=note')
    await wrong.waitFor({ state: 'detached' })
    await field.fill(shop.question)
    await field.press('Enter')
    await page.waitForURL(new RegExp(`#/job\\?id=${shop.question}$`))
    expect(faults).toEqual([])
    await page.close()
  })

  it('suggests errors by their words, and asks the counters, never for jobs to look through', async () => {
    const { page, go } = await openPage()
    await go('jobs')
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await filterField(page).fill('error:mailbox')
    await page.getByRole('option', { name: /no mailbox at one\.example/ }).click()
    await page.waitForURL(/#\/jobs\?error=/)
    await page
      .getByRole('cell', { name: /no mailbox at one\.example/ })
      .first()
      .waitFor()
    expect(asked.filter((path) => !/\/v1\/(?:counts|jobs)$/.test(path))).toEqual([])
    await page.close()
  })

  it('is kept by two tabs at once, and each shows what the other keeps', async () => {
    const context = await (browser as Browser).newContext()
    const [one, other] = [await context.newPage(), await context.newPage()]
    // The second is told of nothing, as one that was stopped by the browser is.
    await other.addInitScript(
      `addEventListener('storage', (event) => event.stopImmediatePropagation())`,
    )
    await one.goto(`${served.url}#/jobs?type=mail`)
    await other.goto(`${served.url}#/jobs?type=note`)
    await other.getByRole('button', { name: 'Keep this view…' }).waitFor()
    await keepView(one, 'All mail')
    await keepView(other, 'All notes')
    await one.getByRole('link', { name: 'All notes' }).waitFor()
    await other.getByRole('link', { name: 'All mail' }).waitFor()
    await one.getByRole('button', { name: 'Remove the view All notes' }).click()
    await one.reload()
    await one.getByRole('link', { name: 'All mail' }).waitFor()
    expect(await one.getByRole('link', { name: 'All notes' }).count()).toBe(0)
    await context.close()
  })

  it('is kept as a view under a name, by this browser, until it is removed', async () => {
    const { page, go } = await openPage()
    await go('jobs?type=mail&state=QUARANTINED')
    await page.getByRole('button', { name: 'Keep this view…' }).click()
    await page.getByLabel('Name of the view').fill('Mail to mend')
    await page.keyboard.press('Enter')
    await page.reload()
    await page.getByRole('link', { name: 'In quarantine' }).click()
    await page.waitForURL(/#\/jobs\?state=QUARANTINED$/)
    await page.getByRole('link', { name: 'Mail to mend' }).click()
    await page.waitForURL(/type=mail/)
    await page.getByRole('button', { name: 'Remove the view Mail to mend' }).click()
    await page.reload()
    await page.getByRole('link', { name: 'Failed today' }).click()
    await page.waitForURL(/completedFrom=today/)
    expect(await page.getByRole('link', { name: 'Mail to mend' }).count()).toBe(0)
    await page.close()
  })

  it('is used by keyboard alone, down to what it is done to', async () => {
    const { page, faults, go } = await openPage()
    await pawl.submitMany(note, [
      { input: 1, options: { delay: '1h', tags: ['by-keys'] } },
      { input: 2, options: { delay: '1h', tags: ['by-keys'] } },
    ])
    await go('jobs')
    await filterField(page).focus()
    await page.keyboard.type('tag:by-k')
    await page.getByRole('option', { name: /by-keys/ }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(/#\/jobs\?tag=by-keys$/)
    await tabTo(page, /^Cancel…$/)
    await page.keyboard.press('Enter')
    const preview = page.locator('.preview')
    await preview.getByText('2 jobs match').waitFor()
    expect(await preview.textContent()).toContain('tag:by-keys')
    expect(await preview.textContent()).toContain('2 CREATED → FAILED')
    expect(await seriousFaults(page)).toEqual([])
    await tabTo(page, /^Cancel all jobs that match$/)
    await page.keyboard.press('Enter')
    await page.getByText('done to 2 of 2 jobs').waitFor()
    expect((await pawl.counts({ tag: 'by-keys' })).states.FAILED).toBe(2)
    expect(faults).toEqual([])
    await page.close()
  })

  it('has many jobs done at a rate, says how far it is, and stops when it is told to', async () => {
    const { page, go } = await openPage()
    const options = { delay: '1h', tags: ['slowly'] } as const
    await pawl.submitMany(
      note,
      Array.from({ length: 300 }, (_, input) => ({ input, options })),
    )
    await go('jobs?tag=slowly')
    await page.getByRole('button', { name: 'Cancel…' }).click()
    await page.locator('.preview', { hasText: '300 jobs match' }).waitFor()
    await page.getByLabel('Rate').fill('100/s')
    await submitButton(page).click()
    await page.getByText(/^\d+ of 300 are done/).waitFor()
    await page.getByRole('button', { name: 'Stop here' }).click()
    await page.getByText('What was done stays, the rest is as it was.').waitFor()
    const { states } = await pawl.counts({ tag: 'slowly' })
    expect(states.FAILED).toBeGreaterThan(0)
    expect(states.CREATED).toBeGreaterThan(0)
    await page.close()
  })

  it('shows new jobs without being loaded again, newest or oldest first, page by page', async () => {
    const { page, go } = await openPage()
    const made = await pawl.submitMany(
      note,
      Array.from({ length: 60 }, (_, input) => ({ input, options: { tags: ['pages'] } })),
    )
    await go('jobs?tag=pages')
    await page.evaluate('globalThis.isSamePage = true')
    const first = page.locator('tbody tr').first()
    await first.getByText(made.at(-1)?.id ?? '').waitFor()
    const { id } = await pawl.submit(note, 'one more', { tags: ['pages'] })
    await first.getByText(id).waitFor()
    expect(await page.locator('tbody tr').count()).toBe(50)
    await page.getByRole('link', { name: 'Next page' }).click()
    await expect.poll(() => page.locator('tbody tr').count()).toBe(11)
    await page.getByLabel('Order').selectOption('oldest')
    await first.getByText(made[0]?.id ?? '').waitFor()
    expect(await page.evaluate('globalThis.isSamePage')).toBe(true)
    await page.close()
  })
})

describe('a job', () => {
  it('says when things happened by the clock of the reader, as a day in a filter is one of the reader', async () => {
    const page = await (browser as Browser).newPage({ timezoneId: 'Pacific/Auckland' })
    await page.goto(`${served.url}#/job?id=${shop.failed}`)
    const times = page.getByRole('table', { name: 'History' }).locator('time')
    const at = new Date((await times.first().getAttribute('datetime')) ?? '')
    const clock = at.toLocaleTimeString('en-GB', { timeZone: 'Pacific/Auckland' })
    expect(await times.first().innerText()).toMatch(new RegExp(`${clock}\\.\\d{3} .*ago$`))
    expect(await times.first().getAttribute('title')).toMatch(/ \+1[23]:00$/)
    const leased = page.getByRole('table', { name: 'Attempts' }).locator('time').first()
    expect(await leased.innerText()).toMatch(/\d\d:\d\d:\d\d\.\d{3} .*ago$/)
    const asked = page.waitForRequest((request) => request.url().includes('submittedFrom='))
    await page.goto(`${served.url}#/jobs?submittedFrom=2026-11-02`)
    const from = new URL((await asked).url()).searchParams.get('submittedFrom')
    expect(from).toBe(String(Date.parse('2026-11-02T00:00+13:00')))
    await page.close()
  })

  it('shows what its handler says, its streams and its steps as they come, without being loaded again', async () => {
    const { page, faults, go } = await openPage()
    await go(`job?id=${jobs.talker}`)
    await page.evaluate('globalThis.isSamePage = true')
    await page.getByRole('log', { name: 'Lines' }).getByText('model: small').waitFor()
    await page.getByText('"bytes":48211').waitFor()
    const stream = page.getByRole('region', { name: 'Stream words' })
    await stream.getByText('word 60').waitFor()
    expect(await stream.locator('li').count()).toBe(50)
    const line = `heard at ${Date.now()}`
    jobs.say(line)
    await page.getByRole('log', { name: 'Lines' }).getByText(line).waitFor()
    await stream.getByText(line).waitFor()
    await page.getByRole('progressbar', { name: '50 % done' }).waitFor()
    await stream.getByRole('button', { name: 'Before these' }).click()
    await stream.getByText('word 1', { exact: true }).waitFor()
    expect(await page.evaluate('globalThis.isSamePage')).toBe(true)
    expect(faults).toEqual([])
    await page.close()
  })

  it('shows its attempts along time with its commit and effects, its error with the cause, and who did what', async () => {
    const { page, go } = await openPage()
    await expect.poll(async () => (await pawl.get(jobs.invoice))?.state).toBe('SUCCEEDED')
    await go(`job?id=${jobs.invoice}`)
    const timeline = page.locator('.timeline svg')
    await timeline.waitFor()
    expect(await timeline.locator('.label').allTextContents()).toEqual([
      'in line',
      '#1',
      '#2',
      'receipt',
    ])
    expect(await timeline.locator('.tick-commit').count()).toBe(1)
    expect(await timeline.locator('.tick-step').count()).toBe(2)
    await page.getByRole('table', { name: 'History' }).getByText('JobSubmitted').waitFor()
    await page.getByText('{"to":"ada@example.com","country":"CH"}').waitFor()
    const broken = await pawl.submit(
      job('broken', {
        input: typed<unknown>(),
        retry: { max: 0 },
        run: () => {
          throw new Error('outer', { cause: new Error('inner') })
        },
      }),
      1,
    )
    const worker = pawl.work([
      job('broken', {
        input: typed<unknown>(),
        retry: { max: 0 },
        run: () => {
          throw new Error('outer', { cause: new Error('inner') })
        },
      }),
    ])
    await go(`job?id=${broken.id}`)
    await page.getByText('Stack, with its causes').click()
    await page.getByRole('group', { name: 'Stack' }).getByText('caused by Error: inner').waitFor()
    await worker.stop()
    await page.close()
  })

  it('is run again from a step, or with another input, as a new job that is shown at once', async () => {
    const { page, go } = await openPage()
    await expect.poll(async () => (await pawl.get(jobs.invoice))?.state).toBe('SUCCEEDED')
    await go(`job?id=${jobs.invoice}`)
    await page.getByRole('button', { name: 'Run again…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('From this step on').selectOption('address')
    await dialog.getByLabel(/^Effects/).selectOption('again')
    await submitButton(page).click()
    await page.waitForURL((url) => !url.hash.includes(jobs.invoice))
    await page.getByText('Run again of').waitFor()
    const rerun = new URLSearchParams(page.url().split('?')[1]).get('id') ?? ''
    await expect.poll(async () => (await pawl.get(rerun))?.state).toBe('SUCCEEDED')
    expect(await pawl.get(rerun)).toMatchObject({
      rerunOf: jobs.invoice,
      steps: ['total', 'address'],
    })
    const recorded = (await pawl.history(rerun)).filter(({ type }) => type === 'StepRecorded')
    expect(recorded.map(({ entry }) => entry)).toMatchObject([{ name: 'address' }])
    await go(`job?id=${jobs.invoice}`)
    await page.getByRole('button', { name: 'Run again…' }).click()
    const input = dialog.getByLabel('Another input')
    expect(JSON.parse(await input.inputValue())).toEqual({
      customer: 'ada@example.com',
      cents: 4_200,
    })
    await input.fill('{"customer":"grace@example.com","cents":100}')
    await dialog.getByLabel(/^Effects/).selectOption('again')
    await submitButton(page).click()
    await page.getByText('grace@example.com').first().waitFor()
    await page.close()
  })

  it('is run again from a step with another input and another value of a step before it, both on record', async () => {
    const { page, faults, go } = await openPage()
    await expect.poll(async () => (await pawl.get(jobs.invoice))?.state).toBe('SUCCEEDED')
    await go(`job?id=${jobs.invoice}`)
    await page.getByRole('button', { name: 'Run again…' }).click()
    const dialog = page.getByRole('dialog')
    const total = dialog.getByLabel('Value of step total')
    expect(await total.count()).toBe(0)
    // Of the first one, nothing is kept.
    await dialog.getByLabel('From this step on').selectOption('total')
    await dialog.getByText('There are none before it to keep.').waitFor()
    expect(await total.count()).toBe(0)
    await dialog.getByLabel('From this step on').selectOption('address')
    expect(await total.inputValue()).toBe('8400')
    await total.fill('9100')
    await dialog.getByLabel('Another input').fill('{"customer":"lin@example.com","cents":4200}')
    await dialog.getByLabel(/^Effects/).selectOption('again')
    await dialog.getByLabel('Reason').fill('moved')
    expect(await seriousFaults(page)).toEqual([])
    await dialog.getByText('As a command').click()
    await dialog.getByText(`--steps '{"total":9100}'`).waitFor()
    await submitButton(page).click()
    await page.waitForURL((url) => !url.hash.includes(jobs.invoice))
    await page
      .getByText("moved (run again from 'address' with another input and other values of 'total')")
      .first()
      .waitFor()
    const rerun = new URLSearchParams(page.url().split('?')[1]).get('id') ?? ''
    await expect.poll(async () => (await pawl.get(rerun))?.state).toBe('SUCCEEDED')
    const [submitted] = await pawl.history(rerun)
    expect(submitted?.entry).toMatchObject({ spec: { steps: [{ name: 'total', value: '9100' }] } })
    expect((await pawl.get(rerun))?.input).toMatchObject({ customer: 'lin@example.com' })
    expect(faults).toEqual([])
    await page.close()
  })

  it('offers what the server accepts at that moment, and to readers who may do nothing, nothing', async () => {
    const { page, go } = await openPage()
    const { id } = await pawl.submit(note, 'held', { hold: true })
    await go(`job?id=${id}`)
    const actions = page.getByRole('group', { name: 'Actions', exact: true })
    await actions.getByRole('button', { name: 'Release…' }).click()
    await page.getByRole('dialog').getByLabel('Your name').fill('ada')
    await submitButton(page).click()
    await actions.getByRole('button', { name: 'Erase…' }).waitFor()
    await actions.getByRole('button', { name: 'Release…' }).waitFor({ state: 'detached' })
    expect((await pawl.history(id)).find(({ type }) => type === 'JobReleased')?.by).toBe('ada')
    await page.close()
    const guarded = await built.serve(pawl, {
      tokens: [{ token: VIEWER, name: 'eve', roles: ['read'] }],
    })
    const reader = await openPage(false, guarded.url)
    await reader.page.getByLabel('Token').fill(VIEWER)
    await reader.page.getByRole('button', { name: 'Enter' }).click()
    for (const shown of [id, jobs.many, shop.held]) {
      await reader.go(`job?id=${shown}`)
      await reader.page.getByRole('heading', { name: 'History' }).waitFor()
      const groups = reader.page.getByRole('group', { name: /^Actions/ })
      expect(await groups.getByRole('button').count()).toBe(0)
    }
    await reader.page.close()
    await guarded.close()
  })

  it('is copied as a command where there is no clipboard for pages', async () => {
    const { page, go } = await openPage()
    await go(`job?id=${jobs.invoice}`)
    // As a page that is not secure has it.
    await page.evaluate('Object.defineProperty(navigator, "clipboard", { value: undefined })')
    await page.evaluate(
      'document.addEventListener("copy", () => { globalThis.copied = document.activeElement?.value })',
    )
    await page.getByRole('button', { name: 'Copy as command' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    expect(await page.evaluate('globalThis.copied')).toBe(`pawl show ${jobs.invoice}`)
    await page.close()
  })
})

describe('a pipeline', () => {
  it('shows all attempts that run, says that there are more, and has the newest of its history', async () => {
    const { page, go } = await openPage()
    await go(`job?id=${jobs.wide}`)
    // Those of the last segments wait for the end of the shop.
    const { running } = (await pawl.get(jobs.wide))?.stages.find(
      ({ name }) => name === 'encode 2160p',
    ) ?? { running: 0 }
    expect(running).toBeGreaterThan(10)
    const row = page
      .getByRole('table', { name: 'Attempts' })
      .getByRole('row', { name: /IN_PROGRESS/ })
    await expect.poll(() => row.count()).toBe(running)
    expect(await page.locator('.timeline .span-run.attempt-IN_PROGRESS').count()).toBe(running)
    const { executionCount = 0 } = (await pawl.get(jobs.wide)) ?? {}
    await page.getByText(`20 of ${executionCount} attempts are shown`).waitFor()
    const history = page.getByRole('table', { name: 'History' })
    await history.getByText('JobSubmitted').waitFor()
    await page.getByText('The first 200 entries.').waitFor()
    await page.getByRole('link', { name: 'The newest' }).click()
    await history.getByText('JobSubmitted').waitFor({ state: 'detached' })
    const [last] = await pawl.history(jobs.wide, { newest: true, limit: 1 })
    expect(await history.locator('tr').last().locator('td').last().innerText()).toBe(
      String(last?.position),
    )
    await page.getByRole('link', { name: 'From the beginning' }).click()
    await history.getByText('JobSubmitted').waitFor()
    await page.close()
  })

  it('has its stage and segment in the address, its name on the tab, and those of its stages in a queue', async () => {
    const { page, go } = await openPage()
    await go(`job?id=${shop.film}`)
    await expect.poll(() => page.title()).toBe(`film ${shop.film} · Pawl`)
    await page.getByRole('button', { name: /^render/ }).click()
    await page.getByRole('button', { name: /^#4/ }).click()
    await page.getByRole('region', { name: 'Segment 4' }).waitFor()
    expect(page.url()).toMatch(/&stage=render&segment=4$/)
    await page.reload()
    await page.getByRole('region', { name: 'Segment 4' }).waitFor()
    await page.getByRole('button', { name: /^sound/ }).click()
    await page.getByRole('heading', { name: /^sound/ }).waitFor()
    await page.goBack()
    await page.getByRole('region', { name: 'Segment 4' }).waitFor()
    // Which stages these are is asked again, if the answer was lost.
    await page.route(`**/v1/jobs/${shop.film}`, (route) => route.abort(), { times: 1 })
    await page.goto(`${served.url}#/queues?queue=gpu`)
    await page.getByRole('cell', { name: 'render, segment 3' }).waitFor()
    await page.close()
  })

  it('is drawn, moved and made larger by mouse and keys, and follows what runs until it is moved', async () => {
    const { page, faults, go } = await openPage()
    await go(`job?id=${jobs.wide}`)
    const stage = page.getByRole('button', { name: /^encode 2160p.*31 done, \d+ running/ })
    await stage.waitFor()
    const place = async () => page.locator('.graph svg > g').getAttribute('transform')
    const begun = await place()
    const graph = page.getByRole('group', { name: /^Stages, drawn/ })
    await graph.focus()
    await page.keyboard.press('ArrowRight')
    await expect.poll(place).not.toBe(begun)
    await page.keyboard.press('0')
    await expect.poll(place).toBe(begun)
    await page.getByRole('button', { name: 'Larger' }).click()
    await expect.poll(place).not.toBe(begun)
    await page.getByRole('button', { name: 'Follow' }).click()
    await expect.poll(place).toBe(begun)
    const box = await graph.boundingBox()
    await page.mouse.move((box?.x ?? 0) + 20, (box?.y ?? 0) + 20)
    await page.mouse.down()
    await page.mouse.move((box?.x ?? 0) + 90, (box?.y ?? 0) + 60, { steps: 4 })
    await page.mouse.up()
    await expect.poll(place).not.toBe(begun)
    // Where it is taken hold of says only how it is moved.
    const moved = await place()
    const probe = page.getByRole('button', { name: /^probe/ })
    const { x, y } = (await probe.boundingBox()) ?? { x: 0, y: 0 }
    await page.mouse.move(x + 20, y + 20)
    await page.mouse.down()
    await page.mouse.move(x + 60, y + 40, { steps: 4 })
    await page.mouse.up()
    await expect.poll(place).not.toBe(moved)
    expect(page.url()).not.toContain('stage=')
    await page.mouse.click(x + 60, y + 40)
    await page.getByRole('heading', { name: /^probe done/ }).waitFor()
    // A stage that the focus comes to is in the picture.
    for (let i = 0; i < 5; i++) await page.getByRole('button', { name: 'Larger' }).click()
    const isInside = async (name: RegExp): Promise<boolean> => {
      const own = await page.getByRole('button', { name }).boundingBox()
      const all = await graph.boundingBox()
      if (own === null || all === null) return false
      return own.x >= all.x - 1 && own.x + own.width <= all.x + all.width + 1
    }
    expect(await isInside(/^announce/)).toBe(false)
    await graph.focus()
    await tabTo(page, /^announce/)
    await expect.poll(() => isInside(/^announce/)).toBe(true)
    await page.getByRole('button', { name: 'All', exact: true }).click()
    await page.getByRole('button', { name: /^translate/ }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: /^translate done/ }).waitFor()
    expect(faults).toEqual([])
    await page.close()
  })

  it('of 10,000 segments full of harmful texts is shown quickly, runs none of it, and asks for what is on the screen', async () => {
    await expect
      .poll(async () => (await pawl.get(jobs.many))?.stages[0]?.running, { timeout: 60_000 })
      .toBe(LEFT_RUNNING)
    const { page, faults, go } = await openPage()
    const asked: URL[] = []
    page.on('request', (request) => asked.push(new URL(request.url())))
    const began = performance.now()
    await go(`job?id=${jobs.many}`)
    const list = page.getByRole('group', { name: /^10,000 segments of/ })
    await list.getByText('#0', { exact: true }).waitFor()
    const tookMs = performance.now() - began
    expect(tookMs).toBeLessThan(3_000)
    expect(await list.locator('li').count()).toBeLessThan(40)
    await list.evaluate((one) => one.scrollTo({ top: one.scrollHeight / 2 }))
    const row = list.getByRole('button', { name: /^#5241/ })
    await row.scrollIntoViewIfNeeded().catch(() => undefined)
    await list.evaluate((one) => one.scrollTo({ top: 5_241 * 48 - 100 }))
    await row.getByText('QUARANTINED').waitFor()
    await row.click()
    const segment = page.getByRole('region', { name: 'Segment 5241' })
    await segment.getByRole('table').waitFor()
    await segment.getByText('Stack, with its causes').click()
    await page.getByRole('button', { name: /^In quarantine \d+/ }).click()
    await list.waitFor({ state: 'detached' })
    const text = (await page.locator('main').textContent()) ?? ''
    expect(text).toContain(HOSTILE.markup)
    expect(text).toContain('safe\\u{202e}gnp.exe\\u{2066}')
    expect(text).not.toMatch(UNSEEN)
    expect(await page.locator('main img, main script').count()).toBe(0)
    expect(await page.evaluate('globalThis.harmed')).toBe(undefined)
    const limits = asked
      .filter(({ pathname }) => pathname.endsWith('/segments'))
      .map(({ searchParams }) => Number(searchParams.get('limit')))
    expect(limits.length).toBeGreaterThan(2)
    expect(Math.max(...limits)).toBeLessThanOrEqual(100)
    expect(await seriousFaults(page)).toEqual([])
    expect(faults).toEqual([])
    await page.close()
    expect(SEGMENTS).toBe(10_000)
  }, 120_000)

  it('has a segment in quarantine tried again, which another one does not notice', async () => {
    const { page, go } = await openPage()
    await go(`job?id=${jobs.many}`)
    await page.getByRole('button', { name: /^In quarantine \d+/ }).click()
    await page.getByRole('button', { name: /^#100 QUARANTINED/ }).click()
    const segment = page.getByRole('region', { name: 'Segment 100', exact: true })
    await segment.getByRole('button', { name: 'Retry…' }).click()
    await page.getByRole('dialog').getByLabel('Reason').fill('once more')
    await submitButton(page).click()
    await segment.getByRole('row', { name: /^#2 ABORTED/ }).waitFor()
    const { segments } = await pawl.segments(jobs.many, {
      stage: (await pawl.get(jobs.many))?.stages[0]?.name ?? '',
      after: 99,
      limit: 1,
    })
    expect(segments[0]).toMatchObject({ segment: 100, state: 'DEAD', attempt: 2 })
    await page.close()
  })
})

it('a job of 1 MB is sent once while nothing happens to it, and one that is over is rarely asked for', async () => {
  const { page, go } = await openPage()
  const statuses: number[] = []
  let requests = 0
  page.on('response', (response) => {
    if (response.url().includes('/v1/jobs/')) requests += 1
    if (/\/v1\/jobs\/[^/?]+$/.test(response.url())) statuses.push(response.status())
  })
  const { id } = await pawl.submit(note, 'x'.repeat(1_000_000), { hold: true })
  await go(`job?id=${id}`)
  await expect.poll(() => statuses.length, { timeout: 20_000 }).toBeGreaterThan(2)
  expect(statuses).toEqual([200, ...statuses.slice(1).map(() => 304)])
  await page.getByText('of 1,000,002 characters are shown').waitFor()
  await pawl.cancel(id, { by: 'grace', reason: 'too large' })
  await page.locator('.title .state-FAILED').waitFor()
  // It is over: asked for once more, and then not for a while.
  await page.getByText('grace: too large').first().waitFor()
  const before = requests
  await page.waitForTimeout(6_000)
  expect(requests - before).toBeLessThanOrEqual(2)
  await page.close()
})

it('a job of 1 MB of harmful text is shown in less than a second, and all of it when it is asked for', async () => {
  const { page, faults, go } = await openPage()
  const began = performance.now()
  await go(`job?id=${shop.hostile}`)
  await page.getByRole('heading', { name: 'Input' }).waitFor()
  expect(performance.now() - began).toBeLessThan(2_000)
  const text = (await page.locator('main').textContent()) ?? ''
  expect(text).not.toMatch(UNSEEN)
  expect(await page.locator('main img, main script').count()).toBe(0)
  await page.getByRole('button', { name: 'Show more' }).first().click()
  await page.getByText(/^400,000 of 1,0/).waitFor()
  expect(await page.evaluate('globalThis.harmed')).toBe(undefined)
  expect(faults).toEqual([])
  await page.close()
  expect([invoice.name, mail.name]).toEqual(['invoice', 'mail'])
})
