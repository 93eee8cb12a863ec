/**
 * A segment of a pipeline in a real browser: what it emitted and how often it was tried, also where that is much.
 */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Pawl } from '../../../src/index.ts'
import { open, pipeline, typed } from '../../../src/index.ts'
import { startBrowser } from '../../support/browser.ts'
import type { BuiltDashboard, ServedDashboard } from '../../support/dashboard.ts'
import { builtDashboard } from '../../support/dashboard.ts'
import { openPage } from '../../support/dashboard-page.ts'

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

it('shows the newest values of a stream, and the newest of many attempts', async () => {
  const chatty = pipeline('chatty', { input: typed<number[]>() }).stage('talk', {
    each: 'input',
    retry: { max: 59, delay: 0 },
    run: async ({ segment, emit, job: { attempt } }) => {
      await emit('words', `word ${attempt}`)
      throw new Error(`no ${segment} in try ${attempt}`)
    },
  })
  pawl.work([chatty])
  const { id } = await pawl.submit(chatty, [7, 8])
  await expect
    .poll(async () => (await pawl.get(id))?.state, { timeout: 30_000 })
    .toBe('QUARANTINED')
  const { page, faults, go } = await openPage(browser as Browser, served.url)
  await go(`job?id=${id}&stage=talk&segment=1`)
  const segment = page.getByRole('region', { name: 'Segment 1' })
  await segment.getByRole('row', { name: /^#60 / }).waitFor()
  await segment.getByText('The newest 50 of 60 attempts.').waitFor()
  expect(await segment.getByRole('row', { name: /^#10 / }).count()).toBe(0)
  await segment.getByText('no 8 in try 60').first().waitFor()
  const stream = segment.getByRole('region', { name: 'Stream words' })
  await stream.getByText('60 values, from 10 on').waitFor()
  await stream.getByText('word 60', { exact: true }).waitFor()
  await stream.getByRole('button', { name: 'Before these' }).click()
  await stream.getByText('word 1', { exact: true }).waitFor()
  await stream.getByRole('button', { name: 'The newest' }).click()
  await stream.getByText('word 60', { exact: true }).waitFor()
  expect(faults).toEqual([])
  await page.close()
})
