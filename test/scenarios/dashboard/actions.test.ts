/**
 * What the dialog of an action must never do, in a real browser: mean other jobs than those that it shows, do anything to many
 * before it has said to which, or take an answer for that to another action.
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
  openPage as openPageIn,
  seriousFaults,
  submitButton,
} from '../../support/dashboard-page.ts'
import { deferred } from '../../support/engines.ts'

const note = job('note', { input: typed<number>(), run: () => null })

let browser: Browser | null = null
let built: BuiltDashboard
let pawl: Pawl
let served: ServedDashboard

beforeAll(async () => {
  built = await builtDashboard()
  browser = await startBrowser()
  pawl = await open('memory:')
  served = await built.serve(pawl)
}, 120_000)

afterAll(async () => {
  await browser?.close()
  await served.close()
  await pawl.close()
  await built.remove()
})

beforeEach(({ skip }) => skip(browser === null, 'no browser starts here'))

const openPage = (): Promise<OpenedPage> => openPageIn(browser as Browser, served.url)

const dialogOf = (page: Page) => page.getByRole('dialog')

/** So many that wait, in a queue and with a tag of this name. */
async function waiting(name: string, count: number): Promise<readonly string[]> {
  const options = { queue: name, tags: [name], delay: '3h' } as const
  const items = Array.from({ length: count }, (_, input) => ({ input, options }))
  const handles = await pawl.submitMany(note, items)
  return handles.map(({ id }) => id)
}

/** Answers of this operation are held back until it is let go. */
async function holdBack(page: Page, path: string): Promise<{ letGo: () => void }> {
  const gate = deferred()
  await page.route(`**${path}`, async (route) => {
    await gate.promise
    // A question that was taken back meanwhile has no answer.
    await route.continue().catch(() => undefined)
  })
  return { letGo: () => gate.resolve() }
}

describe('an action on all jobs that match', () => {
  it('moves those of the filter to another queue, and never means the other queue', async () => {
    const [moved = ''] = await waiting('alpha', 1)
    const [other = ''] = await waiting('beta', 1)
    const { page, faults, go } = await openPage()
    await go('jobs?queue=alpha')
    await page.getByRole('button', { name: 'Reschedule…' }).click()
    const dialog = dialogOf(page)
    await dialog.getByText('Say when they are due').waitFor()
    expect(await submitButton(page).isDisabled()).toBe(true)
    await dialog.getByLabel('To queue').fill('beta')
    await dialog.getByLabel('Priority').fill('7')
    await dialog.locator('.preview', { hasText: '1 jobs match queue:alpha' }).waitFor()
    await dialog.getByText('As a command').click()
    expect(await dialog.locator('.command code').textContent()).toBe(
      'pawl bulk reschedule --queue alpha --to-queue beta --priority 7 --yes',
    )
    await submitButton(page).click()
    await page.getByText('done to 1 of 1 jobs').waitFor()
    expect(await pawl.get(moved)).toMatchObject({ queue: 'beta', priority: 7 })
    expect(await pawl.get(other)).toMatchObject({ queue: 'beta', priority: 0 })
    expect(faults).toEqual([])
    await page.close()
  })

  it('asks in words for what is missing, and nothing of the server', async () => {
    const { page, faults, go } = await openPage()
    await go('jobs')
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await page.getByRole('button', { name: 'Run again…' }).click()
    await dialogOf(page).getByText('Give this run a name.').waitFor()
    expect(await submitButton(page).isDisabled()).toBe(true)
    expect(await dialogOf(page).getByRole('alert').count()).toBe(0)
    expect(await seriousFaults(page)).toEqual([])
    expect(asked.filter((path) => path.includes('/bulk/'))).toEqual([])
    await dialogOf(page).getByLabel('Name of this run').fill('monday')
    await dialogOf(page).getByText('jobs match').waitFor()
    expect(await submitButton(page).isEnabled()).toBe(true)
    expect(faults).toEqual([])
    await page.close()
  })

  it.each(['yesterday', '2h ago', '1e5'])(
    'is not offered, and no jobs are shown, where the time in the address is %s',
    async (time) => {
      const { page, go } = await openPage()
      await waiting('untimely', 1)
      await go(`jobs?tag=untimely&submittedBefore=${encodeURIComponent(time)}`)
      await page.getByRole('alert').getByText(`'${time}' is no time`).waitFor()
      expect(await page.getByRole('button', { name: 'Cancel…' }).count()).toBe(0)
      expect(await page.locator('tbody tr').count()).toBe(0)
      await go('jobs?tag=untimely')
      await page.getByRole('button', { name: 'Cancel…' }).waitFor()
      await page.close()
    },
  )

  it('reads a time of digits as milliseconds', async () => {
    const [id = ''] = await waiting('digits', 1)
    const { page, go } = await openPage()
    await go(`jobs?tag=digits&submittedFrom=${Date.now() - 3_600_000}`)
    await page.getByText(id).waitFor()
    await go(`jobs?tag=digits&submittedFrom=${Date.now() + 3_600_000}`)
    await page.getByText('No job matches.').waitFor()
    await page.close()
  })

  it('is not done by Enter before its preview is there, nor if there is none', async () => {
    await waiting('hasty', 3)
    const { page, go } = await openPage()
    await go('jobs?tag=hasty')
    const { letGo } = await holdBack(page, '/v1/bulk/preview')
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await page.getByRole('button', { name: 'Cancel…' }).focus()
    await page.keyboard.press('Enter')
    await dialogOf(page).getByText('Looking what it would do…').waitFor()
    await page.keyboard.press('Enter')
    await dialogOf(page).getByLabel('Reason').press('Enter')
    expect(await submitButton(page).isDisabled()).toBe(true)
    letGo()
    await dialogOf(page).getByText('3 jobs match').waitFor()
    expect(asked.filter((path) => path.includes('/bulk/events'))).toEqual([])
    await dialogOf(page).getByRole('button', { name: 'Back' }).click()
    await page.unroute('**/v1/bulk/preview')
    await page.route('**/v1/bulk/preview', (route) =>
      route.fulfill({ status: 500, json: { code: 'Bug', detail: 'it fell over' } }),
    )
    await page.getByRole('button', { name: 'Cancel…' }).click()
    await dialogOf(page).getByText('it fell over').waitFor()
    await dialogOf(page).getByLabel('Reason').press('Enter')
    expect(await submitButton(page).isDisabled()).toBe(true)
    expect((await pawl.counts({ tag: 'hasty' })).states.CREATED).toBe(3)
    await page.close()
  })

  it('has the preview of what is filled in now', async () => {
    await waiting('typed', 2)
    const { page, go } = await openPage()
    await go('jobs?tag=typed')
    await page.getByRole('button', { name: 'Reschedule…' }).click()
    const dialog = dialogOf(page)
    await dialog.getByLabel('Due in').fill('5h')
    await dialog.getByText('2 jobs match').waitFor()
    const { letGo } = await holdBack(page, '/v1/bulk/preview')
    await dialog.getByLabel('Due in').fill('50h')
    expect(await submitButton(page).isDisabled()).toBe(true)
    letGo()
    await expect.poll(() => submitButton(page).isEnabled()).toBe(true)
    await page.close()
  })
})

describe('a dialog that stays open', () => {
  it('asks again how many jobs there are, and not while the page is hidden', async () => {
    await waiting('fresh', 2)
    const { page, go } = await openPage()
    await go('jobs?tag=fresh')
    await page.clock.install()
    await page.getByRole('button', { name: 'Cancel…' }).click()
    const dialog = dialogOf(page)
    await dialog.getByText('2 jobs match').waitFor()
    await waiting('fresh', 1)
    await page.clock.fastForward(11_000)
    await dialog.getByText('3 jobs match').waitFor()
    const setHidden = (isHidden: boolean): Promise<unknown> =>
      page.evaluate(`
        Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))
      `)
    await setHidden(true)
    await expect.poll(() => submitButton(page).isDisabled()).toBe(true)
    await waiting('fresh', 1)
    await setHidden(false)
    await dialog.getByText('4 jobs match').waitFor()
    await expect.poll(() => submitButton(page).isEnabled()).toBe(true)
    await page.close()
  })

  it('says of its command that it was copied only as long as it is the same', async () => {
    await pawl.configure('copied', { concurrency: 1 })
    const { page, go } = await openPage()
    await go('queues')
    await page.getByRole('button', { name: 'Pause queue copied' }).click()
    const dialog = dialogOf(page)
    await dialog.getByText('As a command').click()
    await dialog.getByRole('button', { name: 'Copy', exact: true }).click()
    await dialog.getByRole('button', { name: 'Copied', exact: true }).waitFor()
    await dialog.getByLabel('Reason').fill('another one')
    await dialog.getByRole('button', { name: 'Copy', exact: true }).waitFor()
    await page.close()
  })
})

describe('the dialog of an action', () => {
  it('says on its button what it does, cut short, and on the other one that it goes back', async () => {
    const name = `queue ${'of a long name '.repeat(8)}`.trim()
    await pawl.configure(name, { concurrency: 1 })
    const { page, go } = await openPage()
    await go('queues')
    await page.getByRole('button', { name: /^Pause queue queue of a long/ }).click()
    const text = (await submitButton(page).textContent()) ?? ''
    expect(text).toMatch(/^Pause queue queue of a long name .*…$/)
    expect(text.length).toBe(60)
    await dialogOf(page).getByRole('button', { name: 'Back', exact: true }).click()
    await dialogOf(page).waitFor({ state: 'detached' })
    await page.close()
  })

  it('is not closed by the answer to an action that was left before', async () => {
    await pawl.configure('slow', { concurrency: 1 })
    const { page, go } = await openPage()
    await go('queues')
    const { letGo } = await holdBack(page, '/v1/queues/slow/pause')
    await page.getByRole('button', { name: 'Pause queue slow' }).click()
    await submitButton(page).click()
    await dialogOf(page).getByRole('button', { name: 'Back' }).click()
    await page.getByRole('button', { name: 'Configure queue slow' }).click()
    const reason = dialogOf(page).getByLabel('Reason')
    await reason.fill('half a rea')
    letGo()
    await page.getByText('Pause queue slow: done.').waitFor()
    expect(await reason.inputValue()).toBe('half a rea')
    expect((await pawl.queue('slow')).pausedAt).not.toBe(null)
    await page.close()
  })

  it('goes with the view that it stands on, and says so if what it began fails after that', async () => {
    await pawl.configure('left', { concurrency: 1 })
    const { page, go } = await openPage()
    await go('jobs')
    await page.getByRole('link', { name: 'Queues', exact: true }).click()
    await page.getByRole('button', { name: 'Pause queue left' }).click()
    const gate = deferred()
    await page.route('**/v1/queues/left/pause', async (route) => {
      await gate.promise
      await route.fulfill({ status: 500, json: { code: 'Bug', detail: 'it fell over' } })
    })
    await submitButton(page).click()
    await page.goBack()
    await page.waitForURL(/#\/jobs$/)
    await dialogOf(page).waitFor({ state: 'detached' })
    gate.resolve()
    await page.getByText('Pause queue left: it fell over').waitFor()
    await page.getByRole('combobox', { name: 'Filter' }).click()
    await page.close()
  })
})

it('another page of jobs has the focus, and takes it from no field', async () => {
  await waiting('paged', 60)
  const { page, go } = await openPage()
  await go('jobs?tag=paged')
  const focused = () =>
    page.evaluate(
      'document.activeElement.getAttribute("aria-label") ?? document.activeElement.tagName',
    )
  await page.getByRole('link', { name: 'Next page' }).press('Enter')
  await expect.poll(() => page.locator('tbody tr').count()).toBe(10)
  await expect.poll(focused).toBe('Page of jobs')
  expect(await seriousFaults(page)).toEqual([])
  await page.getByRole('link', { name: 'First page' }).press('Enter')
  await expect.poll(() => page.locator('tbody tr').count()).toBe(50)
  await expect.poll(focused).toBe('Page of jobs')
  await page.getByRole('link', { name: 'Next page' }).press('Enter')
  await expect.poll(focused).toBe('Page of jobs')
  const field = page.getByRole('combobox', { name: 'Filter' })
  await field.fill('tag:paged state:CREATED')
  await field.press('Enter')
  await page.waitForURL(/state=CREATED/)
  await expect.poll(() => page.locator('tbody tr').count()).toBe(50)
  expect(await field.evaluate((one) => one.matches(':focus'))).toBe(true)
  await page.close()
})
