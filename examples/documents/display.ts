/**
 * The campaign as it is seen: redrawn in place on a terminal, and as plain lines elsewhere.
 *
 * A frame is one write: lines are drawn over, never cleared first, so that nothing flickers.
 * None is longer than the terminal is wide, and there are not more than it has rows.
 */
import type { WriteStream } from 'node:tty'
import type { Options } from './options.ts'
import { barred, cut, dim, GLYPHS, painted } from './paint.ts'
import type { CollectionTally, Tally } from './tally.ts'

const BAR = 30
const REDRAW_MS = 100
const LINE_EVERY_MS = 2_000
const COLLECTIONS_SHOWN = 6
const LEASES_SHOWN = 3
const EVENTS_SHOWN = 7
const NAME_WIDTH = 15
const HIDE_CURSOR = '\u001B[?25l'
const SHOW_CURSOR = '\u001B[?25h'

export class Display {
  readonly #options: Options
  readonly #tally: Tally
  readonly #out: WriteStream
  readonly #isLive: boolean
  readonly #beganAt = Date.now()
  readonly #events: string[] = []
  #hint = 'Ctrl-C: finish what has come'
  readonly #timer: NodeJS.Timeout
  readonly #onResize = (): void => this.#startAgain()
  #drawn = 0
  #isClosed = false

  constructor(options: Options, tally: Tally, out: WriteStream) {
    this.#options = options
    this.#tally = tally
    this.#out = out
    this.#isLive = out.isTTY && !process.env['CI'] && process.env['TERM'] !== 'dumb'
    this.#timer = setInterval(() => this.#show(), this.#isLive ? REDRAW_MS : LINE_EVERY_MS)
    if (!this.#isLive) return
    out.on('resize', this.#onResize)
    out.write(HIDE_CURSOR)
  }

  event(text: string): void {
    const line = `${this.#seconds()}  ${text}`
    if (!this.#isLive) this.#out.write(`${line}\n`)
    this.#events.push(line)
    if (this.#events.length > EVENTS_SHOWN) this.#events.shift()
  }

  /** What a key does, or did. */
  hint(text: string): void {
    this.#hint = text
    if (!this.#isLive) this.event(text)
  }

  /** Shows the last state, once. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#hint = ''
    clearInterval(this.#timer)
    this.#show()
    this.#out.off('resize', this.#onResize)
    this.#out.write(this.#isLive ? `${SHOW_CURSOR}\n` : '\n')
  }

  #show(): void {
    if (this.#isLive) this.#redraw()
    else this.#out.write(`${this.#seconds()}  ${this.#progress()}; ${figures(this.#tally)}\n`)
  }

  #redraw(): void {
    const { columns, rows } = this.#out
    // The last row is where the cursor stands.
    const lines = this.#frame().slice(0, Math.max(1, rows - 1))
    const back = this.#drawn === 0 ? '' : `\u001B[${this.#drawn}A`
    const drawn = lines.map((line) => `${cut(line, columns)}\u001B[K\n`).join('')
    // What is left of a frame that had more lines goes with it.
    this.#out.write(`\r${back}${drawn}\u001B[J`)
    this.#drawn = lines.length
  }

  /** Lines that were wrapped by the terminal cannot be found again. */
  #startAgain(): void {
    this.#drawn = 0
    this.#out.write('\u001B[2J\u001B[H')
  }

  #frame(): string[] {
    const shown = this.#tally.collections.slice(-COLLECTIONS_SHOWN)
    return [
      `${this.#seconds()}  ${barred(this.#share(), BAR)}  ${this.#progress()}`,
      '',
      dim(`  ${'collection'.padEnd(NAME_WIDTH)}survey  report  documents`),
      ...shown.map(collectionRow),
      '',
      `  ${'engine'.padEnd(NAME_WIDTH)}${engineState(this.#tally)}`,
      ...this.#leaseRows(),
      ...this.#deskRow(),
      '',
      `  ${figures(this.#tally)}`,
      dim(`  ${this.#hint}`),
      '',
      ...this.#events.toReversed().map((event) => (event.includes('KILL') ? event : dim(event))),
    ]
  }

  #leaseRows(): string[] {
    const now = Date.now()
    const held = [...this.#tally.leases.values()].slice(0, LEASES_SHOWN)
    return Array.from({ length: LEASES_SHOWN }, (_, i) => {
      const lease = held[i]
      const label = i === 0 ? 'leases' : ''
      if (lease === undefined) return `  ${label.padEnd(NAME_WIDTH)}${i === 0 ? dim('none') : ''}`
      const process = lease.process === null ? '' : `process ${lease.process}, `
      const heldFor = ((now - lease.since) / 1_000).toFixed(1)
      return `  ${label.padEnd(NAME_WIDTH)}${lease.what}  ${dim(`${process}${heldFor} s`)}`
    })
  }

  #deskRow(): string[] {
    if (!this.#options.isForever) return []
    const { answers } = this.#tally
    const said = `${answers} answers of people, see Inbox on the page`
    return [`  ${'desk'.padEnd(NAME_WIDTH)}${said}`]
  }

  #share(): number {
    const { collections, documents, isForever } = this.#options
    const { come, through } = this.#tally.documents
    return through / Math.max(1, isForever ? come : collections * documents)
  }

  #progress(): string {
    const { collections, documents, isForever } = this.#options
    const { come, through } = this.#tally.documents
    const all = isForever ? come : collections * documents
    return `documents ${through} of ${all}, reports ${this.#tally.reports}`
  }

  #seconds(): string {
    return `${((Date.now() - this.#beganAt) / 1_000).toFixed(1).padStart(6)} s`
  }
}

/** One glyph for each document, so that every lease and every loss is seen. */
function collectionRow({ name, marks, end }: CollectionTally): string {
  const stage = (which: string): string => {
    const mark = marks.get(which)?.[0]
    return mark === undefined ? dim('·') : painted(mark, GLYPHS.stage[mark])
  }
  const segments = marks.get('analyse') ?? []
  const drawn = segments.map((mark) => painted(mark, GLYPHS.segment[mark])).join('')
  const note = end === 'given up' ? dim('  given up') : ''
  return `  ${name.padEnd(NAME_WIDTH)}${stage('survey')}       ${stage('report')}       ${drawn}${note}`
}

function engineState({ isEngineOpen, engineKills }: Tally): string {
  if (isEngineOpen) return `open, life ${engineKills + 1}`
  return engineKills === 0 ? 'starting' : painted('failed', 'killed, starting again')
}

function figures(tally: Tally): string {
  const { kills, engineKills, expiries, revocations, attemptsAgain, readsRetried } = tally
  return [
    `kills ${kills} (engine ${engineKills})`,
    `leases lost ${expiries + revocations}`,
    `reads retried ${readsRetried}`,
    `taken up again ${attemptsAgain}`,
    `unusable ${tally.documents.unusable}`,
  ].join(', ')
}
