/**
 * A bay: the lanes of one share that stand in one yard. It is ranked by its share's turn, so
 * when the turn passes on, one bay moves, however many lanes it has.
 *
 * The turn that it was ranked by may be an older one of its share. Turns only grow, so such a
 * bay stands too far in front, is found there, and is put where it belongs.
 */
import type { Lane } from './lane.ts'
import type { Effort, Ranked } from './ranks.ts'
import { NOWHERE, Ranks } from './ranks.ts'
import type { Share } from './share.ts'
import type { Yard } from './yard.ts'

export class Bay extends Ranks<Lane> implements Ranked {
  slot = NOWHERE
  turn = 0
  readonly share: Share
  readonly yard: Yard

  constructor(share: Share, yard: Yard, effort: Effort) {
    super(effort)
    this.share = share
    this.yard = yard
  }

  get isOutdated(): boolean {
    return this.turn !== this.share.turn
  }

  get priority(): number {
    return this.share.priority
  }

  /** Those of the best lane. Only while there is one. */
  get dueAt(): number {
    return (this.first as Lane).dueAt
  }

  get submission(): number {
    return (this.first as Lane).submission
  }
}
