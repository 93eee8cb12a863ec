/**
 * The servers that a URL names: one, or a list of hosts of which one at a time takes writes.
 *
 * Connections go to the host that took writes last. When that one fails, each is tried in the order of the
 * URL, from the first: one that is not there, or is a standby, is passed over.
 */
import { Availability } from '../availability.ts'
import { SqlFailed } from '../failures.ts'

export class PostgresServers {
  readonly availability = new Availability()
  readonly #urls: readonly string[]
  /** The newest connection goes through a pooler that gives each transaction another session. */
  isPooled = false
  #last = 0

  /** One for each host. */
  constructor(urls: readonly string[]) {
    this.#urls = urls
  }

  get areMany(): boolean {
    return this.#urls.length > 1
  }

  /** `connect`: opens a connection to one of them. Throws `SqlFailed`. */
  async connect<T>(connect: (url: string) => Promise<T>): Promise<T> {
    const [first = ''] = this.#urls
    if (!this.areMany) return connect(first)
    const failures: unknown[] = []
    const order = [this.#last, ...this.#urls.keys()].filter((at, i, all) => all.indexOf(at) === i)
    for (const at of order) {
      try {
        const connected = await connect(this.#urls[at] as string)
        this.#last = at
        return connected
      } catch (error) {
        if (!isPassedOver(error)) throw error
        failures.push(error)
      }
    }
    const said = failures.map((error) => (error as Error).message).join(' ')
    throw new SqlFailed('unreachable', `No host of the list takes writes. ${said}`, failures[0])
  }
}

/** Another host may do. A wrong password is wrong for all of them. */
function isPassedOver(error: unknown): boolean {
  return (
    error instanceof SqlFailed && (error.reason === 'unreachable' || error.reason === 'read-only')
  )
}
