/**
 * The campaign: a bank that stays, and a shop that is killed and started again until every
 * order is through.
 *
 * Half of the kills come right after the bank made a charge and BEFORE it answered: the worst
 * moment, for the charge is made and nobody in the shop knows. The others come at random. They
 * hit the engine itself and the processes that it runs handlers in, by turns.
 */
import type { ChildProcessByStdio } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { eachLine } from './lines.ts'
import type { Options } from './options.ts'
import type { ShopPlan } from './shop.ts'
import type { Tally, ToldCharge, ToldEntry } from './tally.ts'

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
/** Orders that are kept back for each kill to come, so that there is something to kill. */
const KEPT_BACK = 2
const TICK_MS = 50
/** The engine once, and a child once. */
const FEWEST_KILLS = 2
/** A child dies so long after a charge at the most: it is surely still the same process. */
const SOON_MS = 200
/** How long it may take beyond what was asked for, before it counts as stuck. */
const PATIENCE_MS = 120_000

/** Somebody did not want to see the end. */
export class Stopped extends Error {}

interface Victim {
  readonly who: 'the engine' | 'a child'
  readonly when: 'right after a charge' | 'at a random moment'
}

const ENGINE_ONLY: readonly Victim[] = [
  { who: 'the engine', when: 'right after a charge' },
  { who: 'the engine', when: 'at a random moment' },
]
const ALL: readonly Victim[] = [
  { who: 'the engine', when: 'right after a charge' },
  { who: 'a child', when: 'right after a charge' },
  { who: 'the engine', when: 'at a random moment' },
  { who: 'a child', when: 'at a random moment' },
]

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
  #isStuck = false
  #isOpen = false
  /** Orders that this shop was told of. */
  #come = 0
  #killsToCome: number
  #onOpened: () => void = () => undefined
  #onCharge: (by: number | null) => void = () => undefined

  constructor(options: Options, places: Places, tally: Tally, onEvent: (event: string) => void) {
    this.#options = options
    this.#places = places
    this.#tally = tally
    this.#onEvent = onEvent
    this.#random = chance(options.seed)
    this.#killsToCome = options.kills
  }

  /** Until every order is through. Throws if the shop ends otherwise, or does not end. */
  async run(): Promise<void> {
    const bank = await this.#openBank()
    const { seconds } = this.#options
    const stuck = setTimeout(() => this.#giveUp(), seconds * 1_000 + PATIENCE_MS)
    const ticking = setInterval(() => this.#letOrdersCome(), TICK_MS)
    try {
      const killing = this.#killAll()
      while (!this.#isOver) await this.#liveOnce()
      await killing
      if (this.#isStopped) throw new Stopped('Stopped: nothing is shown by half a run.')
    } finally {
      clearTimeout(stuck)
      clearInterval(ticking)
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

  #giveUp(): void {
    this.#isStuck = true
    this.#isOver = true
    this.#shop?.kill('SIGKILL')
  }

  async #openBank(): Promise<Child> {
    const { mode } = this.#options
    const bank = start('./bank.ts', [this.#places.ledger, mode])
    const opened = new Promise<number>((resolve, reject) => {
      bank.once('exit', () => reject(new Error('The bank did not open.')))
      void eachLine(bank.stdout, (line) => {
        const told = line as { port?: number } | ToldCharge
        if ('by' in told) {
          this.#tally.charge(told)
          this.#onCharge(told.by)
        } else resolve(told.port ?? 0)
      })
    })
    this.#bankAddress = `http://127.0.0.1:${await opened}`
    return bank
  }

  /** From start to kill, or to the end. */
  async #liveOnce(): Promise<void> {
    const { mode, isIsolated, orders } = this.#options
    const plan: ShopPlan = {
      folder: this.#places.log,
      mode,
      isIsolated,
      orders,
      from: this.#tally.position,
    }
    const shop = start('./shop.ts', [JSON.stringify(plan)], { BANK: this.#bankAddress })
    this.#shop = shop
    this.#come = 0
    const exit = once(shop, 'exit')
    await eachLine(shop.stdout, (line) => {
      const entry = line as ToldEntry
      if (entry.type === 'opened') this.#open()
      else this.#tally.entry(entry)
    })
    const [code, signal] = (await exit) as [number | null, NodeJS.Signals | null]
    if (signal === 'SIGKILL' && !this.#isOver) return
    this.#isOver = true
    this.#open()
    this.#onCharge(null)
    if (this.#isStopped) return
    if (this.#isStuck) throw new Error('The orders did not all come through in time.')
    if (code !== 0) throw new Error(`The shop ended by itself, with ${code}.`)
  }

  #letOrdersCome(): void {
    const { orders, kills, seconds } = this.#options
    const passed = (Date.now() - this.#beginsAt) / (seconds * 1_000 * BUSY_SHARE)
    const kept = Math.min(KEPT_BACK, Math.floor(orders / (kills + 1))) * this.#killsToCome
    const come = Math.min(orders - kept, Math.ceil(passed * orders))
    if (!this.#isOpen || come <= this.#come) return
    this.#come = come
    this.#shop?.stdin.write(`${come}\n`)
  }

  #open(): void {
    this.#isOpen = true
    this.#onOpened()
  }

  async #killAll(): Promise<void> {
    const { kills, seconds } = this.#options
    const victims = this.#options.isIsolated ? ALL : ENGINE_ONLY
    const stretchMs = (seconds * 1_000 * BUSY_SHARE) / Math.max(1, kills)
    for (let kill = 0; kill < kills && !this.#isOver && !this.#isTooLate(); kill++) {
      await this.#opened()
      const dueAt = this.#beginsAt + (kill + this.#random()) * stretchMs
      await wait(Math.max(this.#random() * 200, dueAt - Date.now()))
      this.#killsToCome -= 1
      await this.#kill(victims[kill % victims.length] as Victim)
    }
    this.#killsToCome = 0
  }

  /** Where processes start slowly, there are fewer kills, but enough to show something. */
  #isTooLate(): boolean {
    const { mode, seconds } = this.#options
    const { kills, chargedTwice } = this.#tally
    const isShown = mode === 'without-boundary' ? chargedTwice > 0 : kills >= FEWEST_KILLS
    return isShown && Date.now() > this.#beginsAt + seconds * 1_000 * BUSY_SHARE
  }

  async #kill({ who, when }: Victim): Promise<void> {
    if (who === 'a child') await this.#killChild(when)
    else await this.#killEngine(when)
    if (this.#isOver) return
    if (when === 'right after a charge') this.#tally.killsAfterCharge += 1
    this.#onEvent(`kill ${this.#tally.kills}: ${who}, ${when}`)
  }

  async #killEngine(when: Victim['when']): Promise<void> {
    if (when === 'right after a charge') await this.#charged()
    if (this.#isOver) return
    this.#isOpen = false
    this.#shop?.kill('SIGKILL')
    this.#tally.engineKills += 1
  }

  /** Whoever made the next charge; another, if it was gone already. */
  async #killChild(when: Victim['when']): Promise<void> {
    for (;;) {
      const by = await this.#charged()
      if (when === 'at a random moment') await wait(this.#random() * SOON_MS)
      if (this.#isOver || by === null) return
      if (killed(by)) break
    }
    this.#tally.childKills += 1
  }

  /** Until a shop is open, or everything is over. */
  #opened(): Promise<void> {
    if (this.#isOpen) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onOpened = resolve
    })
  }

  /** Until the next charge; who made it, or null if everything is over. */
  #charged(): Promise<number | null> {
    return new Promise((resolve) => {
      this.#onCharge = resolve
    })
  }
}

function start(file: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Child {
  const path = fileURLToPath(new URL(file, import.meta.url))
  const child = spawn(process.execPath, [...process.execArgv, path, ...args], {
    // Its input stays open as long as this process lives.
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  // One that was killed does not listen.
  child.stdin.on('error', () => undefined)
  return child
}

/** Whether it was still there. */
function killed(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL')
  } catch {
    return false
  }
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
