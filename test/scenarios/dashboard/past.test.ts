/**
 * Time travel in a real browser: the machine and one job at moments of the log, and what changed between them.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { countText } from '../../../src/dashboard/page/duration-text.ts'
import { accessTo } from '../../../src/engine/engine-access.ts'
import type { Pawl } from '../../../src/index.ts'
import { job, open, pipeline, typed } from '../../../src/index.ts'
import { startBrowser } from '../../support/browser.ts'
import type { BuiltDashboard, ServedDashboard } from '../../support/dashboard.ts'
import { builtDashboard } from '../../support/dashboard.ts'
import type { OpenedPage } from '../../support/dashboard-page.ts'
import { openPage, seriousFaults } from '../../support/dashboard-page.ts'

const SCOPED = 'token-that-may-only-operate-0123'
const HELD = 'token-that-is-held-to-notes-0123'

let browser: Browser | null = null
let built: BuiltDashboard
const folders: string[] = []

const note = job('note', { input: typed<string>(), run: ({ input }) => input })
const long = job('long', {
  input: typed<number>(),
  run: async ({ input, step }) => {
    for (let i = 0; i < input; i++) await step(`${i}`, () => i)
  },
})
const wide = pipeline('wide', { input: typed<number[]>() }).stage('each', {
  each: 'input',
  run: ({ segment }) => segment,
})
const bad = job('bad', {
  input: typed<string>(),
  retry: { max: 0 },
  run: () => {
    throw new Error('no paper')
  },
})

beforeAll(async () => {
  built = await builtDashboard()
  browser = await startBrowser()
}, 120_000)

afterAll(async () => {
  await browser?.close()
  await built.remove()
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
})

beforeEach(({ skip }) => skip(browser === null, 'no browser starts here'))

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-past-'))
  folders.push(folder)
  return folder
}

/** In a directory, positions are not one behind the other. */
const PLACES: readonly [string, () => Promise<string>][] = [
  ['in memory', async () => 'memory:'],
  ['in a directory', newFolder],
]

describe.each(PLACES)('a store %s', (_name, place) => {
  let pawl: Pawl
  let served: ServedDashboard
  /** Of a job that failed once and was discarded, and where each of its entries stands. */
  let story: { readonly id: string; readonly positions: readonly number[] }
  /** Where all entries stand. */
  let log: readonly number[]
  /** When the first of them was written. */
  let began: number

  beforeAll(async () => {
    pawl = await open(await place())
    pawl.work([note, bad, long])
    served = await built.serve(pawl)
    for (let i = 0; i < 5; i++) await (await pawl.submit(note, `n${i}`)).result()
    const { id } = await pawl.submit(bad, 'x', { key: 'the-bad-one' })
    await pawl
      .handle(id)
      .result({ timeout: '20s' })
      .catch(() => undefined)
    await pawl.discard(id, { by: 'ada', reason: 'of no use' })
    story = { id, positions: (await pawl.history(id)).map(({ position }) => position) }
    for (let i = 0; i < 5; i++) await (await pawl.submit(note, `m${i}`)).result()
    const all = await accessTo(pawl)?.store.query({
      kind: 'entries',
      after: 0,
      through: Number.MAX_SAFE_INTEGER,
      limit: 1_000,
    })
    log = (all ?? []).map(({ position }) => position)
    began = all?.[0]?.entry.at ?? 0
  }, 120_000)

  afterAll(async () => {
    await served.close()
    await pawl.close()
  })

  /** The position of the entry that is so many behind one. */
  const behind = (position: number, count: number): number =>
    log[log.indexOf(position) + count] as number

  const openPast = async (view: string, isNarrow = false): Promise<OpenedPage> => {
    const opened = await openPage(browser as Browser, served.url, isNarrow)
    await opened.go(view)
    return opened
  }

  describe('time travel of the machine', () => {
    it('goes from entry to entry, says what each was, and how many jobs were in which state', async () => {
      const [submitted = 0] = story.positions
      const { page, faults } = await openPast(`past?position=${submitted}`)
      const current = page.locator('tr.current')
      await current.filter({ hasText: 'JobSubmitted' }).waitFor()
      const succeeded = page.getByRole('row', { name: /^SUCCEEDED/ })
      expect(await succeeded.locator('td').allTextContents()).toEqual([
        'SUCCEEDED',
        '5',
        '10',
        '+5',
      ])
      await page.getByRole('button', { name: 'Next entry' }).click()
      await current.filter({ hasText: 'LeaseGranted' }).waitFor()
      await page.waitForURL(new RegExp(`position=${behind(submitted, 1)}`))
      // By keyboard: a full stop and a comma, wherever in the scrubber the focus is.
      await page.getByRole('slider', { name: 'Moment' }).focus()
      await page.keyboard.press('.')
      await page.waitForURL(new RegExp(`position=${behind(submitted, 2)}`))
      // The entry before is that of what is shown: a key that comes sooner counts from the one before.
      await expect.poll(() => current.textContent()).not.toContain('LeaseGranted')
      await page.keyboard.press(',')
      await page.waitForURL(new RegExp(`position=${behind(submitted, 1)}`))
      await current.filter({ hasText: 'LeaseGranted' }).waitFor()
      expect(
        await page.getByRole('slider', { name: 'Moment' }).evaluate((one) => one.matches(':focus')),
      ).toBe(true)
      expect(await seriousFaults(page)).toEqual([])
      expect(faults).toEqual([])
      await page.close()
    })

    it('is moved by the keys of a slider, which keeps the focus', async () => {
      const { page } = await openPast('past')
      const slider = page.getByRole('slider', { name: 'Moment' })
      await slider.focus()
      await page.keyboard.press('Home')
      await page.waitForURL(/time=\d+/)
      await page.getByRole('row', { name: /^SUCCEEDED/ }).waitFor()
      expect(await slider.evaluate((one) => one.matches(':focus'))).toBe(true)
      await page.keyboard.press('End')
      await expect
        .poll(() =>
          page
            .getByRole('row', { name: /^SUCCEEDED/ })
            .locator('td')
            .nth(1)
            .textContent(),
        )
        .toBe('10')
      await page.close()
    })

    it('goes back no further than the log, and then to the view that was before it', async () => {
      const { page, go } = await openPast('jobs')
      await go('past')
      const within = page.getByLabel('Within the last')
      await expect
        .poll(() => within.locator('option').allTextContents())
        .toEqual(['All of the log'])
      await page.getByRole('slider', { name: 'Moment' }).focus()
      await page.keyboard.press('Home')
      await page.waitForURL(new RegExp(`time=${began}$`))
      await page.locator('tr.current').waitFor()
      await page.getByRole('button', { name: 'Next entry' }).click()
      await page.waitForURL(/position=\d+/)
      await page.goBack()
      await page.waitForURL(/#\/jobs$/)
      await page.getByRole('combobox', { name: 'Filter' }).waitFor()
      await page.close()
    })

    it('says what changed between two moments that were chosen', async () => {
      const [first = 0] = story.positions
      const last = story.positions.at(-1) as number
      const { page, faults } = await openPast(`past?position=${first}`)
      await page.locator('tr.current').waitFor()
      await page.getByRole('link', { name: 'Compare from here' }).click()
      await page.goto(`${served.url}#/past?position=${last}&with=p${first}`)
      await page.getByRole('heading', { name: 'Between the two moments' }).waitFor()
      const row = page.getByRole('row', { name: /^FAILED/ })
      await row.filter({ hasText: '+1' }).waitFor()
      await page.getByText(`Written between them: ${story.positions.length - 1} entries`).waitFor()
      const moves = page.locator('.moves', { hasText: 'By type' })
      expect(await moves.locator('li').allTextContents()).toEqual(['bad QUEUED −1FAILED +1'])
      // A job that they are about leads to what is different in it.
      await page.locator('.moves').getByText(story.id.slice(0, 20)).click()
      await page.getByRole('heading', { name: 'What changed' }).waitFor()
      expect(page.url()).toContain(`with=p${first}`)
      await page.getByRole('row', { name: /^state "QUEUED" "FAILED"/ }).waitFor()
      expect(faults).toEqual([])
      await page.close()
    })

    it('filters the jobs of a moment by their state then, on a phone', async () => {
      const quarantined = story.positions.at(-2) as number
      const { page, faults } = await openPast(`past?position=${quarantined}`, true)
      await page.getByRole('link', { name: 'QUARANTINED' }).first().click()
      await page.getByRole('heading', { name: 'Jobs as they were, QUARANTINED' }).waitFor()
      await expect
        .poll(() =>
          page.locator('section', { hasText: 'Jobs as they were' }).locator('tbody tr').count(),
        )
        .toBe(1)
      expect(await seriousFaults(page)).toEqual([])
      expect(faults).toEqual([])
      await page.close()
    })
  })

  describe('time travel of a job', () => {
    it('goes over its entries, and says which fields each changed', async () => {
      const { page, faults } = await openPast(`past?job=${story.id}`)
      await page.getByText('of no use').first().waitFor()
      await page.getByRole('row', { name: /^state "QUARANTINED" "FAILED"/ }).waitFor()
      await page.getByRole('button', { name: 'Previous entry' }).click()
      await page.getByRole('row', { name: /^state "RUNNING" "QUARANTINED"/ }).waitFor()
      await page.getByRole('slider', { name: 'Entries of the job' }).focus()
      await page.keyboard.press('Home')
      await page.locator('.facts', { hasText: 'JobSubmitted' }).waitFor()
      await page.getByRole('link', { name: 'now', exact: true }).click()
      await page.getByRole('row', { name: /^state "QUEUED" "FAILED"/ }).waitFor()
      expect(await seriousFaults(page)).toEqual([])
      expect(faults).toEqual([])
      await page.close()
    })

    it('compares with a moment only if it knows how the job was then', async () => {
      const [first = 0] = story.positions
      let answers: 'none' | 'a refusal' | 'the server' = 'none'
      let lost = 0
      const { page, go } = await openPast('jobs')
      await page.route(
        ({ pathname, searchParams }) =>
          pathname.includes('/v1/past/jobs/') && searchParams.get('position') === `${first}`,
        (route) => {
          if (answers === 'the server') return route.continue()
          if (answers === 'none') {
            lost += 1
            return route.abort()
          }
          const detail = 'The history before it was removed.'
          return route.fulfill({ status: 422, json: { code: 'BeforeHistory', detail } })
        },
      )
      await page.goto(`${served.url}#/past?job=${story.id}&with=p${first}`)
      await expect.poll(() => lost).toBeGreaterThan(1)
      expect(await page.getByRole('row', { name: /^id/ }).count()).toBe(0)
      answers = 'the server'
      await page.getByRole('row', { name: /^state "QUEUED" "FAILED"/ }).waitFor()
      answers = 'a refusal'
      await go('jobs')
      await page.goto(`${served.url}#/past?job=${story.id}&with=p${first}`)
      await page.getByRole('alert').getByText('The history before it was removed.').waitFor()
      await page.getByRole('heading', { name: 'The job as it was FAILED' }).waitFor()
      expect(await page.getByRole('row', { name: /^id/ }).count()).toBe(0)
      await page.close()
    })

    it('goes to the end of a long history', async () => {
      const { id } = await pawl.submit(long, 1_020)
      await pawl.handle(id).result()
      const { page, faults } = await openPast(`past?job=${id}`)
      const { length } = await pawl.history(id, { limit: 9_999 })
      const count = length.toLocaleString('en')
      await page.getByText(`${count} of ${count}`).waitFor()
      await page.getByRole('row', { name: /^state "RUNNING" "SUCCEEDED"/ }).waitFor()
      await page.getByRole('button', { name: 'Previous entry' }).click()
      await page.locator('.facts', { hasText: 'StepRecorded' }).waitFor()
      await page.getByText(`${(length - 1).toLocaleString('en')} of ${count}`).waitFor()
      // A moment of the first page is found as well.
      await page.goto(
        `${served.url}#/past?job=${id}&position=${(await pawl.history(id))[7]?.position}`,
      )
      await page.getByText(`8 of ${count}`).waitFor()
      expect(faults).toEqual([])
      await page.close()
    })

    it('shows what is written meanwhile', async () => {
      const { id } = await pawl.submit(note, 'later', { delay: '1h' })
      const { page } = await openPast(`past?job=${id}`)
      await page.getByText('1 of 1').waitFor()
      await pawl.cancel(id, { by: 'ada', reason: 'not needed' })
      await page.getByText('not needed').first().waitFor()
      await page.getByText('2 of 2').waitFor()
      await page.close()
    })
  })

  describe('a reader who may not watch the log', () => {
    it('sees what happened all the same, as far as it is held', async () => {
      const tokens = [
        { token: SCOPED, name: 'op', roles: ['operate'] },
        { token: HELD, name: 'held', roles: ['read'], types: ['note'] },
      ] as const
      const guarded = await built.serve(pawl, { tokens })
      const [submitted = 0] = story.positions
      for (const [token, name, next] of [
        [SCOPED, 'op', submitted],
        // What is of jobs of another type is not there.
        [HELD, 'held', behind(story.positions.at(-1) as number, 1)],
      ] as const) {
        const { page, faults } = await openPage(browser as Browser, guarded.url)
        await page.getByLabel('Token').fill(token)
        await page.getByRole('button', { name: 'Enter' }).click()
        await page.locator('.reader', { hasText: name }).waitFor()
        const from = behind(submitted, -1)
        await page.goto(`${guarded.url}#/past?position=${from}`)
        await page.getByText(`entry ${countText(from)}`).waitFor()
        await page.getByText('What happened around it').waitFor()
        await page.getByRole('button', { name: 'Next entry' }).click()
        await page.getByText(`entry ${countText(next)}`).waitFor()
        expect(faults.filter((one) => !one.includes('401'))).toEqual([])
        await page.close()
      }
      await guarded.close()
    })
  })
})

describe('a history that is longer than the page reads', { timeout: 120_000 }, () => {
  it('says that it is a part, and shows the job at the moment itself', async () => {
    const own = await open('memory:')
    own.work([wide], { concurrency: 100 })
    const shown = await built.serve(own)
    const { id } = await own.submit(
      wide,
      Array.from({ length: 5_500 }, (_, i) => i),
    )
    await own.handle(id).result({ timeout: '90s' })
    const { page, faults } = await openPage(browser as Browser, shown.url)
    await page.goto(`${shown.url}#/past?job=${id}`)
    await page.getByText('later of more than 10,000').waitFor()
    await page.getByRole('heading', { name: 'The job as it was SUCCEEDED' }).waitFor()
    await page.goto(`${shown.url}#/past?job=${id}&position=10020`)
    await page.getByRole('heading', { name: 'The job as it was RUNNING' }).waitFor()
    await page.getByRole('button', { name: 'Previous entry' }).click()
    await page.getByText('10,000 of more than 10,000').waitFor()
    await page.getByRole('button', { name: 'Next entry' }).click()
    await page.getByText('later of more than 10,000').waitFor()
    expect(faults).toEqual([])
    await page.close()
    await shown.close()
    await own.close()
  })
})

describe('a history whose beginning was removed', () => {
  it('leads to the oldest moment that is kept', async () => {
    const folder = await newFolder()
    const own = await open(`sqlite:${join(folder, 'jobs.db')}`, {
      retention: { age: 1, count: 0 },
      history: 1,
    })
    own.work([note])
    const shown = await built.serve(own)
    for (let i = 0; i < 5; i++) {
      await (await own.submit(note, `n${i}`)).result().catch(() => undefined)
    }
    const isRemoved = (): Promise<boolean> =>
      own
        .at(0)
        .counts()
        .then(
          () => false,
          () => true,
        )
    await expect.poll(isRemoved, { timeout: 20_000 }).toBe(true)
    const { page } = await openPage(browser as Browser, shown.url)
    await page.goto(`${shown.url}#/past?position=0`)
    await page.getByRole('link', { name: 'The oldest moment that is kept' }).click()
    await page.getByRole('heading', { name: 'Jobs as they were' }).waitFor()
    await page.close()
    await shown.close()
    await own.close()
  })
})
