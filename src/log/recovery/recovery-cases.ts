/**
 * What is found where the log stops, and what is done about it: a table, and nothing else
 * decides. The first case that fits counts. `recovery-cases.test.ts` goes through all of them.
 *
 * Only what a power loss or a killed process can leave behind is cut: sectors of the newest
 * group that were never written. Everything else is for a person to look at.
 */
import type { Stop } from '../segments/segment-scan.ts'

/** What is known of the place where a segment's scan stopped. */
export interface TailFound extends Stop {
  /** No segment follows this one. */
  readonly isLast: boolean
  /** The scan reached the place where the next segment goes on. */
  readonly isComplete: boolean
  /** The place is not before the durable mark. */
  readonly beyondMark: boolean
}

/**
 * - next: the segment is whole, go on with the next one.
 * - end: this is the end of the log.
 * - torn: cut here, keep what is cut aside, and say how much it was.
 * - corrupt: do not open.
 */
export type RecoveryVerdict = 'next' | 'end' | 'torn' | 'corrupt'

export interface RecoveryCase {
  readonly name: string
  readonly when: (found: TailFound) => boolean
  readonly verdict: RecoveryVerdict
  /** For people; of a corrupt case, the end of the error message. */
  readonly why: string
}

export const RECOVERY_CASES: readonly RecoveryCase[] = [
  {
    name: 'a whole segment with another behind it',
    when: (found) => found.isComplete && !found.isLast,
    verdict: 'next',
    why: 'Everything up to the next segment checks.',
  },
  {
    name: 'a segment that ends before the next one begins',
    when: (found) => !found.isLast,
    verdict: 'corrupt',
    why: 'entries are missing or damaged, and later ones are there.',
  },
  {
    name: 'an end before the durable mark',
    when: (found) => !found.beyondMark,
    verdict: 'corrupt',
    why: 'entries that were durable are missing or damaged.',
  },
  {
    name: 'zeros to the end',
    when: (found) => found.restIsBlank,
    verdict: 'end',
    why: 'Nothing more was written.',
  },
  {
    name: 'damage with a whole group behind it',
    when: (found) => found.laterGroup,
    verdict: 'corrupt',
    why: 'a group is missing or damaged, and a later one proves that it was durable.',
  },
  {
    name: 'a group of which sectors were never written',
    when: (found) => found.head === 'whole' && found.body === 'missing',
    verdict: 'torn',
    why: 'The power went, or the process died, while the newest group was being written.',
  },
  {
    name: 'a group whose first sector was never written',
    when: (found) => found.head === 'blank',
    verdict: 'torn',
    why: 'The power went while the newest group was being written.',
  },
  {
    name: 'a group whose head was written in part',
    when: (found) => found.head === 'cut',
    verdict: 'torn',
    why: 'The process died while the head of the newest group was being written.',
  },
  {
    name: 'a group that does not follow from the one before',
    when: (found) => found.head === 'whole' && found.body === 'unlinked',
    verdict: 'corrupt',
    why: 'a record is out of place: missing, swapped, repeated or from another time.',
  },
  {
    name: 'anything else',
    when: () => true,
    verdict: 'corrupt',
    why: 'the bytes were written and have changed since.',
  },
]

export function judgeTail(found: TailFound): RecoveryCase {
  return RECOVERY_CASES.find((one) => one.when(found)) as RecoveryCase
}
