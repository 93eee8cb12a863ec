/**
 * A transaction that begins with the first thing that it is asked. One that is asked nothing has
 * never been there.
 */
import type { StatementResult, Statement, Connection } from '../connection.ts'

export class LazyTransaction implements Connection {
  readonly #connection: Connection
  #begin: readonly Statement[]

  constructor(connection: Connection, begin: readonly Statement[]) {
    this.#connection = connection
    this.#begin = begin
  }

  get hasBegun(): boolean {
    return this.#begin.length === 0
  }

  async run(asks: readonly Statement[]): Promise<readonly StatementResult[]> {
    const begin = this.#begin
    if (begin.length === 0) return this.#connection.run(asks)
    this.#begin = []
    const answers = await this.#connection.run([...begin, ...asks])
    return answers.slice(begin.length)
  }

  close(): Promise<void> {
    return this.#connection.close()
  }
}
