/**
 * Turns whole numbers into commands: one number, one step, in the light of the current world.
 *
 * Most steps are plausible (what a client, worker, operator or orchestrator would do next), the
 * rest are repeats of earlier commands, commands that are slightly wrong, commands of any kind at
 * anything, and garbage. Everything is small (few ids, short leases, small budgets), so that
 * rare things meet often. The same numbers always give the same commands.
 */
import type { Command, World } from '../../../src/kernel/index.ts'
import { anyCommand } from './any-command.ts'
import { damaged, mutated } from './damage.ts'
import { Dice } from './dice.ts'
import { plausibleCommand } from './plausible.ts'

export interface Step {
  readonly advanceMs: number
  readonly command: Command
}

/** How many of the newest commands may come again. */
const REMEMBERED = 64

/** Within a lease, beyond it, beyond a delay; seldom beyond everything. */
const CLOCK_STEPS_MS = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 3, 5, 12, 60]

export class Generator {
  readonly #sent: Command[] = []
  #count = 0

  next(number: number, world: World, now: number): Step {
    this.#count += 1
    const dice = new Dice(number)
    const advanceMs = dice.pick(CLOCK_STEPS_MS)
    const command = this.#command(dice, world, now + advanceMs)
    this.#sent.push(command)
    if (this.#sent.length > REMEMBERED) this.#sent.shift()
    return { advanceMs, command }
  }

  #command(dice: Dice, world: World, now: number): Command {
    const way = dice.below(100)
    if (way < 72) return plausibleCommand(dice, world, now, this.#count)
    if (way < 82 && this.#sent.length > 0) return dice.pick(this.#sent)
    if (way < 90) return mutated(dice, plausibleCommand(dice, world, now, this.#count))
    if (way < 97) return anyCommand(dice, world, now, this.#count)
    return damaged(dice, plausibleCommand(dice, world, now, this.#count))
  }
}
