/**
 * The page for tokens that are held to some types or queues, in a real browser: each view that is offered answers, and says
 * nothing of what the token does not see.
 */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Pawl } from '../../../src/index.ts'
import { open } from '../../../src/index.ts'
import { startBrowser } from '../../support/browser.ts'
import type { BuiltDashboard, ServedDashboard } from '../../support/dashboard.ts'
import { builtDashboard } from '../../support/dashboard.ts'
import type { OpenedPage } from '../../support/dashboard-page.ts'
import { OF_A_PHONE, openPage, seriousFaults } from '../../support/dashboard-page.ts'
import type { Shop } from './shop.ts'
import { openShop } from './shop.ts'

const ROLES = ['read', 'operate'] as const
const TOKENS = [
  { token: 'token-held-to-the-type-mail', name: 'mailer', roles: ROLES, types: ['mail'] },
  { token: 'token-held-to-two-types', name: 'both', roles: ROLES, types: ['mail', 'refund'] },
  { token: 'token-held-to-a-queue-letters', name: 'clerk', roles: ROLES, queues: ['letters'] },
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
  served = await built.serve(pawl, { tokens: TOKENS })
}, 120_000)

afterAll(async () => {
  await browser?.close()
  await shop.finish()
  await served.close()
  await pawl.close()
  await built.remove()
})

beforeEach(({ skip }) => skip(browser === null, 'no browser starts here'))

async function enter(name: string, isNarrow = false): Promise<OpenedPage> {
  const opened = await openPage(browser as Browser, served.url, isNarrow)
  const { page } = opened
  await page.getByLabel('Token').fill(TOKENS.find((one) => one.name === name)?.token ?? '')
  await page.getByRole('button', { name: 'Enter' }).click()
  await page.locator('.reader', { hasText: name }).waitFor()
  return opened
}

const numberOf = (page: Page, state: string): Promise<string> =>
  page
    .locator('ul.states')
    .getByRole('link', { name: new RegExp(`^${state}`) })
    .locator('strong')
    .innerText()

describe.each(TOKENS)('the token of $name', ({ name }) => {
  it.each([false, true])(
    'is answered by every view that it is offered, narrow: %s',
    async (isNarrow) => {
      const { page, go } = await enter(name, isNarrow)
      const views = await page
        .locator('nav[aria-label=Views] a')
        .evaluateAll((all) => all.map((one) => one.getAttribute('href')?.slice(2) ?? ''))
      expect(views).toContain('jobs')
      for (const view of views) {
        await go(view)
        await page.waitForTimeout(300)
        expect(await page.locator('main .problem').allInnerTexts(), view).toEqual([])
        expect(await page.locator('main').innerText(), view).not.toMatch(
          /There is no queue yet|No worker said anything|Say which/,
        )
      }
      expect(await seriousFaults(page, isNarrow ? OF_A_PHONE : undefined)).toEqual([])
      await page.close()
    },
  )
})

it('of one type sees its numbers, and of which type it is', async () => {
  const { page } = await enter('mailer')
  await page.locator('.reader', { hasText: 'Type mail' }).waitFor()
  await page.locator('.needs').waitFor()
  expect(await numberOf(page, 'QUARANTINED')).toBe('3')
  expect(await numberOf(page, 'SUCCEEDED')).toBe('0')
  await page.close()
})

it('of one type is shown what an action for many means, and the command that means the same', async () => {
  const { page, go } = await enter('mailer')
  await go('jobs')
  await page.getByRole('button', { name: 'Cancel…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.locator('.preview', { hasText: '3 jobs match type:mail' }).waitFor()
  expect(await dialog.innerText()).not.toContain('all jobs are meant')
  await dialog.getByText('As a command').click()
  const command = dialog.locator('.command code')
  expect(await command.textContent()).toBe('pawl bulk cancel --type mail --yes')
  await dialog.getByRole('button', { name: 'Back' }).click()
  await go('quarantine')
  await page.getByRole('button', { name: 'Discard all…' }).click()
  await dialog.locator('.preview', { hasText: '3 jobs match' }).waitFor()
  await dialog.getByText('As a command').click()
  expect(await command.textContent()).toBe(
    'pawl bulk discard --type mail --state QUARANTINED --yes',
  )
  await page.close()
})

it('of several types chooses which one the views are about', async () => {
  const { page, go } = await enter('both')
  await page.locator('.needs').waitFor()
  expect(await numberOf(page, 'QUARANTINED')).toBe('3')
  await page.getByLabel('Type').selectOption('refund')
  await expect.poll(() => numberOf(page, 'SUSPENDED')).toBe('1')
  expect(await numberOf(page, 'QUARANTINED')).toBe('0')
  await go('inbox')
  await page.getByText('Refund 4200 cents').first().waitFor()
  await go('jobs')
  await expect.poll(() => page.locator('main tbody tr').count()).toBe(1)
  await page.close()
})

it('of a queue is not offered what does not go by queues', async () => {
  const { page, go } = await enter('clerk')
  expect(await page.locator('nav[aria-label=Views]').innerText()).not.toContain('Inbox')
  await page.locator('.needs').waitFor()
  expect(await numberOf(page, 'QUEUED')).toBe('1')
  await go('jobs')
  await expect.poll(() => page.locator('main tbody tr').count()).toBe(1)
  await page.close()
})
