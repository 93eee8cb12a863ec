/**
 * A terminal that is drawn on: its other screen, without a cursor, each key at once. However the program ends, the
 * terminal is as it was before.
 */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[2J'
const LEAVE = '\u001b[?25h\u001b[?1049l'
const HOME = '\u001b[H'
const TO_END_OF_LINE = '\u001b[K'
const TO_END = '\u001b[J'
const CTRL_C = '\u0003'

export class Screen {
  readonly #onKey: (key: string) => void
  readonly #restore = (): void => this.leave()
  readonly #keys = (data: Buffer): void => {
    for (const key of data.toString('utf8')) this.#onKey(key)
  }
  #isEntered = false

  constructor(onKey: (key: string) => void) {
    this.#onKey = onKey
  }

  static get isThere(): boolean {
    return process.stdout.isTTY && process.stdin.isTTY
  }

  static isEnd(key: string): boolean {
    return key === 'q' || key === 'Q' || key === CTRL_C
  }

  get size(): { readonly columns: number; readonly rows: number } {
    const { columns, rows } = process.stdout
    // A terminal that does not say its size says 0.
    return { columns: columns > 0 ? columns : 80, rows: rows > 0 ? rows : 24 }
  }

  enter(): void {
    this.#isEntered = true
    process.stdout.write(ENTER)
    process.stdin.setRawMode(true)
    process.stdin.on('data', this.#keys)
    process.stdin.resume()
    process.on('exit', this.#restore)
  }

  draw(lines: readonly string[]): void {
    if (!this.#isEntered) return
    const text = lines.map((line) => `${line}${TO_END_OF_LINE}`).join('\r\n')
    process.stdout.write(`${HOME}${text}${TO_END}`)
  }

  leave(): void {
    if (!this.#isEntered) return
    this.#isEntered = false
    process.off('exit', this.#restore)
    process.stdin.off('data', this.#keys)
    process.stdin.setRawMode(false)
    process.stdin.pause()
    process.stdout.write(LEAVE)
  }
}
