/**
 * The campaign as it is seen: redrawn in place on a terminal, and as plain lines elsewhere.
 */
import type { WriteStream } from 'node:tty'
import type { Options } from './options.ts'
import type { Tally } from './tally.ts'

const BAR = 40
const EVENTS_SHOWN = 5
const REDRAW_MS = 100
const LINE_EVERY_MS = 2_000

export class View {
  readonly #options: Options
  readonly #tally: Tally
  readonly #out: WriteStream
  readonly #isLive: boolean
  readonly #beganAt = Date.now()
  readonly #events: string[] = []
  readonly #timer: NodeJS.Timeout
  #drawn = 0
  #isClosed = false

  constructor(options: Options, tally: Tally, out: WriteStream) {
    const { NO_COLOR, CI } = process.env
    this.#options = options
    this.#tally = tally
    this.#out = out
    this.#isLive = out.isTTY && !NO_COLOR && !CI
    this.#timer = setInterval(() => this.#show(), this.#isLive ? REDRAW_MS : LINE_EVERY_MS)
  }

  event(text: string): void {
    const line = `${this.#seconds()}  ${text}`
    if (!this.#isLive) this.#out.write(`${line}\n`)
    this.#events.push(line)
    if (this.#events.length > EVENTS_SHOWN) this.#events.shift()
  }

  /** Shows the last state, once. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#show()
    this.#out.write('\n')
  }

  #show(): void {
    if (this.#isLive) this.#redraw()
    else this.#out.write(`${this.#seconds()}  ${figures(this.#tally).join(', ')}\n`)
  }

  #redraw(): void {
    const lines = [
      `${this.#seconds()}  ${bar(this.#tally.finished / this.#options.orders)}`,
      ...figures(this.#tally).map((figure) => `    ${figure}`),
      ...this.#events.toReversed().map((event) => dim(event)),
    ]
    const width = this.#out.columns
    const back = this.#drawn === 0 ? '' : `\u001B[${this.#drawn}A`
    this.#out.write(`${back}${lines.map((line) => `${cut(line, width)}\u001B[K\n`).join('')}`)
    this.#drawn = lines.length
  }

  #seconds(): string {
    return `${((Date.now() - this.#beganAt) / 1_000).toFixed(1).padStart(5)} s`
  }
}

function figures(tally: Tally): string[] {
  const { submitted, finished, kills, expiries, revocations, recoveries } = tally
  const { charges, chargedTwice, recognised } = tally
  return [
    `orders ${submitted}`,
    `finished ${finished}`,
    `kills ${kills}`,
    `leases lost ${expiries + revocations}`,
    `taken up again ${recoveries}`,
    `charges ${charges}`,
    `repeats recognised ${recognised}`,
    `charged twice ${chargedTwice}`,
  ]
}

function bar(share: number): string {
  const full = Math.floor(Math.min(1, share) * BAR)
  return `${'█'.repeat(full)}${'░'.repeat(BAR - full)} ${Math.floor(share * 100)} %`
}

function dim(text: string): string {
  return `\u001B[2m${text}\u001B[22m`
}

/** A line that wraps would be counted as one, and drawn over. */
function cut(line: string, width: number): string {
  return line.length <= width ? line : `${line.slice(0, width - 1)}\u001B[22m`
}
