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

const LOST_TWICE = 9

/** The bank hangs up on the first try of each order, and of one on the second, too. */
const charge = effect('charge', {
  input: typed<number>(),
  retry: { max: 0 },
  run: (input) => {
    charges.push(input)
    const tries = charges.filter((one) => one === input).length
    if (tries <= (input === LOST_TWICE ? 2 : 1)) throw new Error('the bank hung up')
  },
})

const order = job('order', {
  input: typed<number>(),
  effects: [charge],
  run: ({ input, commit }) => commit(input, [charge(input)]),
})

const pair = job('pair', {
  input: typed<number>(),
  effects: [charge],
  run: ({ input, commit }) => commit(input, [charge(input), charge(input + 1)]),
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
  pawl.work([mail, order, pair, batch], { concurrency: 8 })
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

it('what is confirmed in an old dialog is meant for the start that it shows: nothing is done a third time', async () => {
  const { id } = await pawl.submit(order, LOST_TWICE)
  const tries = (): number => charges.filter((one) => one === LOST_TWICE).length
  const heldAt = async () =>
    (await pawl.quarantine.list({ heldEffects: true })).jobs.flatMap(({ held }) =>
      held.map(({ start }) => start),
    )
  await expect.poll(heldAt).toEqual([1])
  const readers = [
    ['again', await openView('quarantine')],
    ['again', await openView('quarantine')],
    ['happened', await openView('quarantine')],
  ] as const
  for (const [outcome, { page }] of readers) {
    await page
      .locator('.held .card', { has: page.getByTitle(id) })
      .getByRole('button', { name: outcome === 'again' ? /^Run it again/ : /^It happened/ })
      .click()
    await page.getByText('As a command').click()
    await page.getByText(`pawl resolve ${id} 0 ${outcome} --start 1`).waitFor()
  }
  const [first, second, third] = readers.map(([, { page }]) => page)
  if (first === undefined || second === undefined || third === undefined) throw new Error('none')
  await submitButton(first).click()
  await expect.poll(heldAt).toEqual([2])
  expect(tries()).toBe(2)
  await submitButton(second).click()
  await second.getByRole('dialog').waitFor({ state: 'detached' })
  await submitButton(third).click()
  await third.getByText('HELD since its start under lease 2').waitFor()
  expect(await heldAt()).toEqual([2])
  expect(tries()).toBe(2)
  await pawl.resolveEffect(id, 0, { outcome: 'happened', start: 2 })
  expect(await pawl.handle(id).result()).toBe(LOST_TWICE)
  expect(tries()).toBe(2)
  for (const [, { page }] of readers) await page.close()
})

it('two of one name are told apart, among the quarantine and on the page of the job', async () => {
  const { id } = await pawl.submit(pair, 20)
  await expect.poll(heldCount).toBe(1)
  const { page, go } = await openView('quarantine')
  const card = page.locator('.held .card', { has: page.getByTitle(id) })
  await card.getByText('charge (no. 1)').waitFor()
  await card.getByRole('button', { name: /^It happened: charge \(no\. 1\)/ }).click()
  await page.getByRole('heading', { name: 'Say that effect charge (no. 1) happened' }).waitFor()
  await page.keyboard.press('Escape')
  await go(`job?id=${id}`)
  await page.getByRole('button', { name: 'Say what became of charge (no. 1)…' }).waitFor()
  await page.close()
})
