/**
 * Numbers that JavaScript has no value for, and texts of any characters, in a real browser: shown as they are recorded, edited
 * beside, and refused where they would be sent as others.
 */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Pawl } from '../../../src/index.ts'
import { job, message, open, typed } from '../../../src/index.ts'
import type { EngineAccess } from '../../../src/engine/engine-access.ts'
import { accessTo } from '../../../src/engine/engine-access.ts'
import type { Schedule } from '../../../src/kernel/index.ts'
import { startBrowser } from '../../support/browser.ts'
import type { BuiltDashboard, ServedDashboard } from '../../support/dashboard.ts'
import { builtDashboard } from '../../support/dashboard.ts'
import type { OpenedPage } from '../../support/dashboard-page.ts'
import {
  openPage as openPageIn,
  seriousFaults,
  submitButton,
} from '../../support/dashboard-page.ts'
import { removedFolder } from '../../support/engines.ts'
import {
  EXACT,
  EXACT_JOBS,
  LARGE,
  LARGEST,
  recordExactJobs,
  ROUNDED,
} from '../../support/exact-jobs.ts'

const { done, dead, film } = EXACT_JOBS

const answer = message('account', {
  input: typed<unknown>(),
  jsonSchema: { type: 'object', properties: { rows: {} }, required: ['rows'] },
})
const asks = job('asks', {
  input: typed<unknown>(),
  messages: [answer],
  run: ({ waitFor }) => waitFor(answer, { ask: 'Which account?' }),
})
const note = job('note', { input: typed<unknown>(), run: () => null })

let browser: Browser | null = null
let built: BuiltDashboard
let pawl: Pawl
let served: ServedDashboard
let removeFolder: () => Promise<void>

beforeAll(async () => {
  built = await builtDashboard()
  browser = await startBrowser()
  const { folder, remove } = await removedFolder()
  removeFolder = remove
  pawl = await open(folder)
  served = await built.serve(pawl)
  await recordExactJobs(served.url.replace('/dashboard/', ''))
  pawl.work([asks])
}, 120_000)

afterAll(async () => {
  await browser?.close()
  await served.close()
  await pawl.close()
  await built.remove()
  await removeFolder()
})

beforeEach(({ skip }) => skip(browser === null, 'no browser starts here'))

const openPage = (isNarrow = false): Promise<OpenedPage> =>
  openPageIn(browser as Browser, served.url, isNarrow)

const SHOWN = `{
  "id": ${LARGE},
  "all": [
    ${LARGEST}
  ],
  "note": "grün",
  "rate": 1.10
}`

it('a job is shown with its own digits: input, output, metadata, steps and streams', async () => {
  const { page, faults, go } = await openPage()
  await go(`job?id=${done}`)
  const block = (label: string) => page.getByRole('group', { name: label, exact: true })
  expect(await block('Input').textContent()).toBe(SHOWN)
  expect(await block('Output').textContent()).toContain(`"sum": ${LARGEST}`)
  expect(await block('Metadata').textContent()).toContain(`"tenant": ${LARGE}`)
  await page.getByText(EXACT.step).waitFor()
  const stream = page.getByRole('region', { name: 'Stream log' })
  await stream.getByText(EXACT.values[0]).waitFor()
  await stream.getByText(LARGEST).waitFor()
  const text = (await page.locator('main').textContent()) ?? ''
  for (const rounded of ROUNDED) expect(text).not.toContain(rounded)
  await go(`job?id=${film}`)
  expect(await block('Output').textContent()).toContain(`"n": ${LARGEST}`)
  expect(await seriousFaults(page)).toEqual([])
  expect(faults).toEqual([])
  await page.close()
})

it('a job as it was has its own digits, and so has what changed', async () => {
  const before = (await pawl.history(done)).at(0)?.position as number
  const { page, faults, go } = await openPage()
  await go(`past?job=${done}`)
  const whole = page.getByRole('group', { name: 'The job as it was' })
  await whole.filter({ hasText: `"sum": ${LARGEST}` }).waitFor()
  expect(await whole.textContent()).toContain(`"id": ${LARGE}`)
  await go(`past?job=${done}&position=${before}&with=now`)
  const rowOf = (name: string) => page.getByRole('row').filter({ hasText: name })
  await rowOf('output.sum').getByText(LARGEST, { exact: true }).waitFor()
  await rowOf('output.of.id').getByText(LARGE, { exact: true }).waitFor()
  const text = (await page.locator('main').textContent()) ?? ''
  for (const rounded of ROUNDED) expect(text).not.toContain(rounded)
  expect(faults).toEqual([])
  await page.close()
})

it('an edit begins from what is recorded; a number that would be sent as another stops it, a text does not', async () => {
  const { page, faults, go } = await openPage()
  await go('quarantine')
  await page.getByRole('button', { name: 'Show some jobs' }).click()
  await page.getByRole('button', { name: `Edit and retry job ${dead}` }).click()
  const input = page.getByRole('dialog').getByLabel('Input')
  expect(await input.inputValue()).toBe(SHOWN)
  const edited = SHOWN.replace('grün', 'blau')
  await input.fill(edited)
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.method()))
  await submitButton(page).click()
  const problem = page.getByRole('alert')
  await problem
    .getByText(
      `Input has the number ${LARGE} at \`id\`, which would be kept as ${ROUNDED[0]}: write it as a text, "${LARGE}".`,
    )
    .waitFor()
  expect(asked).not.toContain('POST')
  expect(await page.getByText('As a command').count()).toBe(0)
  expect((await pawl.get(dead))?.exact?.input).toBe(EXACT.input)
  expect(await seriousFaults(page)).toEqual([])
  // Left as it is, what is recorded stays: it is not sent.
  await input.fill(SHOWN)
  await submitButton(page).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await expect.poll(async () => (await pawl.get(dead))?.state).not.toBe('QUARANTINED')
  expect((await pawl.get(dead))?.exact?.input).toBe(EXACT.input)
  expect(faults).toEqual([])
  await page.close()
})

it('a job is run again with another input whose numbers are texts, and from the page of the job', async () => {
  const { page, go } = await openPage(true)
  await go(`job?id=${done}`)
  await page.getByRole('button', { name: 'Run again…' }).click()
  const input = page.getByRole('dialog').getByLabel('Another input')
  expect(await input.inputValue()).toBe(SHOWN)
  await input.fill(`{"id":"${LARGE}","of":${LARGEST}}`)
  await submitButton(page).click()
  await page.getByRole('alert').getByText(`${LARGEST} at \`of\``).waitFor()
  await input.fill(`{"id":"${LARGE}"}`)
  await submitButton(page).click()
  await page.waitForURL((url) => !url.hash.includes(done))
  const { jobs } = await pawl.list({ type: 'exact', order: 'newest', limit: 1 })
  expect((await pawl.get(jobs[0]?.id as string))?.input).toEqual({ id: LARGE })
  await page.close()
})

it('an answer, and what a schedule gives, are held to it, too', async () => {
  const asking = await pawl.submit(asks, null)
  await expect.poll(async () => (await pawl.inbox()).questions).toHaveLength(1)
  await pawl.schedule('nightly', { every: '6h', job: note, input: { id: 'HERE' } })
  const access = accessTo(pawl) as EngineAccess
  const query = { kind: 'schedule', schedule: 'nightly' } as const
  const { definition } = (await access.store.query(query)) as Schedule
  await access.execute([
    {
      type: 'SetSchedule',
      schedule: 'nightly',
      definition: (definition as string).replace('\\"HERE\\"', LARGE),
      seen: null,
      by: 'ada',
      reason: 'as another program',
    },
  ])
  const { page, faults, go } = await openPage()
  await go('schedules?schedule=nightly')
  await page
    .getByRole('group', { name: /^What jobs/ })
    .getByText(`"id": ${LARGE}`)
    .waitFor()
  await go('inbox')
  const field = page.getByLabel('rows')
  await field.fill(`[1e400, ${LARGE}]`)
  await page.getByLabel('Your name').first().fill('ada')
  await page.getByRole('button', { name: 'Answer' }).click()
  await page
    .getByText('This has the number 1e400 at `[0]`, which would be kept as Infinity')
    .waitFor()
  await field.fill(`["${LARGE}"]`)
  await page.getByRole('button', { name: 'Answer' }).click()
  expect(await asking.result({ timeout: '20s' })).toEqual({ rows: [LARGE] })
  expect(faults).toEqual([])
  await page.close()
})

it('texts of any characters are shown so that each can be told from others, and their jobs are found', async () => {
  const odd = 'line\u2028 \u202Egnp.exe 😀 \u200B 100%25'
  const seen = 'line\\u{2028} \\u{202e}gnp.exe 😀 \\u{200b} 100%25'
  const half = 'half \uD800 nul \u0000'
  await pawl.submit(
    job(odd, { input: typed<unknown>(), run: () => null }),
    { [half]: half },
    { id: `id ${odd}`, key: odd, tags: [odd], queue: odd },
  )
  const { page, faults, go } = await openPage()
  await go(`jobs?tag=${encodeURIComponent(odd)}`)
  await page.getByRole('link', { name: /^id line/ }).click()
  await page.getByRole('heading', { name: 'Input' }).waitFor()
  const text = (await page.locator('main').textContent()) ?? ''
  expect(text).toContain(`id ${seen}`)
  expect(text).toContain(`Key${seen}`)
  // As JSON writes it.
  expect(text).toContain('"half \\ud800 nul \\u0000": "half \\ud800 nul \\u0000"')
  await page.getByRole('button', { name: 'Cancel…' }).click()
  await page.getByLabel('Reason').fill('odd')
  await submitButton(page).click()
  await expect.poll(async () => (await pawl.get(`id ${odd}`))?.state).toBe('FAILED')
  expect(faults).toEqual([])
  await page.close()
})
