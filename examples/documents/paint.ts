/**
 * Colours and glyphs for a terminal, and lines that fit into it.
 */
import type { Mark } from './tally.ts'

const HAS_COLOURS = !process.env['NO_COLOR']
const CODES: Readonly<Record<Mark, number>> = {
  waiting: 2,
  leased: 33,
  again: 35,
  done: 32,
  failed: 31,
  stopped: 2,
}

/** All of them one column wide. */
export const GLYPHS: Readonly<Record<'stage' | 'segment', Readonly<Record<Mark, string>>>> = {
  stage: { waiting: '·', leased: '▸', again: '↻', done: '✓', failed: '✗', stopped: '-' },
  segment: { waiting: '·', leased: '▒', again: '↻', done: '█', failed: '✗', stopped: '-' },
}

export function painted(mark: Mark, text: string): string {
  return coloured(CODES[mark], text)
}

export function dim(text: string): string {
  return coloured(2, text)
}

/** How far it is: a share from 0 to 1. */
export function barred(share: number, width: number): string {
  const full = Math.floor(Math.min(1, share) * width)
  const percent = `${Math.floor(share * 100)}`.padStart(3)
  return `${'█'.repeat(full)}${'░'.repeat(width - full)} ${percent} %`
}

/**
 * No more columns than there are: a line that wraps would be counted as one, and drawn over.
 * Colours take no column.
 */
export function cut(line: string, columns: number): string {
  let left = columns
  // oxlint-disable-next-line no-control-regex -- what begins a colour
  const parts = line.split(/(\u001B\[[0-9;]*m)/)
  return parts
    .map((part, i) => {
      if (i % 2 === 1) return part
      const shown = part.slice(0, left)
      left -= shown.length
      return shown
    })
    .join('')
}

function coloured(code: number, text: string): string {
  return HAS_COLOURS ? `\u001B[${code}m${text}\u001B[0m` : text
}
