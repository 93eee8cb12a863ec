/**
 * A light authority for long random runs: a world, its log and a clock. It decides and folds,
 * and leaves checking to the property that drives it.
 */
import type { Command, Decision, Entry, Indexes, Rules, World } from '../../src/kernel/index.ts'
import {
  createWorld,
  decideIn,
  findTask,
  fold,
  noReads,
  RULES,
  scan,
} from '../../src/kernel/index.ts'
import { Generator } from './generator.ts'

/** Nobody asks how much is used of a queue that has no bounds. */
function limitedOnly(world: World, indexes: Indexes): Indexes {
  return {
    ...indexes,
    queueUsage: (name) => {
      const queue = world.queues.get(name)
      const bounded = queue !== undefined && (queue.concurrency !== null || queue.rate !== null)
      return bounded ? indexes.queueUsage(name) : null
    },
  }
}

export class Authority {
  readonly world = createWorld()
  readonly log: Entry[] = []
  now = 1_000
  readonly #rules: Rules
  readonly #reads = noReads()
  readonly #generator = new Generator()
  /** Looks into the world when asked; only its usage of limits is that of the empty world. */
  readonly #withoutUsage = limitedOnly(this.world, scan(this.world))

  constructor(rules: Rules = RULES) {
    this.#rules = rules
  }

  /** The command that a number stands for; the clock goes on as the number says. */
  next(number: number): Command {
    const { advanceMs, command } = this.#generator.next(number, this.world, this.now)
    this.now += advanceMs
    return command
  }

  decide(command: Command): Decision {
    const indexes = this.#asksForUsage(command) ? scan(this.world) : this.#withoutUsage
    return decideIn(this.world, indexes, command, this.#reads, this.now, this.#rules)
  }

  /** Only the grant of a task with limits asks for their usage, and computing it takes longest. */
  #asksForUsage(command: Command | null): boolean {
    if (command?.type !== 'GrantLease') return false
    const task = findTask(this.world, command.job, command.stage, command.segment)
    return task !== undefined && task.policy.limits.length > 0
  }

  append(entry: Entry): void {
    fold(this.world, entry)
    this.log.push(entry)
  }

  send(command: Command): Decision {
    const decision = this.decide(command)
    if (decision.entry !== null) this.append(decision.entry)
    return decision
  }
}
