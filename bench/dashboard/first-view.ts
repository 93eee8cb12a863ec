/**
 * Part `page`: from the moment that a browser goes to the page until the first view stands there and the page takes input, on
 * this machine, with nothing in the cache of the browser.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Browser } from 'playwright-core'
import { builtDashboard } from '../../test/support/dashboard.ts'
import { Machine } from './machine.ts'
import type { BenchStore } from './stores.ts'

export const MOST_INTERACTIVE_MS = 1_000
export const MOST_SCRIPT_BYTES = 100_000
const VISITS = 10

/** Runs in the page, BEFORE its own script: notes when the overview stands there and the thread of the page is free. */
const WATCH = `
  globalThis.interactive = new Promise((resolve) => {
    new MutationObserver((_, observer) => {
      if (document.querySelector('main h2') === null) return
      observer.disconnect()
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now())))
    }).observe(document, { childList: true, subtree: true })
  })
`

/** Milliseconds since the browser began to load the page, visit by visit. */
export async function firstViews(store: BenchStore, browser: Browser): Promise<number[]> {
  const machine = await Machine.open(store.address)
  const url = await machine.serve()
  const times: number[] = []
  for (let visit = 0; visit < VISITS; visit++) {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.addInitScript(WATCH)
    await page.goto(url)
    times.push(await page.evaluate<number>('globalThis.interactive'))
    await context.close()
  }
  await machine.close()
  return times
}

/** Of all scripts of the page together, as a server sends them. */
export async function scriptBytes(): Promise<number> {
  const { folder, remove } = await builtDashboard()
  const scripts = readdirSync(folder).filter((name) => name.endsWith('.js'))
  const bytes = scripts.map((name) => gzipSync(readFileSync(join(folder, name))).length)
  await remove()
  return bytes.reduce((sum, one) => sum + one, 0)
}
