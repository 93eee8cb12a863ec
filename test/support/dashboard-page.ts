/**
 * A page of the dashboard in a browser, watched all the time for what no view may do: an error on the console, and something
 * that the content security policy stopped.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, Locator, Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What axe looks at again on a narrow and dark screen; all else is the same as on a wide one. */
export const OF_A_PHONE = ['color-contrast', 'scrollable-region-focusable', 'target-size']

export interface OpenedPage {
  readonly page: Page
  /** Errors on the console, uncaught ones, and what the policy stopped. */
  readonly faults: readonly string[]
  readonly go: (view: string) => Promise<void>
}

export async function openPage(
  browser: Browser,
  url: string,
  isNarrow = false,
): Promise<OpenedPage> {
  const viewport = isNarrow ? { width: 390, height: 800 } : { width: 1_280, height: 900 }
  // A phone is dark here, so that both schemes are looked at.
  const colorScheme = isNarrow ? 'dark' : 'light'
  const page = await browser.newPage({ viewport, colorScheme })
  page.setDefaultTimeout(20_000)
  const faults: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(error.message))
  await page.goto(url)
  return {
    page,
    faults,
    go: async (view) => {
      await page.goto(`${url}#/${view}`)
      await page.locator('main .none', { hasText: 'Loading' }).waitFor({ state: 'detached' })
    },
  }
}

/** Of the dialog of an action: it is called what it does. */
export function submitButton(page: Page): Locator {
  return page.locator('dialog button[type=submit]')
}

/** `rules`: only these. */
export async function seriousFaults(
  page: Page,
  rules?: readonly string[],
): Promise<readonly string[]> {
  const options = rules === undefined ? {} : { runOnly: rules }
  // Not as a script of the page, which its policy would refuse.
  const results = await page.evaluate(`(async () => {
    ${AXE}
    const { violations } = await globalThis.axe.run(document, ${JSON.stringify(options)})
    return violations.map(({ id, impact, nodes }) => ({ id, impact, at: nodes[0]?.html ?? '' }))
  })()`)
  return (results as { id: string; impact: string; at: string }[])
    .filter(({ impact }) => impact !== 'minor')
    .map(({ id, at }) => `${id}: ${at.slice(0, 200)}`)
}
