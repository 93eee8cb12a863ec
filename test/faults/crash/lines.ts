/**
 * What a process under load says on its standard output, line by line.
 *
 * A call is said BEFORE it is made and its answer AFTER it was given, each written at once and
 * whole: what was said is known to whoever survives the process. The first character of a line
 * is its kind.
 */
import type { Command, Verdict } from '../../../src/kernel/index.ts'
import type { ClaimRequest } from '../../../src/store/claim-request.ts'

/** A lease that was given: job, stage, segment, number. */
export type LeaseName = readonly [job: string, stage: number, segment: number, lease: number]
export type Said = readonly [verdict: Verdict, value: string | number | null]

export interface Asked {
  readonly kind: '>'
  readonly call: number
  /** One of the two. */
  readonly commands?: readonly Command[]
  readonly claim?: ClaimRequest
}

export interface Answered {
  readonly kind: '<'
  readonly call: number
  /** To commands, in their order. */
  readonly answers?: readonly Said[]
  /** To a claim. */
  readonly leases?: readonly LeaseName[]
}

export type Line =
  | Asked
  | Answered
  /** The store is open. */
  | { readonly kind: 'o' }
  /** A call of the disk is about to be made. */
  | { readonly kind: '.'; readonly call: string }
  /** The store had something to tell. */
  | { readonly kind: 'n'; readonly notice: string; readonly about: string }
  /** Something went wrong, and the process ends. */
  | { readonly kind: '!'; readonly error: string }

export function lineText(line: Line): string {
  switch (line.kind) {
    case 'o':
      return 'o\n'
    case '.':
      return `.${line.call}\n`
    case 'n':
      return `n${line.notice} ${line.about}\n`
    case '!':
      return `!${line.error.replaceAll('\n', ' | ')}\n`
    default: {
      const { kind, ...rest } = line
      return `${kind}${JSON.stringify(rest)}\n`
    }
  }
}

export function parseLine(text: string): Line {
  const kind = text.charAt(0)
  const rest = text.slice(1)
  switch (kind) {
    case 'o':
      return { kind }
    case '.':
      return { kind, call: rest }
    case 'n': {
      const [notice = ''] = rest.split(' ', 1)
      return { kind, notice, about: rest.slice(notice.length + 1) }
    }
    case '!':
      return { kind, error: rest }
    case '>':
    case '<':
      return Object.assign(JSON.parse(rest) as Asked | Answered, { kind })
    default:
      throw new Error(`This is no line: '${text.slice(0, 100)}'.`)
  }
}
