/**
 * Effects whose outcome a person has to say, in a real browser: named first whatever else is in quarantine, listed, and resolved where
 * they stand.
 */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Pawl } from '../../../src/index.ts'
import { effect, job, open, pipeline, typed } from '../../../src/index.ts'
import { startBrowser } from '../../support/browser.ts'
import type { BuiltDashboard, ServedDashboard } from '../../support/dashboard.ts'
import { builtDashboard } from '../../support/dashboard.ts'
import type { OpenedPage } from '../../support/dashboard-page.ts'
import { OF_A_PHONE, openPage, seriousFaults, submitButton } from '../../support/dashboard-page.ts'
import { deferred } from '../../support/engines.ts'

const OTHERS = 150

let browser: Browser | null = null
let built: BuiltDashboard
let pawl: Pawl
let served: ServedDashboard
const gate = deferred()
const charges: number[] = []

const mail = job('mail', {
  input: typed<string>(),
  retry: { max: 0 },
  run: () => {
    throw new Error('no such mailbox')
  },
})

/** The bank hangs up on the first try of each order. */
const charge = effect('charge', {
  input: typed<number>(),
  retry: { max: 0 },
  run: (input) => {
    charges.push(input)
    if (charges.filter((one) => one === input).length === 1) throw new Error('the bank hung up')
  },
})

const order = job('order', {
  input: typed<number>(),
  effects: [charge],
  run: ({ input, commit }) => commit(input, [charge(input)]),
})

const batch = pipeline('batch', { input: typed<{ cards: number[] }>() })
  .stage('charge-cards', {
    each: 'input.cards',
    effects: [charge],
    run: ({ segment, commit }) => commit(segment, [charge(segment)]),
  })
  .stage('slow', { run: () => gate.promise })

beforeAll(async () => {
  built = await builtDashboard()
  browser = await startBrowser()
  pawl = await open('memory:')
  pawl.work([mail, order, batch], { concurrency: 8 })
  served = await built.serve(pawl)
}, 120_000)

afterAll(async () => {
  gate.resolve()
  await browser?.close()
  await served.close()
  await pawl.close()
  await built.remove()
})

beforeEach(({ skip }) => skip(browser === null, 'no browser starts here'))

const openView = async (view: string, isNarrow = false): Promise<OpenedPage> => {
  const opened = await openPage(browser as Browser, served.url, isNarrow)
  await opened.go(view)
  return opened
}

async function heldCount(): Promise<number> {
  return (await pawl.counts({ heldEffects: true })).total
}

it('are named first on the overview, behind 150 ordinary jobs in quarantine', async () => {
  const inputs = Array.from({ length: OTHERS }, (_, i) => ({ input: `m${i}` }))
  await pawl.submitMany(mail, inputs)
  await expect.poll(async () => (await pawl.counts()).states.QUARANTINED).toBe(OTHERS)
  const { id } = await pawl.submit(order, 1)
  await expect.poll(heldCount).toBe(1)
  const { page, faults, go } = await openPage(browser as Browser, served.url)
  const asked: string[] = []
  page.on('request', (request) => void asked.push(new URL(request.url()).pathname))
  await go('')
  const first = page.locator('.needs li').first()
  await first.getByText('1 job with an effect whose outcome a person has to say').waitFor()
  await first.getByRole('link', { name: id }).waitFor()
  await expect.poll(() => asked.filter((path) => path === '/v1/counts').length).toBeGreaterThan(3)
  expect(asked).not.toContain('/v1/quarantine')

  await first.getByRole('link', { name: '1 job with an effect' }).click()
  await page.getByRole('link', { name: 'Without held-effects true' }).waitFor()
  await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
  await page.locator('tbody').getByRole('link', { name: id }).waitFor()
  expect(await page.getByRole('navigation', { name: 'States' }).innerText()).toMatch(
    /QUARANTINED\s+1/,
  )
  expect(await seriousFaults(page)).toEqual([])
  expect(faults).toEqual([])
  await page.close()
})

it('are a word of the filter, which the field suggests', async () => {
  const { page } = await openView('jobs')
  const field = page.getByRole('combobox', { name: 'Filter' })
  await field.fill('held')
  await page.getByRole('option', { name: /^held-effects:true a person has to say/ }).click()
  await page.getByRole('link', { name: 'Without held-effects true' }).waitFor()
  await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
  expect(new URL(page.url()).hash).toBe('#/jobs?heldEffects=true')
  await field.fill('held-effects:no')
  await page.getByRole('button', { name: 'Show' }).click()
  await page.getByText('There is held-effects:true only').waitFor()
  await page.close()
})

it('stand on top of the quarantine, and are resolved there: it happened, or it runs again', async () => {
  const again = await pawl.submit(order, 2)
  const many = await pawl.submit(batch, { cards: [3, 4] })
  await expect.poll(heldCount).toBe(3)
  for (const isNarrow of [true, false]) {
    const { page, faults } = await openView('quarantine', isNarrow)
    await page.getByRole('heading', { name: 'What became of these effects?' }).waitFor()
    await page.getByText('3 jobs have an effect').waitFor()
    expect(await seriousFaults(page, isNarrow ? OF_A_PHONE : undefined)).toEqual([])
    const isWider = await page.evaluate(
      'document.documentElement.scrollWidth > document.documentElement.clientWidth + 1',
    )
    expect(isWider).toBe(false)
    expect(faults).toEqual([])
    await page.close()
  }
  const { page, faults } = await openView('quarantine')
  const card = (id: string) => page.locator('.held .card', { has: page.getByTitle(id) })
  // A pipeline is there while it runs.
  expect((await pawl.get(many.id))?.state).toBe('RUNNING')
  await card(many.id).getByText('charge of segment 1 of charge-cards').waitFor()
  await card(again.id).getByText('said: Error: the bank hung up').waitFor()

  await card(again.id)
    .getByRole('button', { name: /^Run it again: charge/ })
    .click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('if it did happen, it happens twice').waitFor()
  await dialog.getByLabel('Your name').fill('ada')
  await dialog.getByLabel('Reason').fill('the bank has no such charge')
  await submitButton(page).click()
  await card(again.id).waitFor({ state: 'detached' })
  expect(await again.result({ timeout: '20s' })).toBe(2)
  expect(charges.filter((one) => one === 2)).toHaveLength(2)
  const entry = (await pawl.history(again.id)).find(({ type }) => type === 'EffectResolved')
  expect(entry).toMatchObject({
    by: 'ada',
    reason: 'the bank has no such charge',
  })

  for (const left of [1, 0]) {
    await card(many.id)
      .getByRole('button', { name: /^It happened: charge/ })
      .first()
      .click()
    await submitButton(page).click()
    await expect.poll(() => card(many.id).locator('li').count()).toBe(left)
  }
  expect(charges.filter((one) => one === 3)).toHaveLength(1)
  await page.getByText('1 job has an effect').waitFor()
  await page.getByRole('button', { name: /^It happened: charge/ }).click()
  await submitButton(page).click()
  await page
    .getByRole('heading', { name: 'What became of these effects?' })
    .waitFor({ state: 'detached' })
  expect(await heldCount()).toBe(0)
  expect(charges.filter((one) => one === 1)).toHaveLength(1)
  // The others are as they were.
  await page.getByText(`${OTHERS} jobs were given up`).waitFor()
  expect(faults).toEqual([])
  await page.close()

  const overview = await openView('')
  await overview.page.locator('.needs', { hasText: `${OTHERS} jobs in quarantine` }).waitFor()
  expect(await overview.page.locator('.needs').innerText()).not.toContain('whose outcome')
  await overview.page.close()
})
