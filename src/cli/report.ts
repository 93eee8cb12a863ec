/**
 * What a command prints: the same facts as text for people, as JSON, or as a line of JSON for each. Results go to
 * stdout, everything else to stderr.
 */
import type { Styles } from './styles.ts'
import { stylesOf } from './styles.ts'

export const FORMATS = ['text', 'json', 'jsonl'] as const

export type OutputFormat = (typeof FORMATS)[number]

export interface CommandReport {
  /** What `-o json` prints. */
  readonly value: unknown
  /** What `-o jsonl` prints, a line each. Default: the value in one line. */
  readonly items?: readonly unknown[]
  /** What people read, without a line break at its end. */
  text(styles: Styles): string
}

/** Infinity, which JSON does not have, is null. */
function jsonLine(value: unknown): string {
  return JSON.stringify(value) ?? 'null'
}

export class Printer {
  readonly format: OutputFormat
  readonly styles: Styles
  /** Of what goes to stderr. */
  readonly noteStyles: Styles

  constructor(format: OutputFormat, color: boolean | null) {
    this.format = format
    this.styles = stylesOf(process.stdout, color)
    this.noteStyles = stylesOf(process.stderr, color)
  }

  print(report: CommandReport): void {
    if (this.format === 'text') this.line(report.text(this.styles))
    else if (this.format === 'json') this.line(JSON.stringify(report.value, null, 2) ?? 'null')
    else for (const item of report.items ?? [report.value]) this.line(jsonLine(item))
  }

  /** One of many that come one after the other, without an end: as JSON, each is a line. */
  printOne(item: unknown, text: (styles: Styles) => string): void {
    this.line(this.format === 'text' ? text(this.styles) : jsonLine(item))
  }

  line(text: string): void {
    process.stdout.write(`${text}\n`)
  }

  /** Beside the result: what goes on, and what else is worth knowing. */
  note(text: string): void {
    process.stderr.write(`${text}\n`)
  }
}
