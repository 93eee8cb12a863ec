/**
 * How an attempt waits: it suspends and ends, or ends a wait in place and goes on. Made only for a handler
 * that waits.
 *
 * A suspension that the store has taken is the end of the attempt: the signal is aborted with `suspended`,
 * and the handler hears nothing any more.
 */
import type { Command, LeaseAddress, Rejection } from '../../kernel/index.ts'
import { calleeId } from '../../kernel/index.ts'
import type { Timing } from '../../store/clock.ts'
import type { Answer, ClaimedWaiting } from '../../store/index.ts'
import type { AbortHandle } from '../abort-handle.ts'
import { refusal } from '../handler/failure.ts'
import type {
  EndWaitAnswer,
  EndWaitRequest,
  SettledWait,
  SuspendRequest,
  WaitPort,
} from '../handler/wait-port.ts'
import type { HeldLease, LeaseKeeper } from './lease-keeper.ts'
import type { TimeLimit } from './time-limit.ts'

export interface AttemptWaitsParts {
  readonly address: LeaseAddress
  readonly definitionVersion: number
  /** As the claim had it. */
  readonly waiting: ClaimedWaiting | null
  readonly timing: Timing
  readonly keeper: LeaseKeeper
  readonly held: HeldLease
  readonly abortHandle: AbortHandle
  readonly limit: TimeLimit
  /** Also again while the store cannot take them, as long as the lease is held. */
  readonly send: (commands: readonly Command[]) => Promise<readonly Answer[]>
  /** Throws if the handler has no time left. */
  readonly assertInTime: () => void
  /** The handler said something. */
  readonly heard: () => void
  readonly loseLease: () => Promise<void>
}

export class AttemptWaits implements Pick<WaitPort, 'suspend' | 'endWait' | 'rest'> {
  readonly #parts: AttemptWaitsParts

  constructor(parts: AttemptWaitsParts) {
    this.#parts = parts
  }

  async suspend(request: SuspendRequest): Promise<SettledWait> {
    const { address, definitionVersion, keeper, held, abortHandle } = this.#parts
    this.#parts.assertInTime()
    // BEFORE the lease ends: an extension that comes later would be refused on record.
    keeper.drop(held)
    const report = { type: 'SuspendExecution', ...address, ...request, definitionVersion } as const
    const [answer] = await this.#parts.send([report, ...this.#newCallees(request)])
    const { verdict, rejection } = answer as Answer
    if (verdict === 'committed') {
      abortHandle.stop('suspended')
      return new Promise(() => undefined)
    }
    keeper.resume(held)
    this.#parts.heard()
    const settled = rejection === null ? null : settledIn(rejection)
    if (settled !== null) return settled
    throw await this.#refused(rejection)
  }

  async endWait(request: EndWaitRequest): Promise<EndWaitAnswer> {
    const { address, definitionVersion, held } = this.#parts
    this.#parts.assertInTime()
    const report = { type: 'EndWait', ...address, ...request, definitionVersion } as const
    const [answer] = await this.#parts.send([report])
    const { verdict, value, rejection } = answer as Answer
    this.#parts.heard()
    if (verdict === 'committed') {
      held.isStarted = true
      return { kind: 'ended', value: value as string | null }
    }
    if (rejection?.code === 'WaitNotSettled') return { kind: 'open' }
    const settled = rejection === null ? null : settledIn(rejection)
    if (settled !== null) return { kind: 'settled', ...settled }
    throw await this.#refused(rejection)
  }

  async rest(ms: number): Promise<void> {
    const { timing, limit } = this.#parts
    limit.pause()
    await new Promise<void>((resolve) => {
      timing.after(ms, resolve, true)
    })
    limit.resume()
    this.#parts.heard()
  }

  /** In the same batch, AFTER the suspension that carries them. If that is refused, so are they. */
  #newCallees({ waits }: SuspendRequest): Command[] {
    const known = new Set(this.#parts.waiting?.waits.map(({ name }) => name))
    return waits.flatMap(({ name, callee: spec }) => {
      if (spec?.caller == null || known.has(name)) return []
      return [{ type: 'SubmitJob', job: calleeId(spec.caller), spec }]
    })
  }

  /** What the handler is thrown: it asked for something wrong, or its lease is lost. */
  async #refused(rejection: Rejection | null): Promise<Error> {
    if (rejection !== null) return refusal(rejection)
    await this.#parts.loseLease()
    return this.#parts.abortHandle.aborted()
  }
}

/** Null: it was refused for another reason. */
function settledIn({ code, details }: Rejection): SettledWait | null {
  if (code !== 'WaitSettled') return null
  const { name, message } = details as { name: string; message: SettledWait['by'] }
  return { name, by: message }
}
