/**
 * Stores with a random history: jobs of all kinds in all states, some of them forgotten.
 */
import { expect } from 'vitest'
import type { Command } from '../../../src/kernel/index.ts'
import type { Store } from '../../../src/store/index.ts'
import { InStep } from '../../conformance/in-step.ts'
import { Dice } from '../../model/properties/dice.ts'

export class RandomStore extends InStep {
  override store!: Store

  /** `open` gives a store that is empty. `first` is what happens in it before all else. */
  static async in(
    open: (clock: { now: () => number }) => Promise<Store>,
    seed: number,
    steps: number,
    first: readonly Command[] = [],
  ): Promise<RandomStore> {
    const random = new RandomStore()
    const dice = new Dice(seed)
    random.store = await open({ now: () => random.now })
    for (const command of first) await random.both(command)
    for (let count = 1; count <= steps; count++) await random.step(dice, count)
    return random
  }

  /** Told to the store and to the model. */
  async both(command: Command): Promise<void> {
    const [answer] = await this.store.execute([command])
    const { verdict } = this.model.perform(command, this.now)
    expect([answer?.verdict, verdict]).toEqual(['committed', 'committed'])
  }
}
