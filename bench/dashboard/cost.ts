/**
 * Part `cost`: what a job costs the engine while ten pages are open, beside none, by turns. A browser says what an open page
 * asks, and how often; ten clients then ask just that, since ten pages in a browser take the cores that the engine needs.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import { median, ratioOf } from '../ratio.ts'
import type { Ratio } from '../ratio.ts'
import { Machine } from './machine.ts'
import type { LoadName } from './order.ts'
import type { PageCall } from './page-calls.ts'
import { ask, PageRecorder } from './page-calls.ts'
import { OVERVIEW } from './routes.ts'
import type { BenchStore } from './stores.ts'

const PAGES = 10
export const MOST_COST = 1.05
/** Short, and many of them: a checkpoint, or another program, makes one turn dear and not the next. */
const TURN_MS = 4_000
const SETTLE_MS = 1_000
/** What an engine does once, after it was opened, is no part of it. */
const AFTER_OPENING_MS = 10_000
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
  const recorder = await PageRecorder.open(browser, url)
  const { calls } = await recorder.record(OVERVIEW)
  const paceMs = await recorder.paceOf(OVERVIEW)
  await recorder.close()
  say(`an open page asks ${calls.length} calls every ${paceMs.toFixed(0)} ms`)
  let pages: readonly OpenPage[] = []
  const show = async (isOpen: boolean): Promise<void> => {
    await Promise.all(pages.map((page) => page.close()))
    pages = isOpen
      ? Array.from({ length: PAGES }, (_, i) => new OpenPage(calls, paceMs, (i * paceMs) / PAGES))
      : []
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  }
  /** Each round begins with the other one. */
  const byTurns = async (measure: (isOpen: boolean) => Promise<number>): Promise<Turns> => {
    const turns: Turns = { with10: [], without: [] }
    for (let round = 0; round < rounds; round++) {
      for (const isOpen of round % 2 === 0 ? [false, true] : [true, false]) {
        await show(isOpen)
        ;(isOpen ? turns.with10 : turns.without).push(await measure(isOpen))
      }
    }
    return turns
  }
  await machine.rest(AFTER_OPENING_MS)
  const rest = await byTurns(async (isOpen) => {
    const server = store.serverUs()
    const { ms, cpuUs } = await machine.rest(TURN_MS)
    const ofSecond = (cpuUs + store.serverUs() - server) / ms
    say(`at rest, ${isOpen ? PAGES : 'no'} pages: ${ofSecond.toFixed(1)} ms a second`)
    return ofSecond
  })
  const costs: Cost[] = []
  for (const load of LOADS) {
    await show(false)
    await machine.work(load, TURN_MS)
    const rates: number[] = []
    const { with10, without } = await byTurns(async (isOpen) => {
      const server = store.serverUs()
      const { jobs, ms, cpuUs } = await machine.work(load, TURN_MS)
      const us = (cpuUs + store.serverUs() - server) / jobs
      const rate = (jobs * 1_000) / ms
      if (!isOpen) rates.push(rate)
      say(
        `${load}, ${isOpen ? PAGES : 'no'} pages: ${us.toFixed(1)} us a job, ${rate.toFixed(0)} a second`,
      )
      return us
    })
    const ratio = ratioOf(with10, without) as Ratio
    const [withUs, withoutUs] = [median(with10), median(without)]
    costs.push({ load, ratio, withUs, withoutUs, perSecond: median(rates) })
  }
  await show(false)
  await machine.close()
  return { costs, restWith: median(rest.with10), restWithout: median(rest.without) }
}

interface Turns {
  readonly with10: number[]
  readonly without: number[]
}

/** A client that asks what an open page does, and as often. */
class OpenPage {
  readonly #calls: readonly PageCall[]
  readonly #paceMs: number
  readonly #ended = new AbortController()
  readonly #done: Promise<void>

  constructor(calls: readonly PageCall[], paceMs: number, afterMs: number) {
    this.#calls = calls
    this.#paceMs = paceMs
    this.#done = this.#ask(afterMs)
  }

  async close(): Promise<void> {
    this.#ended.abort()
    await this.#done
  }

  async #ask(afterMs: number): Promise<void> {
    const { signal } = this.#ended
    await delay(afterMs, undefined, { signal }).catch(() => undefined)
    while (!signal.aborted) {
      const [first, ...others] = this.#calls
      if (first !== undefined) await ask(first, true)
      await Promise.all(others.map((call) => ask(call, true)))
      await delay(this.#paceMs, undefined, { signal }).catch(() => undefined)
    }
  }
}
