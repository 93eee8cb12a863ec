/**
 * A web server in front of another, as a gateway is: it may be slow, hang, answer in place of the other, or cut what is
 * on its way.
 */
import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What becomes of a request. */
export type ProxyMode = 'passes' | 'hangs' | 'is a bad gateway'

export class HttpProxy {
  mode: ProxyMode = 'passes'
  /** How long each request waits before it is passed on. */
  delayMs = 0
  readonly #server: Server
  readonly #underWay = new Set<ServerResponse>()

  private constructor(port: number) {
    this.#server = createServer((incoming, answer) => {
      if (this.mode === 'hangs') return
      if (this.mode === 'is a bad gateway') {
        answer.writeHead(502, { 'content-type': 'text/html' })
        return void answer.end('<html>Bad gateway</html>')
      }
      const pass = (): void => {
        const { url, method, headers } = incoming
        const onward = request({ host: '127.0.0.1', port, path: url, method, headers }, (given) => {
          answer.writeHead(given.statusCode as number, given.headers)
          given.pipe(answer)
          this.#underWay.add(answer)
        })
        onward.on('error', () => answer.destroy())
        answer.on('close', () => {
          this.#underWay.delete(answer)
          onward.destroy()
        })
        incoming.pipe(onward)
      }
      if (this.delayMs === 0) pass()
      else setTimeout(pass, this.delayMs)
    })
  }

  static async to(port: number): Promise<HttpProxy> {
    const proxy = new HttpProxy(port)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  through(url: string): string {
    const moved = new URL(url)
    moved.port = String((this.#server.address() as AddressInfo).port)
    return moved.href
  }

  /** Of answers that are under way. `isClean`: as if they were whole. */
  cut(isClean: boolean): void {
    for (const answer of this.#underWay) {
      if (isClean) answer.end()
      else answer.destroy()
    }
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}
