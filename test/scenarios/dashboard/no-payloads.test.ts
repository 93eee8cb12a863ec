/**
 * The dashboard for a token that sees no payloads, in a real browser: what the server leaves out is called so, is never shown
 * as data, and is not offered to be edited.
 */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Pawl } from '../../../src/index.ts'
import { job, message, open, typed } from '../../../src/index.ts'
import { startBrowser } from '../../support/browser.ts'
import type { BuiltDashboard, ServedDashboard } from '../../support/dashboard.ts'
import { builtDashboard } from '../../support/dashboard.ts'
import { openPage, seriousFaults } from '../../support/dashboard-page.ts'

const TOKEN = 'operator-0123456789abcdef'
const NOT = 'not for this token'

let browser: Browser | null = null
let built: BuiltDashboard
let pawl: Pawl
let served: ServedDashboard

const mail = job('mail', {
  input: typed<{ to: string }>(),
  retry: { max: 0 },
  run: async ({ input, step, emit, log }) => {
    await step('address', () => input.to)
    await emit('words', input.to)
    log(input.to)
    throw new Error(`no mailbox at ${input.to}`)
  },
})

const copy = job('copy', { input: typed<string>(), run: ({ input }) => input })

const yesOrNo = message('decision', { input: typed<boolean>(), jsonSchema: { type: 'boolean' } })
const approve = job('approve', {
  input: typed<string>(),
  messages: [yesOrNo],
  run: ({ input, waitFor }) => waitFor(yesOrNo, { ask: `May ${input} go out?` }),
})

beforeAll(async () => {
  built = await builtDashboard()
  browser = await startBrowser()
  pawl = await open('memory:')
  pawl.work([mail, copy, approve])
  const blind = { token: TOKEN, name: 'bob', roles: ['read', 'operate'] } as const
  served = await built.serve(pawl, { tokens: [{ ...blind, payloads: false }] })
}, 120_000)

afterAll(async () => {
  await browser?.close()
  await served.close()
  await pawl.close()
  await built.remove()
})

beforeEach(({ skip }) => skip(browser === null, 'no browser starts here'))

it('shows no null as data, and edits no input that the reader does not see', async () => {
  const secret = 'ada@secret.example'
  const { id } = await pawl.submit(mail, { to: secret }, { metadata: { by: secret } })
  await expect.poll(async () => (await pawl.get(id))?.state).toBe('QUARANTINED')
  const fine = await pawl.submit(copy, secret)
  await fine.result()
  const asked = await pawl.submit(approve, secret)
  await expect.poll(async () => (await pawl.inbox()).questions.length).toBe(1)
  const { page, faults, go } = await openPage(browser as Browser, served.url)
  await page.getByLabel('Token').fill(TOKEN)
  await page.getByRole('button', { name: 'Enter' }).click()
  await page.locator('.reader', { hasText: 'bob' }).waitFor()

  await go(`job?id=${id}`)
  for (const name of ['Input', 'Output', 'Streams']) {
    await page.getByRole('region', { name, exact: true }).getByText(NOT).first().waitFor()
  }
  expect(await page.getByRole('heading', { name: 'Metadata' }).count()).toBe(0)
  expect(await page.getByRole('heading', { name: 'Said by its handler' }).count()).toBe(0)
  expect(await page.locator('main').innerText()).not.toMatch(/\bnull\b/)
  await page.getByRole('button', { name: 'Retry…' }).click()
  await page.getByRole('dialog').getByLabel('Reason').waitFor()
  expect(await page.getByRole('dialog').getByLabel('Another input').count()).toBe(0)
  await page.keyboard.press('Escape')

  await go(`job?id=${fine.id}`)
  await page.getByRole('button', { name: 'Run again…' }).click()
  await page.getByRole('dialog').getByLabel('Reason').waitFor()
  expect(await page.getByRole('dialog').getByLabel('Another input').count()).toBe(0)
  await page.keyboard.press('Escape')

  await go('quarantine')
  const [group] = (await pawl.counts({ by: 'error' })).groups
  await page.getByRole('heading', { name: `1 × ${group?.name}` }).waitFor()
  await page.getByRole('button', { name: 'Show some jobs' }).click()
  await page.locator('td a.id').waitFor()
  expect(await page.getByRole('button', { name: /edit/i }).count()).toBe(0)

  await pawl.pause('letters', { by: 'ada', reason: `${secret} complained` })
  await go('queues')
  await page.getByRole('row', { name: /letters.*paused.*by ada: not for this token/ }).waitFor()

  await go('inbox')
  await page.getByRole('heading', { name: NOT }).waitFor()
  expect(await page.getByRole('button', { name: 'Answer' }).count()).toBe(0)
  expect(await seriousFaults(page)).toEqual([])

  await go(`past?job=${fine.id}`)
  await page.getByText('"state": "SUCCEEDED"').waitFor()
  expect(await page.locator('main').innerText()).not.toMatch(/"(?:input|output|metadata)"/)

  expect((await pawl.get(id))?.input).toEqual({ to: secret })
  expect(faults.filter((one) => !one.includes('401'))).toEqual([])
  await pawl.cancel(asked.id)
  await page.close()
})
