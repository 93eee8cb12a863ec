/**
 * A report on a lease, without saying on which: whoever sends it has one.
 */
import type { Command, LeaseAddress } from '../../kernel/index.ts'

export type LeaseReport = Command extends infer C
  ? C extends LeaseAddress & { readonly type: string }
    ? Omit<C, keyof LeaseAddress>
    : never
  : never
