/**
 * The campaign: collections come one after another, and while they are worked on, the engine
 * and the processes that it runs handlers in are killed.
 *
 * Every kill comes while a document is being read, so that it hits something.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Chance } from './chance.ts'
import { chance } from './chance.ts'
import type { Collection } from './corpus.ts'
import { writeCollection } from './corpus.ts'
import type { LivesTerms, Told } from './engine-lives.ts'
import { arrivingRefund } from './desk-requests.ts'
import { EngineLives } from './engine-lives.ts'
import type { Options } from './options.ts'
import type { ToldReading } from './pipeline.ts'
import type { Tally } from './tally.ts'

/** Collections and kills come within this share of the time; the rest is for finishing. */
const BUSY_SHARE = 0.75
/** Collections at once: more of them wait until one is over. */
const MOST_UNDER_WAY = 3
const TICK_MS = 50
/** Between two refunds that come to the desk: of a few there is always one that waits. */
const REFUND_EVERY_MS = 12_000
/** At once, so that there is something to answer when the page is opened. */
const FIRST_REFUNDS = 3
/** Documents between two kills, so that it gets somewhere even where processes start slowly. */
const HEADWAY = 3
/** A process is killed so long after it began to read at the most: it is surely still at it. */
const SOON_MS = 80
/** How long it may take beyond what was asked for, before it counts as stuck. */
const PATIENCE_MS = 120_000

const VICTIMS = ['a process', 'the engine', 'a process'] as const

/** Somebody did not want to see the end. */
export class Stopped extends Error {}

export class Campaign {
  readonly collections: Collection[] = []
  readonly #options: Options
  readonly #place: string
  readonly #tally: Tally
  /** Told of what is worth a line. */
  readonly #onEvent: (event: string) => void
  readonly #random: Chance
  readonly #lives: EngineLives
  readonly #beganAt = Date.now()
  /** Given when there is nothing more to do, for whatever reason. */
  readonly #over = new AbortController()
  #killedAt: number | null = null
  #killsToCome: number
  #isFinishing = false
  #end: Error | null = null
  #onReading: (reading: ToldReading) => void = () => undefined

  constructor(
    options: Options,
    place: string,
    lives: LivesTerms,
    tally: Tally,
    onEvent: (event: string) => void,
  ) {
    this.#options = options
    this.#place = place
    this.#tally = tally
    this.#onEvent = onEvent
    this.#random = chance(options.seed)
    this.#killsToCome = options.isForever && options.kills > 0 ? Infinity : options.kills
    this.#lives = new EngineLives(
      lives,
      () => tally.position,
      (told) => this.#hear(told),
    )
  }

  /** Until every collection that came is over. */
  async run(): Promise<void> {
    const { seconds, isForever } = this.#options
    const patienceMs = seconds * 1_000 + PATIENCE_MS
    const stuck = setTimeout(() => this.#give(new Error('It did not come to its end.')), patienceMs)
    if (isForever) clearTimeout(stuck)
    const living = this.#lives.run().finally(() => this.#over.abort())
    try {
      await Promise.all([living, this.#bring(), this.#bringRefunds(), this.#kill()])
    } finally {
      clearTimeout(stuck)
      this.#over.abort()
      this.#lives.stop()
      await living.catch(() => undefined)
    }
    if (this.#end !== null) throw this.#end
  }

  /** No more collections, no more kills: what has come is finished. */
  finish(): void {
    this.#isFinishing = true
  }

  /** At once: `run` throws `Stopped`. */
  stop(): void {
    this.#give(new Stopped('Stopped: nothing is shown by half a run.'))
  }

  #give(end: Error): void {
    this.#end ??= end
    this.#lives.stop()
  }

  #hear(told: Told): void {
    if (told.type === 'opened') {
      this.#tally.isEngineOpen = true
      if (this.#killedAt === null) return
      const tookMs = Date.now() - this.#killedAt
      this.#onEvent(`the engine is back, after ${(tookMs / 1_000).toFixed(1)} s`)
      this.#killedAt = null
    } else if (told.type === 'reading') {
      this.#tally.reading(told)
      this.#onReading(told)
    } else if (told.type === 'answer') {
      this.#onEvent(this.#tally.answer(told))
    } else {
      const event = this.#tally.entry(told)
      if (event !== null) this.#onEvent(event)
    }
  }

  async #bring(): Promise<void> {
    const { seed, seconds, collections, documents, isForever } = this.#options
    const stretchMs = (seconds * 1_000 * BUSY_SHARE) / collections
    const last = isForever ? Infinity : collections
    for (let number = 1; number <= last; number++) {
      const dueAt = this.#beganAt + (number - 1) * stretchMs
      const isLast = number === last
      while (!this.#isEnding && !this.#mayCome(dueAt, isLast)) await this.#pause(TICK_MS)
      if (this.#isEnding) break
      const collection = await writeCollection(this.#place, seed, number, documents)
      this.collections.push(collection)
      this.#tally.expect(collection)
      const { name, folder, flaky } = collection
      this.#lives.tell({ name, share: { folder, flaky } })
    }
    this.#lives.tell('no more')
  }

  /** Only where a page shows them, and a person may answer. */
  async #bringRefunds(): Promise<void> {
    if (!this.#options.isForever) return
    const random = chance(this.#options.seed)
    for (let number = 1; !this.#isEnding; number++) {
      this.#lives.tell({ refund: arrivingRefund(number, random) })
      if (number >= FIRST_REFUNDS) await this.#pauseUnlessEnding(REFUND_EVERY_MS)
    }
  }

  /** The last one is kept back while there are kills to come, so that there is something to hit. */
  #mayCome(dueAt: number, isLast: boolean): boolean {
    const { underWay } = this.#tally
    if (isLast && this.#killsToCome > 1) return underWay === 0
    return Date.now() >= dueAt && underWay < MOST_UNDER_WAY
  }

  async #kill(): Promise<void> {
    const stretchMs = (this.#options.seconds * 1_000 * BUSY_SHARE) / this.#options.kills
    const kills = this.#killsToCome
    for (let kill = 0; kill < kills && !this.#isEnding && !this.#isTooLate(); kill++) {
      const { through } = this.#tally.documents
      await this.#pause(this.#beganAt + (kill + this.#random()) * stretchMs - Date.now())
      while (this.#tally.documents.through < through + this.#headway) await this.#pause(TICK_MS)
      while (!(await this.#strike(VICTIMS[kill % VICTIMS.length] ?? 'a process')));
      this.#killsToCome -= 1
    }
    this.#killsToCome = 0
  }

  /** How many documents come through before the next kill; none, if it is ending anyway. */
  get #headway(): number {
    if (this.#isEnding) return 0
    const { collections, documents, kills } = this.#options
    return Math.min(HEADWAY, Math.floor((collections * documents) / (kills + 1)))
  }

  get #isEnding(): boolean {
    return this.#isFinishing || this.#over.signal.aborted
  }

  /** Where processes start slowly, there are fewer kills, but one of each at least. */
  #isTooLate(): boolean {
    const { seconds, isForever } = this.#options
    const { engineKills, processKills } = this.#tally
    const isShown = engineKills > 0 && processKills > 0
    return !isForever && isShown && Date.now() > this.#beganAt + seconds * 1_000 * BUSY_SHARE
  }

  /** Waits for a document that is being read, and kills. False: it came too late for that. */
  async #strike(victim: (typeof VICTIMS)[number]): Promise<boolean> {
    const reading = await this.#read()
    await this.#pause(this.#random() * SOON_MS)
    if (reading === null || this.#isEnding) return true
    if (!this.#lives.isOpen) return false
    const { collection, segment } = reading
    const document = this.#tally.documentOf(collection, segment)
    if (victim === 'the engine') {
      this.#killedAt = Date.now()
      this.#lives.kill()
      this.#tally.isEngineOpen = false
      this.#tally.engineKills += 1
      this.#onEvent(`KILL ${this.#tally.kills}: the engine, while ${document} was read`)
      return true
    }
    if (!killed(reading.process)) return false
    this.#tally.processKills += 1
    this.#onEvent(`KILL ${this.#tally.kills}: process ${reading.process}, which read ${document}`)
    return true
  }

  /** The next document that is being read; null: there are no more. */
  #read(): Promise<ToldReading | null> {
    return new Promise((resolve) => {
      const { signal } = this.#over
      if (signal.aborted) return resolve(null)
      const ended = (): void => resolve(null)
      signal.addEventListener('abort', ended, { once: true })
      this.#onReading = (reading) => {
        signal.removeEventListener('abort', ended)
        resolve(reading)
      }
    })
  }

  async #pauseUnlessEnding(ms: number): Promise<void> {
    const until = Date.now() + ms
    while (!this.#isEnding && Date.now() < until) await this.#pause(TICK_MS)
  }

  async #pause(ms: number): Promise<void> {
    await wait(ms, undefined, { signal: this.#over.signal }).catch(() => undefined)
  }
}

/** Whether it was still there. */
function killed(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL')
  } catch {
    return false
  }
}
