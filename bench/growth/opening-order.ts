import type { StoreLocation } from './place.ts'

/** What a process is to open; it prints what it spent on one opening of `store`. */
export interface OpeningOrder {
  /** Small ones that are opened first, so that the code is compiled. */
  readonly warm: readonly StoreLocation[]
  readonly store: StoreLocation
  readonly times: number
}
