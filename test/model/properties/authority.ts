/**
 * A light authority for long random runs: a world, its log and a clock. It decides and folds,
 * and leaves checking to the property that drives it.
 */
import type { Command, Decision, Entry, Rules } from '../../../src/kernel/index.ts'
import { createWorld, decideIn, fold, noReads, RULES, scan } from '../../../src/kernel/index.ts'
import { Generator } from './generator.ts'

export class Authority {
  readonly world = createWorld()
  readonly log: Entry[] = []
  now = 1_000
  readonly #rules: Rules
  readonly #reads = noReads()
  readonly #generator = new Generator()
  readonly #indexes = scan(this.world)

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
    return decideIn(this.world, this.#indexes, command, this.#reads, this.now, this.#rules)
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
