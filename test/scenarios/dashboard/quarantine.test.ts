/**
 * The quarantine in a real browser: groups of jobs that failed alike, edited, retried and discarded.
 */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Pawl } from '../../../src/index.ts'
import { job, open, typed } from '../../../src/index.ts'
import { startBrowser } from '../../support/browser.ts'
import type { BuiltDashboard, ServedDashboard } from '../../support/dashboard.ts'
import { builtDashboard } from '../../support/dashboard.ts'
import type { OpenedPage } from '../../support/dashboard-page.ts'
import { openPage, seriousFaults, submitButton } from '../../support/dashboard-page.ts'
import { deferred } from '../../support/engines.ts'

const VIEWER = 'viewer-0123456789abcdef'

let browser: Browser | null = null
let built: BuiltDashboard
let pawl: Pawl
let served: ServedDashboard
/** Jobs of these hosts come through. */
const reachable = new Set<string>(['fixed.example'])

const mail = job('mail', {
  input: typed<{ to: string; size?: number }>(),
  retry: { max: 0 },
  run: ({ input }) => {
    const host = input.to.slice(input.to.indexOf('@') + 1)
    if (!reachable.has(host)) throw new Error(`no mailbox at ${host}`)
    return input.to
  },
})

beforeAll(async () => {
  built = await builtDashboard()
  browser = await startBrowser()
  pawl = await open('memory:')
  pawl.work([mail], { concurrency: 8 })
  served = await built.serve(pawl)
}, 120_000)

afterAll(async () => {
  await browser?.close()
  await served.close()
  await pawl.close()
  await built.remove()
})

beforeEach(({ skip }) => skip(browser === null, 'no browser starts here'))

async function fail(host: string, count: number): Promise<readonly string[]> {
  const inputs = Array.from({ length: count }, (_, i) => ({ input: { to: `a${i}@${host}` } }))
  const handles = await pawl.submitMany(mail, inputs)
  const ids = handles.map(({ id }) => id)
  await expect
    .poll(async () => Promise.all(ids.map(async (id) => (await pawl.get(id))?.state)))
    .toEqual(ids.map(() => 'QUARANTINED'))
  return ids
}

async function openQuarantine(isNarrow = false): Promise<OpenedPage> {
  const opened = await openPage(browser as Browser, served.url, isNarrow)
  await opened.go('quarantine')
  return opened
}

const groupOf = (page: Page, host: string) =>
  page.locator('.card', { hasText: `no mailbox at ${host}` })

it('shows groups as they come and go, with samples', async () => {
  const { page, faults } = await openQuarantine()
  await page.getByText('Nothing is in quarantine').waitFor()
  const [id = ''] = await fail('one.example', 3)
  const group = groupOf(page, 'one.example')
  await group.getByText('3 ×').waitFor()
  await group.getByRole('button', { name: 'Show some jobs' }).click()
  await group.getByRole('link', { name: id }).waitFor()
  expect(await group.locator('tbody tr').count()).toBe(3)
  expect(await seriousFaults(page)).toEqual([])
  expect(faults).toEqual([])
  await page.close()
})

it('edits the input of a job, and retries it', async () => {
  const { page, faults } = await openQuarantine(true)
  const [id = ''] = await fail('two.example', 1)
  const group = groupOf(page, 'two.example')
  await group.getByRole('button', { name: 'Show some jobs' }).click()
  await group.getByRole('button', { name: `Edit and retry job ${id}` }).click()
  const input = page.getByRole('dialog').getByLabel('Input')
  expect(JSON.parse(await input.inputValue())).toEqual({ to: 'a0@two.example' })
  await input.fill('{"to": ')
  await submitButton(page).click()
  await page.getByText('Input is no JSON').waitFor()
  await input.fill('{"to": "a0@fixed.example"}')
  await page.getByLabel('Your name').fill('ada')
  await page.getByLabel('Reason').fill('a slip')
  expect(await seriousFaults(page)).toEqual([])
  await submitButton(page).click()
  await group.waitFor({ state: 'detached' })
  expect(await pawl.handle(id, mail).result({ timeout: '20s' })).toBe('a0@fixed.example')
  const retried = (await pawl.history(id)).find(({ type }) => type === 'TaskRetried')
  expect(retried).toMatchObject({ by: 'ada', reason: 'a slip' })
  expect(faults).toEqual([])
  await page.close()
})

it('gives all of a group another input, after a dry run', async () => {
  const { page } = await openQuarantine()
  const ids = await fail('three.example', 2)
  const group = groupOf(page, 'three.example')
  await group.getByRole('button', { name: 'Edit input…' }).click()
  await page.getByText('Write the input that each of them gets.').waitFor()
  expect(await submitButton(page).isDisabled()).toBe(true)
  await page.getByLabel('Input of each').fill('{"to": "all@fixed.example"}')
  await page.locator('.preview', { hasText: '2 jobs match' }).waitFor()
  await submitButton(page).click()
  await page.getByText('done to 2 of 2 jobs').waitFor()
  for (const id of ids) {
    expect(await pawl.handle(id, mail).result({ timeout: '20s' })).toBe('all@fixed.example')
  }
  await page.close()
})

it('gives a group another input at a rate, shows how far it is, and stops where it is told to', async () => {
  const { page, faults } = await openQuarantine()
  await fail('seven.example', 6)
  const group = groupOf(page, 'seven.example')
  await group.getByRole('button', { name: 'Edit input…' }).click()
  await page.getByLabel('Input of each').fill('{"to": "some@fixed.example"}')
  await page.getByLabel('Rate').fill('2/1s')
  await submitButton(page).click()
  await page.getByText(/^[1-5] of 6 are done/).waitFor()
  await page.getByRole('button', { name: 'Stop here' }).click()
  await page.getByText('What was done stays, the rest is as it was.').waitFor()
  const { states } = await pawl.counts({ type: mail.name })
  // Longer than its rate takes for all of them.
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  expect((await pawl.counts({ type: mail.name })).states.QUARANTINED).toBe(states.QUARANTINED)
  await group.getByRole('heading', { name: /^[1-5] ×/ }).waitFor()
  expect(faults).toEqual([])
  await page.close()
})

it('retries a group at a rate, shows how far it is, and stops where it is told to', async () => {
  const { page, faults } = await openQuarantine()
  const ids = await fail('four.example', 6)
  reachable.add('four.example')
  const group = groupOf(page, 'four.example')
  await group.getByRole('button', { name: 'Retry them…' }).click()
  await page.locator('.preview', { hasText: '6 jobs match' }).waitFor()
  await page.getByLabel('Rate').fill('2/1s')
  await submitButton(page).click()
  await page.getByText(/^[1-5] of 6 are done/).waitFor()
  expect(await page.getByRole('progressbar').getAttribute('max')).toBe('6')
  await page.getByRole('button', { name: 'Stop here' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  // Those that are left are still there, and are retried by another call.
  await group.getByRole('button', { name: 'Retry them…' }).click()
  await page.locator('.preview', { hasText: /[1-5] jobs match/ }).waitFor()
  await submitButton(page).click()
  await group.waitFor({ state: 'detached' })
  for (const id of ids) await pawl.handle(id, mail).result({ timeout: '20s' })
  expect(faults).toEqual([])
  await page.close()
})

it('previews a group by the counters, and means by that what it then does: no dry run looks through the quarantine', async () => {
  const { page } = await openQuarantine()
  await fail('eight.example', 3)
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  const group = groupOf(page, 'eight.example')
  for (const name of ['Retry them…', 'Discard them…']) {
    await group.getByRole('button', { name }).click()
    await page.locator('.preview', { hasText: '3 jobs match' }).waitFor()
    expect(await submitButton(page).getAttribute('class')).toBe('grave')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
  expect(asked.filter((path) => path.endsWith('/bulk/preview'))).toHaveLength(2)
  expect(asked.filter((path) => path.includes('/quarantine/'))).toEqual([])
  await page.close()
})

it('opens no dialog over the view that the reader went to meanwhile', async () => {
  const { page } = await openQuarantine()
  const [id = ''] = await fail('nine.example', 1)
  const gate = deferred()
  const isAsked = deferred()
  await page.route(`**/v1/jobs/${id}`, async (route) => {
    isAsked.resolve()
    await gate.promise
    await route.continue().catch(() => undefined)
  })
  const group = groupOf(page, 'nine.example')
  await group.getByRole('button', { name: 'Show some jobs' }).click()
  await group.getByRole('button', { name: `Edit and retry job ${id}` }).click()
  await isAsked.promise
  await page.getByRole('link', { name: 'Queues', exact: true }).click()
  await page.getByRole('table').first().waitFor()
  gate.resolve()
  // What the page does with an answer, it has done by the time that the next one is there.
  await page.waitForResponse((response) => response.url().includes('/v1/queues'))
  await page.waitForResponse((response) => response.url().includes('/v1/queues'))
  expect(await page.getByRole('dialog').count()).toBe(0)
  await page.close()
})

it('shows the largest groups first, also where jobs that FAILED have more errors than a page has', async () => {
  const letters = 'a b c d e f g h i j'.split(' ')
  const hosts = letters.flatMap((a) =>
    letters.flatMap((b) => 'u v w x y z'.split(' ').map((c) => `${a}${b}${c}.example`)),
  )
  const handles = await pawl.submitMany(
    mail,
    hosts.map((host) => ({ input: { to: `a@${host}` } })),
  )
  await Promise.all(handles.map((handle) => handle.result().catch(() => undefined)))
  const { groups } = await pawl.counts({ by: 'error', limit: 1_000 })
  expect(groups.length).toBeGreaterThan(hosts.length)
  // In order of names, nothing comes behind it.
  const last = groups.findLast(({ states }) => states.QUARANTINED > 0)?.sample
  const ids = handles.map(({ id }) => id).filter((id) => id !== last?.id)
  await pawl.quarantine.discard({ ids })
  await fail('ten.example', 4)
  const { page } = await openQuarantine()
  await groupOf(page, 'ten.example').getByText('4 ×').waitFor()
  await page
    .locator('.card', { hasText: last?.message ?? 'none' })
    .getByText('1 ×')
    .waitFor()
  expect(await page.getByText('rarer errors').count()).toBe(0)
  await page.close()
})

it('discards all of it', async () => {
  await fail('five.example', 2)
  const { page } = await openQuarantine()
  await page.getByRole('button', { name: 'Discard all…' }).click()
  await page.getByText('jobs match').waitFor()
  await submitButton(page).click()
  await page.getByText('Nothing is in quarantine').waitFor()
  expect((await pawl.counts({ type: mail.name })).states.QUARANTINED).toBe(0)
  await page.close()
})

it('offers nothing to a reader who may not', async () => {
  await fail('six.example', 1)
  const tokens = [{ token: VIEWER, name: 'eve', roles: ['read'] }] as const
  const guarded = await built.serve(pawl, { tokens })
  const { page } = await openPage(browser as Browser, `${guarded.url}#/quarantine`)
  await page.getByLabel('Token').fill(VIEWER)
  await page.getByRole('button', { name: 'Enter' }).click()
  const group = groupOf(page, 'six.example')
  await group.getByRole('button', { name: 'Show some jobs' }).click()
  await group.locator('tbody tr').waitFor()
  expect(await page.locator('button', { hasText: '…' }).count()).toBe(0)
  await page.close()
  await guarded.close()
})
