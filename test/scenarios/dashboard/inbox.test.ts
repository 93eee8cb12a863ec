/**
 * Questions that wait for people, in a real browser: in the inbox, and behind a signed link.
 */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Pawl } from '../../../src/index.ts'
import { job, message, open, typed } from '../../../src/index.ts'
import { messageLink } from '../../../src/server/index.ts'
import { startBrowser } from '../../support/browser.ts'
import type { BuiltDashboard, ServedDashboard } from '../../support/dashboard.ts'
import { builtDashboard } from '../../support/dashboard.ts'
import type { OpenedPage } from '../../support/dashboard-page.ts'
import { openPage, seriousFaults } from '../../support/dashboard-page.ts'

const KEY = 'key-of-links-that-is-long-enough-0123456789'
const OPERATOR = 'operator-0123456789abcdef'
const VIEWER = 'viewer-0123456789abcdef'
const SOON = () => new Date(Date.now() + 3_600_000)

let browser: Browser | null = null
let built: BuiltDashboard
let pawl: Pawl
let served: ServedDashboard
let guarded: ServedDashboard

const claim = message('claim', {
  input: typed<unknown>(),
  jsonSchema: {
    type: 'object',
    properties: {
      pay: { type: 'boolean', title: 'Pay it' },
      cents: { type: 'integer', title: 'Cents', minimum: 1, description: 'Not more than asked.' },
      cause: { enum: ['late', 'broken', 'wrong', 'lost', 'other'], title: 'Cause' },
      to: {
        type: 'object',
        title: 'Account',
        properties: { name: { type: 'string', title: 'Holder' }, iban: { type: 'string' } },
        required: ['iban'],
      },
      items: {
        type: 'array',
        title: 'Items',
        items: { type: 'object', properties: { name: { type: 'string', title: 'Item' } } },
      },
      note: { type: 'string', title: 'Note', maxLength: 500 },
    },
    required: ['pay', 'cause'],
  },
})

const settle = job('settle', {
  input: typed<{ order: string }>(),
  messages: [claim],
  run: ({ input, waitFor }) =>
    waitFor(claim, { ask: `Settle order ${input.order}?`, for: ['claims'], notBySubmitter: true }),
})

const yesOrNo = message('decision', { input: typed<boolean>(), jsonSchema: { type: 'boolean' } })

const approve = job('approve', {
  input: typed<string>(),
  messages: [yesOrNo],
  run: ({ input, waitFor }) => waitFor(yesOrNo, { ask: `May ${input} go out?`, for: ['editors'] }),
})

const prices = message('prices', {
  input: typed<unknown>(),
  jsonSchema: {
    type: 'object',
    properties: {
      byItem: { type: 'object', title: 'Prices', additionalProperties: { type: 'integer' } },
      to: {
        type: 'object',
        title: 'Shop',
        properties: { name: { type: 'string', title: 'Its name' } },
        required: ['number'],
      },
    },
    required: ['signature'],
  },
})

const quote = job('quote', {
  messages: [prices],
  run: ({ waitFor }) => waitFor(prices, { ask: 'What does it cost?' }),
})

const hurried = job('hurried', {
  messages: [yesOrNo],
  run: ({ waitFor }) => waitFor(yesOrNo, { ask: 'Now or never?', timeout: '50ms' }),
})

const both = job('both', {
  messages: [yesOrNo],
  run: ({ waitFor }) => waitFor(yesOrNo, { ask: 'Do both agree?', quorum: 2 }),
})

beforeAll(async () => {
  built = await builtDashboard()
  browser = await startBrowser()
  pawl = await open('memory:')
  pawl.work([settle, approve, quote, hurried, both])
  served = await built.serve(pawl)
  const tokens = [
    { token: OPERATOR, name: 'ops', roles: ['admin'] },
    { token: VIEWER, name: 'eve', roles: ['read'] },
  ] as const
  guarded = await built.serve(pawl, { tokens, linkKeys: [KEY] })
}, 120_000)

afterAll(async () => {
  await browser?.close()
  await served.close()
  await guarded.close()
  await pawl.close()
  await built.remove()
})

beforeEach(({ skip }) => skip(browser === null, 'no browser starts here'))

const openInbox = (isNarrow = false): Promise<OpenedPage> =>
  openPage(browser as Browser, served.url, isNarrow)

async function asked(id: string): Promise<void> {
  await expect.poll(async () => (await pawl.inbox({ job: id })).questions.length).toBe(1)
}

describe('the inbox', () => {
  it('asks by a form with groups, lists and choices, and says beside each field what is wrong', async () => {
    const { page, faults, go } = await openInbox()
    const { id } = await pawl.submit(settle, { order: 'A-1' }, { by: 'bob' })
    await go('inbox')
    const card = page.locator('.question', { hasText: 'order A-1' })
    await card.getByText('not by bob').waitFor()
    await card.getByText('What the job was given').click()
    await card.getByText('"order": "A-1"').waitFor()
    await card.getByLabel('Cents').fill('9007199254740993')
    await card.getByLabel('Holder').fill('Ada')
    await card.getByRole('button', { name: 'Answer' }).click()
    await card.getByText('This is too large to be kept as it is.').waitFor()
    expect(await card.locator('.wrong').allTextContents()).toEqual([
      'This is needed.',
      'This is too large to be kept as it is.',
      'This is needed.',
      'This is needed.',
    ])
    // The first that is wrong has the focus, and is heard with what is wrong.
    expect(await card.getByLabel('Yes').evaluate((one) => one.matches(':focus'))).toBe(true)
    expect(await seriousFaults(page)).toEqual([])
    await card.getByLabel('Yes').check()
    await card.getByLabel('Cents').fill('0')
    await card.getByLabel('Cause').selectOption({ label: 'broken' })
    await card.getByLabel('iban').fill('DE02')
    for (const name of ['cup', 'lid', 'saucer']) {
      await card.getByRole('button', { name: 'Add to Items' }).click()
      await card.getByRole('textbox', { name: 'Item' }).last().fill(name)
    }
    await card.getByRole('button', { name: 'Remove Items 2' }).click()
    await card.getByRole('button', { name: 'Answer' }).click()
    await card.getByText('This must be at least 1.').waitFor()
    await card.getByLabel('Cents').fill('250')
    await card.getByLabel('Your name').fill('grace')
    await card.getByLabel('Reason').fill('the photo shows it')
    await card.getByRole('button', { name: 'Answer' }).click()
    await card.waitFor({ state: 'detached' })
    expect(await pawl.handle(id, settle).result({ timeout: '20s' })).toEqual({
      pay: true,
      cents: 250,
      cause: 'broken',
      to: { name: 'Ada', iban: 'DE02' },
      items: [{ name: 'cup' }, { name: 'saucer' }],
    })
    const said = (await pawl.history(id)).find(({ type }) => type === 'MessageSent')
    expect(said).toMatchObject({ by: 'grace', reason: 'the photo shows it' })
    expect(faults).toEqual([])
    await page.close()
  })

  it('says what is wrong where no field of its own stands for it, too', async () => {
    const { page, faults, go } = await openInbox()
    const { id } = await pawl.submit(quote)
    await asked(id)
    await go('inbox')
    const card = page.locator('.question', { hasText: 'What does it cost?' })
    await card.getByLabel('Prices').fill('{"cup":"2.50"}')
    await card.getByLabel('Its name').fill('Ada & Co')
    await card.getByRole('button', { name: 'Answer' }).click()
    await card.getByRole('alert').getByText('signature: This is needed.').waitFor()
    expect(await card.locator('.wrong').allTextContents()).toEqual([
      'cup: This must be integer, not string.',
      'number: This is needed.',
    ])
    expect(await seriousFaults(page)).toEqual([])
    await pawl.cancel(id)
    expect(faults).toEqual([])
    await page.close()
  })

  it('shows a refusal, and keeps what was filled in', async () => {
    const { page, go } = await openInbox()
    const { id } = await pawl.submit(settle, { order: 'A-2' }, { by: 'grace' })
    await go('inbox')
    const card = page.locator('.question', { hasText: 'order A-2' })
    await card.getByLabel('No', { exact: true }).check()
    await card.getByLabel('Cause').selectOption({ label: 'lost' })
    await card.getByLabel('Your name').fill('grace')
    await card.getByRole('button', { name: 'Answer' }).click()
    await card.getByText('may not answer it').waitFor()
    expect(await card.getByLabel('No', { exact: true }).isChecked()).toBe(true)
    await pawl.cancel(id)
    await card.getByText('The job does not ask it any more.').waitFor()
    expect(await card.getByLabel('No', { exact: true }).isChecked()).toBe(true)
    await card.getByRole('button', { name: 'Close' }).click()
    await card.waitFor({ state: 'detached' })
    await page.close()
  })

  it('keeps a question that is being answered where it is, and says who answered it meanwhile', async () => {
    const { page, faults, go } = await openInbox()
    const { id } = await pawl.submit(settle, { order: 'B-1' })
    const next = await pawl.submit(settle, { order: 'B-2' })
    const last = await pawl.submit(settle, { order: 'B-3' })
    await asked(last.id)
    await go('inbox')
    const card = page.locator('.question', { hasText: 'order B-1' })
    await card.getByLabel('Reason').fill('the photo shows it')
    await page.locator('.question', { hasText: 'order B-3' }).getByLabel('Yes').check()
    const value = { pay: true, cause: 'lost' }
    for (const one of [id, next.id]) {
      await pawl.answer({ job: one, name: 'claim' }, value, { by: 'grace' })
    }
    await card.getByText('It was answered by grace meanwhile.').waitFor()
    // Nothing was filled in for the second: it is gone. The others are where they were.
    await page.locator('.question', { hasText: 'order B-2' }).waitFor({ state: 'detached' })
    const titles = await page.locator('.question h2').allInnerTexts()
    expect(titles).toEqual(['Settle order B-1?', 'Settle order B-3?'])
    expect(await card.getByLabel('Reason').inputValue()).toBe('the photo shows it')
    expect(await card.getByRole('button', { name: 'Answer' }).count()).toBe(0)
    expect(await seriousFaults(page)).toEqual([])
    await card.getByRole('button', { name: 'Close' }).click()
    await card.waitFor({ state: 'detached' })
    expect(faults).toEqual([])
    await pawl.cancel(last.id)
    await page.close()
  })

  it('shows questions as they come, is answered by keyboard alone, and goes by whom they are for', async () => {
    const { page, faults, go } = await openInbox()
    const other = await pawl.submit(settle, { order: 'A-3' })
    await go('inbox?for=editors')
    await page.getByText('No such question waits').waitFor()
    await page.evaluate('globalThis.isSamePage = true')
    const { id } = await pawl.submit(approve, 'the letter')
    await page.getByText('May the letter go out?').waitFor()
    expect(await page.evaluate('globalThis.isSamePage')).toBe(true)
    expect(await page.locator('.question').count()).toBe(1)
    await page.getByRole('searchbox').or(page.getByLabel('Type of job')).focus()
    const yes = page.getByLabel('Yes')
    for (let i = 0; i < 20; i++) {
      await page.keyboard.press('Tab')
      if (await yes.evaluate((one) => one.matches(':focus'))) break
    }
    await page.keyboard.press('Space')
    await page.keyboard.press('Enter')
    await page.getByText('No such question waits').waitFor()
    expect(await pawl.handle(id, approve).result({ timeout: '20s' })).toBe(true)
    await page.getByRole('link', { name: 'Show all' }).click()
    await page.getByText('Settle order A-3?').waitFor()
    await page.getByLabel('For', { exact: true }).fill('editors')
    await page.keyboard.press('Enter')
    await page.waitForURL(/#\/inbox\?for=editors$/)
    await pawl.cancel(other.id)
    expect(faults).toEqual([])
    await page.close()
  })

  it('is on the page of the job that asks, too, and is answered there', async () => {
    const { page, faults, go } = await openInbox()
    const { id } = await pawl.submit(approve, 'the card')
    await go(`job?id=${id}`)
    const card = page.getByRole('region', { name: 'It asks' }).locator('.question')
    await card.getByText('May the card go out?').waitFor()
    expect(await seriousFaults(page)).toEqual([])
    await card.getByLabel('Yes').check()
    await card.getByRole('button', { name: 'Answer' }).click()
    await card.waitFor({ state: 'detached' })
    expect(await pawl.handle(id, approve).result({ timeout: '20s' })).toBe(true)
    expect(faults).toEqual([])
    await page.close()
  })

  it('has pages', async () => {
    const letters = Array.from({ length: 23 }, (_, i) => ({ input: `letter ${i}` }))
    const handles = await pawl.submitMany(approve, letters)
    await expect.poll(async () => (await pawl.inbox()).questions.length).toBe(23)
    const { page, go } = await openInbox(true)
    await go('inbox')
    await expect.poll(() => page.locator('.question').count()).toBe(20)
    await page.getByRole('link', { name: 'Newer ones' }).click()
    await expect.poll(() => page.locator('.question').count()).toBe(3)
    await page.getByRole('link', { name: 'The oldest' }).click()
    await expect.poll(() => page.locator('.question').count()).toBe(20)
    for (const { id } of handles) await pawl.cancel(id)
    await page.getByText('No question waits').waitFor()
    await page.close()
  })

  it('has no form for a reader who may not answer', async () => {
    const { id } = await pawl.submit(approve, 'the report')
    await asked(id)
    const { page, faults } = await openPage(browser as Browser, `${guarded.url}#/inbox`)
    await page.getByLabel('Token').fill(VIEWER)
    await page.getByRole('button', { name: 'Enter' }).click()
    await page.getByText('May the report go out?').waitFor()
    expect(await page.getByRole('button', { name: 'Answer' }).count()).toBe(0)
    await pawl.cancel(id)
    expect(faults.filter((one) => !one.includes('401'))).toEqual([])
    await page.close()
  })
})

function linkTo(id: string, more: { readonly until?: Date; readonly key?: string } = {}): string {
  const token = messageLink({
    key: KEY,
    job: id,
    question: 'decision',
    by: 'ada@example.com',
    until: SOON(),
    ...more,
  })
  return `${guarded.url}#${token}`
}

describe('a signed link', () => {
  it('opens one question, which a person answers, and shows nothing else', async () => {
    const { id } = await pawl.submit(approve, 'the offer')
    const other = await pawl.submit(approve, 'the secret')
    await asked(id)
    const { page, faults } = await openPage(browser as Browser, linkTo(id))
    const calls: string[] = []
    page.on('request', (request) => calls.push(request.url()))
    await page.getByRole('heading', { name: 'May the offer go out?' }).waitFor()
    await page.getByText('You answer as ada@example.com.').waitFor()
    // No token in the address, no other view, no other job.
    expect(page.url()).toBe(`${guarded.url}#/link`)
    expect(await page.locator('nav, a').count()).toBe(0)
    expect(await page.locator('body').textContent()).not.toContain('the secret')
    expect(await seriousFaults(page)).toEqual([])
    // It is kept for the tab.
    await page.reload()
    await page.getByRole('heading', { name: 'May the offer go out?' }).waitFor()
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.getByText('This is needed.').waitFor()
    await page.getByLabel('Yes').check()
    await page.getByLabel('Reason').fill('it is a good one')
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.getByRole('heading', { name: 'Your answer was taken' }).waitFor()
    expect(await pawl.handle(id, approve).result({ timeout: '20s' })).toBe(true)
    const said = (await pawl.history(id)).find(({ type }) => type === 'MessageSent')
    expect(said).toMatchObject({ by: 'ada@example.com', reason: 'it is a good one' })
    expect(calls.filter((url) => !/\/v1\/jobs\/[^/]+\/(?:questions|answers)/.test(url))).toEqual(
      calls.filter((url) => url.includes('/dashboard/')),
    )
    expect(calls.join(' ')).not.toContain('pawl1.')
    expect(faults).toEqual([])
    await pawl.cancel(other.id)
    await page.close()
  })

  it('opens it on a phone, and not as the reader who is signed in in the same tab', async () => {
    const { id } = await pawl.submit(approve, 'the poster')
    await asked(id)
    const { page, faults } = await openPage(browser as Browser, guarded.url, true)
    await page.getByLabel('Token').fill(OPERATOR)
    await page.getByRole('button', { name: 'Enter' }).click()
    await page.locator('.reader', { hasText: 'ops' }).waitFor()
    await page.goto(linkTo(id))
    await page.getByRole('heading', { name: 'May the poster go out?' }).waitFor()
    expect(await seriousFaults(page)).toEqual([])
    await page.getByLabel('No', { exact: true }).check()
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.getByRole('heading', { name: 'Your answer was taken' }).waitFor()
    expect((await pawl.history(id)).find(({ type }) => type === 'MessageSent')?.by).toBe(
      'ada@example.com',
    )
    expect(faults.filter((one) => !one.includes('401'))).toEqual([])
    await page.close()
  })

  it('says if others answered meanwhile, if they must, too, or if its time is over', async () => {
    const { id } = await pawl.submit(approve, 'the book')
    await asked(id)
    const { page } = await openPage(browser as Browser, linkTo(id))
    await page.getByRole('heading', { name: 'May the book go out?' }).waitFor()
    await pawl.answer({ job: id, name: 'decision' }, true, { by: 'grace' })
    await page.getByRole('heading', { name: 'This was answered already' }).waitFor()
    await page.getByText(/grace answered/).waitFor()
    expect(await page.getByRole('button', { name: 'Answer' }).count()).toBe(0)

    const late = await pawl.submit(hurried)
    await late.result({ timeout: '20s' })
    await page.goto(linkTo(late.id))
    await page.getByRole('heading', { name: 'The time to answer is over' }).waitFor()

    const shared = await pawl.submit(both)
    await asked(shared.id)
    await page.goto(linkTo(shared.id))
    await page.getByText('0 of 2 answers came').waitFor()
    await page.getByLabel('Yes').check()
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.getByText('It waits for others, too.').waitFor()
    await page.getByText('1 of 2 answers came').waitFor()
    await page.close()
  })

  it('says if it expired, is not whole, was changed, or leads to a job that is gone', async () => {
    const { page } = await openPage(browser as Browser, linkTo('no-such-job'))
    await page.getByRole('heading', { name: 'There is nothing to answer' }).waitFor()
    await page.goto(linkTo('any', { until: new Date(Date.now() - 60_000) }))
    await page.getByRole('heading', { name: 'This link has expired' }).waitFor()
    await page.goto(linkTo('any', { key: 'another-key-that-is-long-enough-0123456789' }))
    await page.getByRole('heading', { name: 'This link is of no use' }).waitFor()
    await page.goto(linkTo('any').slice(0, -9))
    await page.getByRole('heading', { name: 'This link is not whole' }).waitFor()
    expect(await seriousFaults(page)).toEqual([])
    // What is wrong with a link does not sign its reader in or out.
    await page.goto(`${guarded.url}#/`)
    await page.getByLabel('Token').waitFor()
    await page.close()
  })

  it('that is good works on a device whose clock is a day ahead', async () => {
    const { id } = await pawl.submit(approve, 'the map')
    await asked(id)
    const page = await (browser as Browser).newPage()
    await page.clock.setSystemTime(Date.now() + 86_400_000)
    await page.goto(linkTo(id))
    await page.getByRole('heading', { name: 'May the map go out?' }).waitFor()
    // The server says what is over.
    await page.goto(linkTo(id, { until: new Date(Date.now() - 60_000) }))
    await page.getByRole('heading', { name: 'This link has expired' }).waitFor()
    await page.getByText(/Its time was over 1 min( \d+ s)? ago/).waitFor()
    const terms = { key: KEY, job: id, by: 'ada@example.com', message: 'decision' }
    const old = messageLink({ ...terms, until: new Date(Date.now() - 60_000) })
    await page.goto(`${guarded.url}#${old}`)
    await page.getByLabel('Answer').fill('true')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('This link has expired. Ask for a new one.').waitFor()
    await pawl.cancel(id)
    await page.close()
  })

  it('may give the answer itself, and may be for a message', async () => {
    const { id } = await pawl.submit(approve, 'the flyer')
    await asked(id)
    const terms = { key: KEY, job: id, by: 'ada@example.com', until: SOON() }
    const fixed = messageLink({ ...terms, question: 'decision', value: false })
    const { page } = await openPage(browser as Browser, `${guarded.url}#${fixed}`)
    await page.getByText('This link gives the answer').waitFor()
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.getByRole('heading', { name: 'Your answer was taken' }).waitFor()
    expect(await pawl.handle(id, approve).result({ timeout: '20s' })).toBe(false)

    const next = await pawl.submit(approve, 'the stamp')
    await asked(next.id)
    const ofMessage = messageLink({ ...terms, job: next.id, message: 'decision' })
    await page.goto(`${guarded.url}#${ofMessage}`)
    await page.getByLabel('Answer').fill('true')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('heading', { name: 'It was sent' }).waitFor()
    expect((await pawl.history(next.id)).filter(({ type }) => type === 'MessageSent').length).toBe(
      1,
    )
    await page.close()
  })
})
