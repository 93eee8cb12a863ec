/**
 * Questions of one kind that come together, asked as one: while one is under way, the next forms.
 */
interface BatchedQuery<Q, A> {
  readonly question: Q
  readonly settle: (answer: A) => void
  readonly fail: (error: unknown) => void
}

export class QueryBatcher<Q, A> {
  readonly #ask: (questions: readonly Q[]) => Promise<readonly A[]>
  #waiting: BatchedQuery<Q, A>[] = []
  #isAsking = false

  /** `ask`: gives an answer for each question, in order. */
  constructor(ask: (questions: readonly Q[]) => Promise<readonly A[]>) {
    this.#ask = ask
  }

  ask(question: Q): Promise<A> {
    return new Promise((settle, fail) => {
      this.#waiting.push({ question, settle, fail })
      if (!this.#isAsking) void this.#askAll()
    })
  }

  async #askAll(): Promise<void> {
    this.#isAsking = true
    // Those that are asked for in the same breath are of the first round.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const asked = this.#waiting
      this.#waiting = []
      try {
        const answers = await this.#ask(asked.map(({ question }) => question))
        asked.forEach(({ settle }, i) => settle(answers[i] as A))
      } catch (error) {
        for (const { fail } of asked) fail(error)
      }
    }
    this.#isAsking = false
  }
}
