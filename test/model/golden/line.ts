/**
 * One command line of a trace: its words, its options and its durations.
 *
 * `grant a worker=w1 started` has the verb `grant`, the words `a` and `started` and the option
 * `worker`. Quotes keep spaces together: double ones are JSON
 * and stay, single ones go. Whatever a command does not ask for is an
 * error, so that a misspelled option never goes unnoticed.
 */
const TOKEN = /(?:[^\s'"]|'[^']*'|"[^"]*")+/g
const OPTION = /^([a-z-]+)=(.*)$/s
const DURATION = /^-?(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/
const DURATION_PART = /([\d.]+)(ms|s|m|h)/g
const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const

export class Line {
  readonly verb: string
  readonly #text: string
  readonly #words: string[] = []
  readonly #options = new Map<string, string>()

  constructor(text: string) {
    this.#text = text
    const [verb = '', ...tokens] = (text.match(TOKEN) ?? []).map((one) => one.replaceAll("'", ''))
    this.verb = verb
    for (const token of tokens) {
      const [, key, value] = OPTION.exec(token) ?? []
      if (key === undefined || value === undefined) this.#words.push(token)
      else this.#options.set(key, value)
    }
  }

  /** The next word, which must be there. */
  word(what: string): string {
    return this.#words.shift() ?? this.fail(`names no ${what}`)
  }

  flag(name: string): boolean {
    const at = this.#words.indexOf(name)
    if (at >= 0) this.#words.splice(at, 1)
    return at >= 0
  }

  option<T extends string | null>(name: string, otherwise: T): string | T {
    const value = this.#options.get(name)
    this.#options.delete(name)
    return value ?? otherwise
  }

  list(name: string): string[] | null {
    const value = this.option(name, null)
    if (value === null) return null
    return value === '' ? [] : value.split(',')
  }

  number<T extends number | null>(name: string, otherwise: T): number | T {
    const value = this.option(name, null)
    return value === null ? otherwise : Number(value)
  }

  duration<T extends number | null>(name: string, otherwise: T): number | T {
    const value = this.option(name, null)
    return value === null ? otherwise : this.milliseconds(value)
  }

  milliseconds(text: string): number {
    if (!DURATION.test(text)) return this.fail(`has '${text}' where a duration belongs`)
    let total = 0
    for (const [, amount, unit] of text.matchAll(DURATION_PART)) {
      total += Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS]
    }
    return text.startsWith('-') ? -total : total
  }

  /** JSON text; `filler:9000` stands for a text that is 9000 characters long. */
  payload<T extends string | null>(name: string, otherwise: T): string | T {
    const value = this.option(name, otherwise)
    if (value === null || !value.startsWith('filler:')) return value
    return `"${'x'.repeat(Number(value.slice('filler:'.length)) - 2)}"`
  }

  /** Everything that was written must have been used. */
  end(): void {
    const left = [...this.#words, ...this.#options.keys()]
    if (left.length > 0) this.fail(`does not understand: ${left.join(', ')}`)
  }

  fail(why: string): never {
    throw new SyntaxError(`The line '${this.#text}' ${why}.`)
  }
}

/** `10.5s`, `2m`, `1h30s`: as people say it, and as `milliseconds` reads it. */
export function readable(ms: number): string {
  if (ms === 0) return '0s'
  if (ms < 0) return `-${readable(-ms)}`
  if (ms < UNIT_MS.s) return `${ms}ms`
  const hours = Math.floor(ms / UNIT_MS.h)
  const minutes = Math.floor((ms % UNIT_MS.h) / UNIT_MS.m)
  const seconds = (ms % UNIT_MS.m) / UNIT_MS.s
  return `${part(hours, 'h')}${part(minutes, 'm')}${part(seconds, 's')}`
}

function part(amount: number, unit: string): string {
  return amount === 0 ? '' : `${amount}${unit}`
}
