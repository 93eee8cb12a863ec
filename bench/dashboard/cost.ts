/**
 * Part `cost`: what a job costs the engine while ten pages are open, beside none, by turns.
 */
import type { Browser, Page } from 'playwright-core'
import { median, ratioOf } from '../ratio.ts'
import type { Ratio } from '../ratio.ts'
import { Machine } from './machine.ts'
import type { LoadName } from './order.ts'
import type { BenchStore } from './stores.ts'

const PAGES = 10
export const MOST_COST = 1.05
const TURN_MS = 8_000
const SETTLE_MS = 2_000
export const LOADS: readonly LoadName[] = ['drain', 'cycles']

export interface Cost {
  readonly load: LoadName
  readonly ratio: Ratio
  /** Of engine and server, in microseconds a job. */
  readonly withUs: number
  readonly withoutUs: number
  readonly perSecond: number
}

export interface Costs {
  readonly costs: readonly Cost[]
  /** Milliseconds of CPU a second, of engine and server that have nothing else to do. */
  readonly restWith: number
  readonly restWithout: number
}

export async function measureCosts(
  store: BenchStore,
  browser: Browser,
  rounds: number,
  say: (line: string) => void,
): Promise<Costs> {
  const machine = await Machine.open(store.address)
  const url = await machine.serve()
  const pages: Page[] = []
  for (let i = 0; i < PAGES; i++) pages.push(await browser.newPage())
  const show = async (isOpen: boolean): Promise<void> => {
    for (const page of pages) await page.goto(isOpen ? url : 'about:blank')
    if (isOpen) for (const page of pages) await page.locator('main h2').first().waitFor()
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  }
  const resting = async (): Promise<number> => {
    const server = store.serverUs()
    const { ms, cpuUs } = await machine.rest(TURN_MS)
    return (cpuUs + store.serverUs() - server) / ms
  }
  const restWithout = await resting()
  await show(true)
  const restWith = await resting()
  const costs: Cost[] = []
  for (const load of LOADS) {
    await machine.work(load, SETTLE_MS)
    const [with10, without]: [number[], number[]] = [[], []]
    const rates: number[] = []
    for (let round = 0; round < rounds; round++) {
      // Each round begins with the other one.
      for (const isOpen of round % 2 === 0 ? [false, true] : [true, false]) {
        await show(isOpen)
        const server = store.serverUs()
        const { jobs, ms, cpuUs } = await machine.work(load, TURN_MS)
        const us = (cpuUs + store.serverUs() - server) / jobs
        ;(isOpen ? with10 : without).push(us)
        const rate = (jobs * 1_000) / ms
        if (!isOpen) rates.push(rate)
        say(
          `${load}, ${isOpen ? PAGES : 'no'} pages: ${us.toFixed(1)} us a job, ${rate.toFixed(0)} a second`,
        )
      }
    }
    const ratio = ratioOf(with10, without) as Ratio
    const [withUs, withoutUs] = [median(with10), median(without)]
    costs.push({ load, ratio, withUs, withoutUs, perSecond: median(rates) })
  }
  for (const page of pages) await page.close()
  await machine.close()
  return { costs, restWith, restWithout }
}
