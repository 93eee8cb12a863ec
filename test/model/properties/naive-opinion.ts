/** What the naive model thinks of a command: a verdict, a value, and every reason for a no. */
import type { RejectionCode, Verdict } from '../../../src/kernel/index.ts'

export interface Opinion {
  readonly verdict: Verdict
  /** Every reason that would justify a rejection. */
  readonly reasons: ReadonlySet<RejectionCode>
  readonly value: string | number | null
  /** The command changes something, so it is to be remembered. */
  readonly changes: boolean
}

const NO_REASONS: ReadonlySet<RejectionCode> = new Set<RejectionCode>()

/** It is accepted, and changes something. */
export function accepted(value: string | number | null = null): Opinion {
  return { verdict: 'committed', reasons: NO_REASONS, value, changes: true }
}

/** It was accepted before, or it is so already. */
export function known(value: string | number | null = null): Opinion {
  return { verdict: 'committed', reasons: NO_REASONS, value, changes: false }
}

export function lost(): Opinion {
  return { verdict: 'cancelled', reasons: NO_REASONS, value: null, changes: false }
}

export function refused(...reasons: readonly RejectionCode[]): Opinion {
  return { verdict: 'rejected', reasons: new Set(reasons), value: null, changes: false }
}

/** Collects the reasons that hold; with none the command is accepted. */
export function unless(
  reasons: Readonly<Partial<Record<RejectionCode, boolean>>>,
  otherwise: Opinion = accepted(),
): Opinion {
  const holding = (Object.keys(reasons) as RejectionCode[]).filter((code) => reasons[code])
  return holding.length === 0 ? otherwise : refused(...holding)
}
