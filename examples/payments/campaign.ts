/**
 * The campaign: a bank that stays, and a shop that is killed and started again until every
 * order is through.
 *
 * Every second kill comes right after the bank made a charge and BEFORE it answered: the worst
 * moment, for the charge is made and nobody in the shop knows. The others come at random.
 */
import type { ChildProcessByStdio } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { ChargeRequest } from './bank-client.ts'
import { eachLine } from './lines.ts'
import type { Options } from './options.ts'
import type { ShopPlan } from './shop.ts'
import type { Tally, ToldEntry } from './tally.ts'

type Child = ChildProcessByStdio<Writable, Readable, null>

export interface Places {
  readonly log: string
  readonly ledger: string
}

export function placesIn(folder: string): Places {
  return { log: join(folder, 'log'), ledger: join(folder, 'ledger') }
}

/** Orders and kills come within this share of the time; the rest is for finishing. */
const BUSY_SHARE = 0.75
/** A kill that waits for a charge waits no longer than this. */
const CHARGE_WITHIN_MS = 3_000
/** How long it may take beyond what was asked for, before it counts as stuck. */
const PATIENCE_MS = 60_000

/** Somebody did not want to see the end. */
export class Stopped extends Error {}

export class Campaign {
  readonly #options: Options
  readonly #places: Places
  readonly #tally: Tally
  /** Told of what is worth a line. */
  readonly #onEvent: (event: string) => void
  readonly #beginsAt = Date.now()
  readonly #random: () => number
  #bankAddress = ''
  #shop: Child | null = null
  #isOver = false
  #isStopped = false
  #onOpened: () => void = () => undefined
  #onCharge: (by: number) => void = () => undefined

  constructor(options: Options, places: Places, tally: Tally, onEvent: (event: string) => void) {
    this.#options = options
    this.#places = places
    this.#tally = tally
    this.#onEvent = onEvent
    this.#random = chance(options.seed)
  }

  /** Until every order is through. Throws if the shop ends otherwise, or does not end. */
  async run(): Promise<void> {
    const bank = await this.#openBank()
    const { seconds } = this.#options
    const stuck = setTimeout(() => this.#shop?.kill('SIGTERM'), seconds * 1_000 + PATIENCE_MS)
    try {
      const killing = this.#killAll()
      while (!this.#isOver) await this.#liveOnce()
      await killing
      if (this.#isStopped) throw new Stopped('Stopped: nothing is shown by half a run.')
    } finally {
      clearTimeout(stuck)
      this.#isOver = true
      this.#shop?.kill('SIGKILL')
      bank.stdin.end()
      if (bank.exitCode === null && bank.signalCode === null) await once(bank, 'exit')
    }
  }

  /** Before its end: `run` throws `Stopped`. */
  stop(): void {
    this.#isStopped = true
    this.#isOver = true
    this.#shop?.kill('SIGKILL')
  }

  async #openBank(): Promise<Child> {
    const { mode } = this.#options
    const bank = start('./bank.ts', [this.#places.ledger, mode])
    const opened = new Promise<number>((resolve, reject) => {
      bank.once('exit', () => reject(new Error('The bank did not open.')))
      void eachLine(bank.stdout, (line) => {
        const { port, by, isRepeat } = line as ChargeRequest & { port?: number; isRepeat: boolean }
        if (port !== undefined) return resolve(port)
        this.#tally.charge(isRepeat)
        this.#onCharge(by)
      })
    })
    this.#bankAddress = `http://127.0.0.1:${await opened}`
    return bank
  }

  /** From start to kill, or to the end. */
  async #liveOnce(): Promise<void> {
    const { mode, orders, seconds } = this.#options
    const plan: ShopPlan = {
      folder: this.#places.log,
      mode,
      orders,
      beginsAt: this.#beginsAt,
      comeWithinMs: seconds * 1_000 * BUSY_SHARE,
      from: this.#tally.position,
    }
    const shop = start('./shop.ts', [JSON.stringify(plan)], { BANK: this.#bankAddress })
    this.#shop = shop
    const exit = once(shop, 'exit')
    await eachLine(shop.stdout, (line) => {
      const entry = line as ToldEntry
      if (entry.type === 'opened') this.#onOpened()
      else this.#tally.entry(entry)
    })
    const [code, signal] = (await exit) as [number | null, NodeJS.Signals | null]
    if (signal === 'SIGKILL' && !this.#isOver) return
    this.#isOver = true
    this.#onOpened()
    if (this.#isStopped) return
    if (signal === 'SIGTERM') throw new Error('The orders did not all come through in time.')
    if (code !== 0) throw new Error(`The shop ended by itself, with ${code}.`)
  }

  async #killAll(): Promise<void> {
    const { kills, seconds } = this.#options
    const stretchMs = (seconds * 1_000 * BUSY_SHARE) / Math.max(1, kills)
    for (let kill = 0; kill < kills && !this.#isOver; kill++) {
      await this.#opened()
      const dueAt = this.#beginsAt + (kill + this.#random()) * stretchMs
      await wait(Math.max(this.#random() * 200, dueAt - Date.now()))
      const afterCharge = kill % 2 === 0
      if (afterCharge) await this.#charged()
      if (!this.#isOver) this.#kill(afterCharge)
    }
  }

  #kill(afterCharge: boolean): void {
    this.#shop?.kill('SIGKILL')
    this.#tally.engineKills += 1
    if (afterCharge) this.#tally.killsAfterCharge += 1
    const when = afterCharge ? 'right after a charge' : 'at a random moment'
    this.#onEvent(`kill ${this.#tally.kills}: the engine, ${when}`)
  }

  /** Until a shop is open, or everything is over. */
  #opened(): Promise<void> {
    return new Promise((resolve) => {
      this.#onOpened = resolve
    })
  }

  /** Until the next charge; who made it, or null if none comes. */
  async #charged(): Promise<number | null> {
    const charged = new Promise<number>((resolve) => {
      this.#onCharge = resolve
    })
    return Promise.race([charged, wait(CHARGE_WITHIN_MS, null, { ref: false })])
  }
}

function start(file: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Child {
  const path = fileURLToPath(new URL(file, import.meta.url))
  return spawn(process.execPath, [...process.execArgv, path, ...args], {
    // Its input stays open as long as this process lives.
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
}

/** From 0 to 1, the same for the same seed (mulberry32). */
function chance(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
