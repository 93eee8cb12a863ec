/**
 * Colours, where the reader is a terminal that wants them: not with NO_COLOR, not into a file.
 */
import picocolors from 'picocolors'
import type { Colors } from 'picocolors/types.js'
import type { JobState } from '../kernel/index.ts'

export type Styles = Colors

interface Sink {
  readonly isTTY?: boolean
}

/** `color`: what the command line says; null: nothing. */
export function stylesOf(sink: Sink, color: boolean | null): Styles {
  return picocolors.createColors(color ?? isColourful(sink))
}

function isColourful({ isTTY }: Sink): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false
  if (FORCE_COLOR !== undefined && FORCE_COLOR !== '' && FORCE_COLOR !== '0') return true
  return isTTY === true && TERM !== 'dumb'
}

/** What needs a person is red, what goes on is blue, what went well is green. */
export function stateText(styles: Styles, state: string): string {
  switch (state as JobState) {
    case 'SUCCEEDED':
      return styles.green(state)
    case 'FAILED':
    case 'QUARANTINED':
      return styles.red(state)
    case 'RUNNING':
      return styles.blue(state)
    case 'RETRYING':
      return styles.yellow(state)
    default:
      return state
  }
}
