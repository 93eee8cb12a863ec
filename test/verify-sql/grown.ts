/**
 * Stores with a random history: jobs of all kinds in all states, some of them forgotten.
 */
import type { Store } from '../../src/store/index.ts'
import { InStep } from '../conformance/in-step.ts'
import { Dice } from '../properties/dice.ts'

export class Grown extends InStep {
  override store!: Store

  /** `open` gives a store that is empty. */
  static async in(
    open: (clock: { now: () => number }) => Promise<Store>,
    seed: number,
    steps: number,
  ): Promise<Grown> {
    const grown = new Grown()
    const dice = new Dice(seed)
    grown.store = await open({ now: () => grown.now })
    for (let count = 1; count <= steps; count++) await grown.step(dice, count)
    return grown
  }
}
