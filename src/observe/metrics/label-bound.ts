/**
 * A bound for the values of labels: who submits jobs chooses names of types and queues, and each name more is a series more
 * for as long as the server of the metrics remembers. The first ones keep their names, and all later ones share one, so
 * that no counter ever shrinks.
 */

/** The name that all others have. No job has it by chance. */
export const OTHER_NAMES = '(others)'

export class LabelBound {
  readonly #most: number
  readonly #admitted = new Set<string>()

  constructor(most: number) {
    this.#most = most
  }

  /** Whether this one keeps its name, from now on for ever. */
  admits(name: string): boolean {
    if (this.#admitted.has(name)) return true
    if (this.#admitted.size >= this.#most) return false
    this.#admitted.add(name)
    return true
  }
}
