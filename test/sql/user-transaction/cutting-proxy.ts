/**
 * Stands between a client and a server, and cuts a connection at a piece that a test has chosen: the
 * piece is not handed on, and both sides are hung up on.
 */
import type { Server, Socket } from 'node:net'
import { connect, createServer } from 'node:net'

export type Side = 'question' | 'answer'

export class CuttingProxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #cut: { readonly side: Side; left: number } | null = null
  #cuts = 0

  private constructor(target: URL) {
    this.#server = createServer((client) => this.#serve(client, target))
  }

  static async before(url: string): Promise<{ proxy: CuttingProxy; url: string }> {
    const target = new URL(url)
    const proxy = new CuttingProxy(target)
    await new Promise<void>((resolve) => {
      proxy.#server.listen(0, '127.0.0.1', resolve)
    })
    const { port } = proxy.#server.address() as { port: number }
    const through = new URL(url)
    through.port = String(port)
    return { proxy, url: through.href }
  }

  /** How often it has cut. */
  get cuts(): number {
    return this.#cuts
  }

  /** Cuts at the nth piece from now on, from 1. */
  cutAt(side: Side, nth: number): void {
    this.#cut = { side, left: nth }
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #serve(client: Socket, { hostname, port }: URL): void {
    const server = connect({ host: hostname, port: Number(port) })
    const hangUp = (): void => {
      client.destroy()
      server.destroy()
    }
    const pairs: readonly [Side, Socket, Socket][] = [
      ['question', client, server],
      ['answer', server, client],
    ]
    for (const [side, from, to] of pairs) {
      this.#sockets.add(from)
      from.setNoDelay(true)
      from.on('error', hangUp)
      from.on('close', hangUp)
      from.on('data', (piece) => {
        if (this.#isDue(side)) hangUp()
        else to.write(piece)
      })
    }
  }

  #isDue(side: Side): boolean {
    if (this.#cut?.side !== side || --this.#cut.left > 0) return false
    this.#cut = null
    this.#cuts += 1
    return true
  }
}
