/**
 * A client that is lent to a user for one transaction. When that is over, whoever still holds it can
 * do nothing with it: the next transaction on the same connection is somebody else's.
 */
import { BadRequest } from '../../errors.ts'

export interface LentClient {
  readonly client: object
  readonly takeBack: () => void
}

export function lend(client: object): LentClient {
  let isOver = false
  const lent = new Proxy(client, {
    get(target, name) {
      if (isOver) {
        throw new BadRequest(
          'This client was lent to the writes of one commit, and that is over: what is to be written must be written before the function returns, or its promise is settled.',
        )
      }
      const value: unknown = Reflect.get(target, name, target)
      // What is not written in JavaScript knows only the database itself.
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  return {
    client: lent,
    takeBack: () => {
      isOver = true
    },
  }
}
