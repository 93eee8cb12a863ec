/**
 * The lives of the engine: its process is started, killed and started again on the same folder,
 * until it ends by itself.
 *
 * - starting: it opens the folder.
 * - open: it was told of all collections that have come, and works.
 * - killed: by us. The processes that it ran handlers in end with it, and then it is started again.
 */
import type { ChildProcessByStdio } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Arrival, EnginePlan, ToldAnswer, ToldEntry, ToldOpened } from './engine-process.ts'
import { eachLine } from './lines.ts'
import type { ToldReading } from './pipeline.ts'

export type Told = ToldOpened | ToldAnswer | ToldEntry | ToldReading

/** What all lives of the engine have. */
export interface LivesTerms {
  readonly log: string
  /** Where each serves the page; null: none does. */
  readonly port: number | null
  /** Where the desk writes what it paid. */
  readonly ledger: string
}

export class EngineLives {
  readonly #terms: LivesTerms
  /** What is known of the log when a life begins. */
  readonly #position: () => number
  readonly #hear: (told: Told) => void
  readonly #arrivals: Arrival[] = []
  #child: ChildProcessByStdio<Writable, Readable, null> | null = null
  #isOpen = false
  #isStopped = false

  constructor(terms: LivesTerms, position: () => number, hear: (told: Told) => void) {
    this.#terms = terms
    this.#position = position
    this.#hear = hear
  }

  /** Whether it can be killed so that it hurts. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Until it ends by itself, or is stopped. Throws if it ended for another reason. */
  async run(): Promise<void> {
    while (!this.#isStopped) {
      const { code, signal } = await this.#liveOnce()
      if (signal === 'SIGKILL') continue
      if (code === 0 || this.#isStopped) return
      throw new Error(`The engine ended by itself, with ${signal ?? code}.`)
    }
  }

  /** Told to this life, and to all that come. */
  tell(arrival: Arrival): void {
    this.#arrivals.push(arrival)
    if (this.#isOpen) this.#send(arrival)
  }

  kill(): void {
    this.#isOpen = false
    this.#child?.kill('SIGKILL')
  }

  /** For good. */
  stop(): void {
    this.#isStopped = true
    this.kill()
  }

  async #liveOnce(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    const file = fileURLToPath(new URL('./engine-process.ts', import.meta.url))
    const { log, port } = this.#terms
    const plan: EnginePlan = { log, port, from: this.#position() }
    const args = [...process.execArgv, file, JSON.stringify(plan)]
    const child = spawn(process.execPath, args, {
      // Its input stays open as long as this process lives.
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, TELL_READINGS: '1', LEDGER: this.#terms.ledger },
    })
    this.#child = child
    // One that was killed does not listen.
    child.stdin.on('error', () => undefined)
    const exit = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
    // It ends when the processes that it started are gone, too: they have the same output.
    await eachLine(child.stdout, (line) => {
      const told = line as Told
      if (told.type === 'opened' && !child.killed) this.#open()
      this.#hear(told)
    })
    const [code, signal] = await exit
    this.#isOpen = false
    return { code, signal }
  }

  #open(): void {
    this.#isOpen = true
    for (const arrival of this.#arrivals) this.#send(arrival)
  }

  #send(arrival: Arrival): void {
    this.#child?.stdin.write(`${JSON.stringify(arrival)}\n`)
  }
}
