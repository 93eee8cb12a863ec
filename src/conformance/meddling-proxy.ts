/**
 * Stands between a worker and the server: notes every request and its answer, and can lose an answer, as a network does:
 * the server has done what was asked, and the connection ends without a word.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer, request as requestTo } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A command of a worker, and how it was answered. */
export interface SeenCommand {
  readonly type: string
  readonly job: string
  readonly lease: number
  readonly worker: string
  /** Null: the server refused all of the request. */
  readonly verdict: string | null
  readonly isLost: boolean
}

export interface SeenClaim {
  readonly worker: string
  readonly request: number
  readonly jobs: readonly string[]
  readonly isLost: boolean
}

interface AskedBody {
  readonly commands?: readonly Omit<SeenCommand, 'verdict' | 'isLost'>[]
  readonly worker?: string
  readonly request?: number
}

interface AnsweredBody {
  readonly answers?: readonly { readonly verdict: string }[]
  readonly claimed?: readonly { readonly job: string }[]
}

export class MeddlingProxy {
  readonly commands: SeenCommand[] = []
  readonly claims: SeenClaim[] = []
  /** Whether the answer to a command, or to a claim, is lost. */
  losesCommand: (command: SeenCommand) => boolean = () => false
  losesClaim: (claim: SeenClaim) => boolean = () => false
  readonly #target: string
  readonly #server: Server

  private constructor(target: string) {
    this.#target = target
    this.#server = createServer((asked, answer) => void this.#pass(asked, answer))
  }

  static async to(target: string): Promise<MeddlingProxy> {
    const proxy = new MeddlingProxy(target)
    await new Promise<void>((resolve) => {
      proxy.#server.listen(0, '127.0.0.1', resolve)
    })
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  close(): Promise<void> {
    this.#server.closeAllConnections()
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
    })
  }

  async #pass(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    try {
      const body = await buffer(asked)
      const onward = requestTo(this.#target + (asked.url ?? ''), {
        method: asked.method,
        headers: { ...asked.headers, host: new URL(this.#target).host },
      })
      answer.on('close', () => onward.destroy())
      onward.end(body)
      const answered = await new Promise<IncomingMessage>((resolve, reject) => {
        onward.on('response', resolve)
        onward.on('error', reject)
      })
      const text = await buffer(answered)
      if (this.#isLost(body, text)) return void answer.destroy()
      answer.writeHead(answered.statusCode ?? 502, {
        'content-type': answered.headers['content-type'] ?? 'application/json',
        'content-length': text.byteLength,
      })
      answer.end(text)
    } catch {
      // The worker is gone, or the server is.
      answer.destroy()
    }
  }

  #isLost(body: Buffer, text: Buffer): boolean {
    const { commands, worker, request } = parsed<AskedBody>(body)
    const { answers, claimed } = parsed<AnsweredBody>(text)
    let isLost = false
    for (const [i, one] of (commands ?? []).entries()) {
      const seen = { ...one, verdict: answers?.[i]?.verdict ?? null, isLost: false }
      const isOwnLost = this.losesCommand(seen)
      this.commands.push({ ...seen, isLost: isOwnLost })
      isLost ||= isOwnLost
    }
    if (worker !== undefined && request !== undefined && claimed !== undefined) {
      const seen = { worker, request, jobs: claimed.map(({ job }) => job), isLost: false }
      const isOwnLost = this.losesClaim(seen)
      this.claims.push({ ...seen, isLost: isOwnLost })
      isLost ||= isOwnLost
    }
    return isLost
  }
}

/** What is no JSON is nothing that is looked for. */
function parsed<T extends object>(bytes: Buffer): Partial<T> {
  try {
    const value = JSON.parse(bytes.toString()) as T | null
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}
