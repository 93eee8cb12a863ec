/**
 * The log as a server sends it. A stream that is cut is opened again behind the last entry that came; the caller sees none
 * of that, unless the server stays away.
 *
 * - open: entries are read as the caller asks for them.
 * - closing: the store is about to be closed; what is on its way is still given, and then it ends.
 * - over.
 */
import type { IncomingMessage } from 'node:http'
import type { Entry } from '../../kernel/index.ts'
import type { ProblemDetails } from '../../protocol/index.ts'
import { OPERATIONS } from '../../protocol/index.ts'
import { afterMs, nowUs, pause } from '../clock.ts'
import { share } from '../random.ts'
import type { PositionedEntry } from '../store.ts'
import { errorOf, ServerUnreachable } from './errors.ts'
import type { Transport } from './transport.ts'

const PATIENCE_MS = 30_000
const PAUSE_MS = 100
/** Once the store is closing, a stream that is silent for so long has shown everything. */
const QUIET_MS = 100

interface ServerEvent {
  readonly id: string
  readonly name: string
  readonly data: string
}

export class HttpWatch implements AsyncIterator<PositionedEntry> {
  readonly #transport: Transport
  readonly #ended = new AbortController()
  readonly #onOver: (watch: HttpWatch) => void
  #position: number
  /** It begins with what is new, and has shown nothing: where to go on from is not known. */
  #isFromNow: boolean
  #events: AsyncIterator<ServerEvent> | null = null
  #failedUs: number | null = null
  #last: Promise<unknown> = Promise.resolve()
  #isClosing = false

  constructor(transport: Transport, from: number | 'now', onOver: (watch: HttpWatch) => void) {
    this.#transport = transport
    this.#onOver = onOver
    this.#isFromNow = from === 'now'
    this.#position = from === 'now' ? 0 : from
  }

  /** AFTER it, every entry that becomes durable will be shown. */
  async begin(): Promise<void> {
    this.#events = await this.#open()
  }

  /** One step at a time, however many are asked for at once. */
  next(): Promise<IteratorResult<PositionedEntry>> {
    const step = this.#last.then(() => this.#step())
    this.#last = step.catch(() => undefined)
    return step
  }

  async return(): Promise<IteratorResult<PositionedEntry>> {
    this.#end()
    return { done: true, value: undefined }
  }

  expectClose(): void {
    this.#isClosing = true
    this.#endWhenQuiet()
  }

  #stopQuiet: () => void = () => undefined

  #endWhenQuiet(): void {
    this.#stopQuiet()
    this.#stopQuiet = afterMs(QUIET_MS, () => this.#end())
  }

  #end(): void {
    this.#stopQuiet()
    this.#ended.abort()
    this.#onOver(this)
  }

  async #step(): Promise<IteratorResult<PositionedEntry>> {
    for (;;) {
      if (this.#ended.signal.aborted) return { done: true, value: undefined }
      try {
        this.#events ??= await this.#open()
        const { done, value } = await this.#events.next()
        if (done !== true) return { done: false, value: this.#entryOf(value) }
        await this.#cut('the stream ended.')
      } catch (error) {
        if (this.#ended.signal.aborted) return { done: true, value: undefined }
        if (!(error instanceof ServerUnreachable)) throw this.#failed(error)
        await this.#cut(error.message)
      }
    }
  }

  #failed(error: unknown): unknown {
    this.#end()
    return error
  }

  #entryOf({ id, name, data }: ServerEvent): PositionedEntry {
    if (name === 'problem') throw errorOf(JSON.parse(data) as ProblemDetails)
    this.#position = Number(id)
    this.#isFromNow = false
    this.#failedUs = null
    if (this.#isClosing) this.#endWhenQuiet()
    return { position: this.#position, entry: JSON.parse(data) as Entry }
  }

  /** Waits before it is opened again. Throws if the server stays away, or it is not known where to go on. */
  async #cut(why: string): Promise<void> {
    this.#events = null
    if (this.#isClosing || this.#transport.isClosed) return this.#end()
    this.#failedUs ??= nowUs()
    const triedMs = (nowUs() - this.#failedUs) / 1_000
    if (this.#isFromNow || triedMs > PATIENCE_MS) {
      throw this.#failed(new ServerUnreachable(this.#transport.address, why, triedMs))
    }
    await pause(PAUSE_MS * (0.5 + share()))
  }

  async #open(): Promise<AsyncIterator<ServerEvent>> {
    const input = this.#isFromNow ? { new: true } : { from: this.#position }
    const response = await this.#transport.stream(OPERATIONS['store.watch'], input, {
      signal: this.#ended.signal,
      headers: {},
    })
    return eventsOf(response)
  }
}

/** Ends when the stream does, however that is. */
async function* eventsOf(response: IncomingMessage): AsyncGenerator<ServerEvent> {
  let rest = ''
  response.setEncoding('utf8')
  try {
    for await (const chunk of response) {
      rest += chunk as string
      const blocks = rest.split('\n\n')
      rest = blocks.pop() as string
      for (const block of blocks) {
        const event = eventOf(block)
        if (event !== null) yield event
      }
    }
  } catch {
    // It was cut: what came is what there is.
  }
}

/** Null: a comment. */
function eventOf(block: string): ServerEvent | null {
  const fields = { id: '', event: '', data: '' }
  for (const line of block.split('\n')) {
    const [, name, value] = /^(id|event|data): ?(.*)$/.exec(line) ?? []
    if (name !== undefined) fields[name as keyof typeof fields] = value ?? ''
  }
  return fields.data === '' ? null : { id: fields.id, name: fields.event, data: fields.data }
}
