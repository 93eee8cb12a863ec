/**
 * A group: the lanes of one channel that wait behind one gate.
 *
 * Open: it stands among the channel's groups, ranked by the best of its lanes. Closed: it
 * stands nowhere, with all its lanes, however many they are; opening its gate brings it back.
 * The lane without limits is a group of its own, which has no gate and is always open.
 */
import type { Channel } from './channel.ts'
import type { Gate } from './gate.ts'
import type { Lane } from './lane.ts'
import type { Effort, Ranked } from './ranks.ts'
import { Ranks } from './ranks.ts'

export class Group implements Ranked {
  slot = -1
  /** The rank of the best lane; meaningless while there is none. */
  priority = 0
  dueAt = 0
  submission = 0
  readonly channel: Channel
  readonly gate: Gate | null
  readonly lanes: Ranks<Lane>

  constructor(channel: Channel, gate: Gate | null, effort: Effort) {
    this.channel = channel
    this.gate = gate
    this.lanes = new Ranks(effort)
  }

  get isOpen(): boolean {
    return this.gate === null || !this.gate.isClosed
  }
}
