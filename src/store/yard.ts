/**
 * A yard: the lanes of one channel that stand behind the same shared gates, in bays.
 *
 * Open: it stands among the channel's yards, ranked by the best of its bays. Closed by any of
 * its gates: it stands nowhere, with all its lanes, however many they are, until all are open.
 * One yard has no gate, and is always open: there stand the lanes that share none (`gate.ts`).
 */
import { Bay } from './bay.ts'
import type { Channel } from './channel.ts'
import type { Gate } from './gate.ts'
import type { Lane } from './lane.ts'
import type { Effort, Ranked } from './ranks.ts'
import { NOWHERE, Ranks } from './ranks.ts'
import type { Share } from './share.ts'

export class Yard implements Ranked {
  slot = NOWHERE
  readonly channel: Channel
  readonly gates: readonly Gate[]
  /** Those that have lanes. */
  readonly bays: Ranks<Bay>
  readonly #byShare = new Map<Share, Bay>()
  readonly #effort: Effort

  constructor(channel: Channel, gates: readonly Gate[], effort: Effort) {
    this.channel = channel
    this.gates = gates
    this.bays = new Ranks(effort)
    this.#effort = effort
  }

  /** The rank of the best bay. Only while there is one. */
  get priority(): number {
    return (this.bays.first as Bay).priority
  }

  get turn(): number {
    return (this.bays.first as Bay).turn
  }

  get dueAt(): number {
    return (this.bays.first as Bay).dueAt
  }

  get submission(): number {
    return (this.bays.first as Bay).submission
  }

  get isOpen(): boolean {
    return this.gates.every(({ isClosed }) => !isClosed)
  }

  enter(lane: Lane): void {
    const bay = this.#bayOf(lane.share)
    bay.add(lane, this.#effort)
    this.settle(bay)
  }

  leave(lane: Lane, bay: Bay): void {
    bay.remove(lane)
    this.settle(bay)
  }

  /** Puts a bay where it belongs, after its lanes or its share's turn changed. */
  settle(bay: Bay): void {
    if (bay.first === null) {
      if (bay.slot !== NOWHERE) this.bays.remove(bay)
      return
    }
    bay.turn = bay.share.turn
    if (bay.slot === NOWHERE) this.bays.add(bay)
    else this.bays.moved(bay)
  }

  /** Nearly all bays stand behind no gate: those are known to their share, and not looked up. */
  #bayOf(share: Share): Bay {
    if (this.gates.length === 0) return (share.free ??= new Bay(share, this))
    let bay = this.#byShare.get(share)
    if (bay === undefined) this.#byShare.set(share, (bay = new Bay(share, this)))
    return bay
  }

  /** Forgets bays without lanes. */
  sweep(): void {
    for (const [share, bay] of this.#byShare) {
      if (bay.first === null) this.#byShare.delete(share)
    }
  }
}
