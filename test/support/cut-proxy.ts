/**
 * A way to PostgreSQL that a test can cut, as a network does, or that passes on all but notifications, as a
 * pooler does that hands a session to others after each transaction.
 */
import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { onTestFinished } from 'vitest'

/** What the server calls a notification. */
const NOTIFICATION = 'A'.charCodeAt(0)
const HEAD_BYTES = 5
const LISTENER = 'pawl listener'

export class CutProxy {
  readonly #server: Server
  readonly #open = new Set<Socket>()
  /** Connections of those that listen. */
  readonly #listening = new Set<Socket>()
  #cuts: 'nothing' | 'all' | 'listeners' = 'nothing'

  private constructor(port: number, isPooler: boolean) {
    this.#server = createServer((near) => {
      if (this.#cuts === 'all') return void near.destroy()
      const far = connect(port, '127.0.0.1')
      this.#open.add(near)
      near.once('data', (bytes) => {
        if (!bytes.includes(LISTENER)) return
        this.#listening.add(near)
        if (this.#cuts === 'listeners') near.destroy()
      })
      near.on('data', (bytes) => far.write(bytes))
      const filter = isPooler ? withoutNotifications() : (bytes: Buffer): Buffer => bytes
      far.on('data', (bytes) => near.write(filter(bytes)))
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        one.on('error', () => undefined)
        one.on('close', () => other.destroy())
      }
      near.on('close', () => this.#open.delete(near))
    })
  }

  static async to(url: string, isPooler = false): Promise<CutProxy> {
    const proxy = new CutProxy(Number(new URL(url).port), isPooler)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    onTestFinished(() => {
      proxy.#server.close()
      for (const near of proxy.#open) near.destroy()
    })
    return proxy
  }

  through(url: string): string {
    const moved = new URL(url)
    moved.port = String((this.#server.address() as AddressInfo).port)
    return moved.href
  }

  /** Ends connections, and lets no new ones through. */
  cut(what: 'all' | 'listeners'): void {
    this.#cuts = what
    for (const near of what === 'all' ? this.#open : this.#listening) near.destroy()
  }

  mend(): void {
    this.#cuts = 'nothing'
  }
}

/** Keeps what is not a whole message yet until the rest of it comes. */
function withoutNotifications(): (bytes: Buffer) => Buffer {
  let rest = Buffer.alloc(0)
  return (bytes) => {
    rest = Buffer.concat([rest, bytes])
    const passed: Buffer[] = []
    while (rest.length >= HEAD_BYTES && rest.length > rest.readInt32BE(1)) {
      const length = 1 + rest.readInt32BE(1)
      if (rest[0] !== NOTIFICATION) passed.push(rest.subarray(0, length))
      rest = rest.subarray(length)
    }
    return Buffer.concat(passed)
  }
}
