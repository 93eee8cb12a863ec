/** A task that holds a lease, as a client sees it. */
import type { Holder } from '../../store/index.ts'

export interface HolderInfo extends Omit<Holder, 'since'> {
  /** When the lease was granted. */
  readonly since: Date
}

export function holderInfo({ since, ...holder }: Holder): HolderInfo {
  return { ...holder, since: new Date(since) }
}
