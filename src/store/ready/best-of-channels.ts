/**
 * Which comes first of the best lanes of several channels that are asked together.
 *
 * What is committed comes first. Then, first within each queue and then between them: the
 * highest priority; of each group what is due first; of the groups the one whose turn it is.
 */
import type { ReadyList } from './ready-list.ts'

/** How lanes of one queue, or those of different queues, are compared. */
interface Scale {
  readonly priority: (lane: ReadyList) => number
  readonly dueAt: (lane: ReadyList) => number
}

/** As the queue itself ranks them. */
const RANK: Scale = {
  priority: ({ share }) => share.priority,
  dueAt: ({ dueAt }) => dueAt,
}

/** With the priority to which they have risen: only some queues may age. */
function ageAt(now: number): Scale {
  return {
    priority: (lane) => {
      const { ageingMs } = lane.channel.queue
      if (ageingMs === null) return lane.level
      return lane.level + Math.floor((now - lane.headDueAt) / ageingMs)
    },
    dueAt: ({ headDueAt }) => headDueAt,
  }
}

/** Lanes of one queue stand together in the list, which is not empty. */
export function bestOfChannels(lanes: readonly ReadyList[], now: number): ReadyList {
  const finishing = lanes.filter((lane) => lane === lane.channel.finishing)
  if (finishing.length > 0) return finishing.reduce((a, b) => (isEarlier(b, a, RANK) ? b : a))
  const best: ReadyList[] = []
  for (let from = 0; from < lanes.length;) {
    const { queue } = (lanes[from] as ReadyList).channel
    let to = from + 1
    while (lanes[to]?.channel.queue === queue) to += 1
    best.push(firstBy(lanes.slice(from, to), RANK))
    from = to
  }
  return firstBy(best, ageAt(now))
}

function firstBy(lanes: readonly ReadyList[], scale: Scale): ReadyList {
  if (lanes.length === 1) return lanes[0] as ReadyList
  const top = lanes.reduce((most, lane) => Math.max(most, scale.priority(lane)), -Infinity)
  const ofGroup = new Map<string | null, ReadyList>()
  for (const lane of lanes) {
    if (scale.priority(lane) < top) continue
    const other = ofGroup.get(lane.group)
    if (other === undefined || isEarlier(lane, other, scale)) ofGroup.set(lane.group, lane)
  }
  return [...ofGroup.values()].reduce((a, b) => (b.share.turn < a.share.turn ? b : a))
}

function isEarlier(lane: ReadyList, other: ReadyList, { dueAt }: Scale): boolean {
  const [time, otherTime] = [dueAt(lane), dueAt(other)]
  return time < otherTime || (time === otherTime && lane.submission < other.submission)
}
