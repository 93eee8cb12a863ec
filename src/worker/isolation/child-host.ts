/**
 * What a child does: imports the modules of the user, and runs handlers and effects, one at a time.
 *
 * - loading: it imports the modules. If one cannot be imported, the first run fails by that, and the
 *   child says that it is not usable.
 * - free, or running: the worker's messages stop the run.
 *
 * It knows nothing of leases: the worker may be refused what the child reports.
 */
import type { ArtifactPlace } from '../../definition/index.ts'
import { AbortHandle } from '../abort-handle.ts'
import { folderPlace } from '../artifact/places.ts'
import { inProcess } from '../handler/executor.ts'
import { failureReport } from '../handler/failure.ts'
import type { HandlerPort } from '../handler/handler-context.ts'
import { SharedValues } from '../handler/shared-values.ts'
import { LONGEST_REST_MS } from '../handler/wait-port.ts'
import { ExportedDefinitions } from './exported-definitions.ts'
import type { ChildOutcome, ChildRequest, ToChild, ToParent, WaitAsk } from './protocol.ts'
import { NO_WRITES_IN_CHILD, uncarried } from './protocol.ts'

export class ChildHost {
  readonly #send: (message: ToParent) => void
  readonly #end: () => void
  #definitions: Promise<ExportedDefinitions> | null = null
  /** All runs here come from one worker. */
  readonly #shared = new SharedValues()
  #artifacts: ArtifactPlace | null = null
  #run: ChildRun | null = null

  constructor(send: (message: ToParent) => void, end: () => void) {
    this.#send = send
    this.#end = end
  }

  receive(message: ToChild): void {
    switch (message.type) {
      case 'setup':
        this.#artifacts = message.artifacts === null ? null : folderPlace(message.artifacts)
        this.#definitions = ExportedDefinitions.from(message.modules)
        // If it failed, the first run fails by it.
        void this.#definitions.catch(() => undefined).then(() => this.#send({ type: 'ready' }))
        return
      case 'run':
        void this.#begin(message.run, message.ask)
        return
      case 'end':
        this.#end()
        return
      default:
        if (message.run === this.#run?.number) this.#run.receive(message)
    }
  }

  async #begin(number: number, ask: ChildRequest): Promise<void> {
    const surroundings = { shared: this.#shared, artifacts: this.#artifacts }
    const run = new ChildRun(number, ask.request.job.id, surroundings, this.#send)
    this.#run = run
    let isUsable = false
    let outcome: ChildOutcome
    try {
      const definitions = await this.#definitions
      if (definitions === null) throw new Error('A child was not told its modules: report this.')
      isUsable = true
      const definition = definitions.get(ask.definition, stageIn(ask))
      const { abortHandle } = run
      // Never a `Died`: only the parent sees that.
      outcome = (await (ask.kind === 'job'
        ? inProcess.runJob(definition, ask.request, run.port, abortHandle)
        : inProcess.runEffect(
            definition,
            ask.request,
            this.#artifacts,
            abortHandle,
          ))) as ChildOutcome
    } catch (error) {
      outcome = { kind: 'failure', ...failureReport(error) }
    }
    this.#run = null
    run.close()
    this.#send({ type: 'settled', run: number, outcome, isUsable })
  }
}

function stageIn(ask: ChildRequest): string | null {
  return ask.kind === 'job' ? (ask.request.stage?.name ?? null) : ask.request.stage
}

interface WaitingReply {
  readonly resolve: (value: never) => void
  readonly reject: (error: Error) => void
}

/** One run, and the port from its handler to the worker. */
class ChildRun {
  readonly number: number
  readonly abortHandle: AbortHandle
  readonly port: HandlerPort
  readonly #waiting = new Map<number, WaitingReply>()
  #calls = 0
  #isOver = false

  constructor(
    number: number,
    job: string,
    surroundings: Pick<HandlerPort, 'shared' | 'artifacts'>,
    send: (message: ToParent) => void,
  ) {
    this.number = number
    this.abortHandle = new AbortHandle(job)
    this.port = {
      record: (name, value) =>
        this.#ask((call) => send({ type: 'record', run: number, call, name, value })),
      emit: (name, value) =>
        this.#ask((call) => send({ type: 'emit', run: number, call, name, value })),
      progress: (value) => send({ type: 'progress', run: number, value }),
      log: (line) => send({ type: 'log', run: number, line }),
      // A child is given one job at a time.
      heard: () => undefined,
      input: () =>
        this.#ask((call) => send({ type: 'read', run: number, call, what: { kind: 'input' } })),
      callee: (id) => {
        const what = { kind: 'callee', job: id } as const
        return this.#ask((call) => send({ type: 'read', run: number, call, what }))
      },
      outputs: (stage, after, id) => {
        const what = { kind: 'outputs', stage, after, job: id } as const
        return this.#ask((call) => send({ type: 'read', run: number, call, what }))
      },
      suspend: (request) => this.#wait(send, { kind: 'suspend', ...request }),
      endWait: (request) => this.#wait(send, { kind: 'end', ...request }),
      rest: (ms) => this.#wait(send, { kind: 'rest', ms }),
      longestRestMs: LONGEST_REST_MS,
      noWrites: NO_WRITES_IN_CHILD,
      ...surroundings,
    }
  }

  receive(message: Extract<ToChild, { type: 'stop' | 'recorded' | 'found' | 'refused' }>): void {
    if (message.type === 'stop') return this.abortHandle.stop(message.reason, message.by)
    const waiting = this.#waiting.get(message.call)
    this.#waiting.delete(message.call)
    if (message.type === 'recorded') waiting?.resolve(message.value as never)
    else if (message.type === 'found') waiting?.resolve(message.found as never)
    else if (message.error.code === 'Aborted') waiting?.reject(this.abortHandle.aborted())
    else waiting?.reject(uncarried(message.error))
  }

  /** What the handler still records, after it has returned, is refused. */
  close(): void {
    this.#isOver = true
    for (const { reject } of this.#waiting.values()) reject(this.abortHandle.aborted())
    this.#waiting.clear()
  }

  #wait<T>(send: (message: ToParent) => void, ask: WaitAsk): Promise<T> {
    return this.#ask((call) => send({ type: 'wait', run: this.number, call, ask }))
  }

  #ask<T>(send: (call: number) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#isOver) return reject(this.abortHandle.aborted())
      const call = ++this.#calls
      this.#waiting.set(call, { resolve, reject })
      send(call)
    })
  }
}

/**
 * Whether this code runs in a child of a worker: a module that exports definitions and also starts a
 * worker would start children that start children, without end.
 */
const CHILD = Symbol.for('pawl.child')

const thisThread = globalThis as { [CHILD]?: boolean }

export function markAsChild(): void {
  thisThread[CHILD] = true
}

export function isInsideChild(): boolean {
  return thisThread[CHILD] === true
}
