/** The example of the README, as it stands there. */
import type { Command, Decision } from '../../../src/kernel/index.ts'
import { createWorld, decideIn, fold, noReads, scan } from '../../../src/kernel/index.ts'

const world = createWorld()
const reads = noReads()

export function send(command: Command, now: number): Decision {
  const decision = decideIn(world, scan(world), command, reads, now)
  if (decision.entry !== null) fold(world, decision.entry) // a real store makes it durable first
  return decision
}
