/**
 * Every call of the simulated disk goes through here: it is counted, and this decides whether it
 * goes well, fails, writes only a part, or never returns because the power goes.
 */
import { PowerLost, systemError } from './errors.ts'

export type Fault =
  | { readonly code: 'EIO' | 'ENOSPC' | 'EMFILE'; readonly forever: boolean }
  | { readonly short: true }

/** What happens to a call that is let through: `dies` means that it acts, and does not return. */
export type Fate = 'well' | 'short' | 'dies'

export class Calls {
  count = 0
  lost = false
  readonly trace: string[] = []
  readonly #tracing: boolean
  #faults: { readonly at: number; readonly fault: Fault }[] = []
  #last = Infinity

  constructor(tracing: boolean) {
    this.#tracing = tracing
  }

  failAt(k: number, fault: Fault): void {
    this.#faults.push({ at: this.count + k, fault })
  }

  crashAt(k: number): void {
    this.#last = this.count + k
  }

  /** No fault and no power loss is planned any more; what happened has happened. */
  heal(): void {
    this.#faults = []
    this.#last = Infinity
  }

  /** `failed` is what a call that fails does nevertheless. */
  run<T>(call: string, about: string, act: (fate: Fate) => T, failed?: () => void): T {
    if (this.lost) throw new PowerLost(`${call} ${about}: the power is gone`)
    this.count += 1
    if (this.count >= this.#last) return this.#die(call, about, act)
    const fault = this.#faultNow()
    if (fault !== null && 'code' in fault) {
      this.#note(`${call} ${about}: ${fault.code}`)
      failed?.()
      throw systemError(fault.code, call, about)
    }
    this.#note(`${call} ${about}${fault === null ? '' : ': short'}`)
    return act(fault === null ? 'well' : 'short')
  }

  #die(call: string, about: string, act: (fate: Fate) => unknown): never {
    this.#note(`${call} ${about}: power lost`)
    this.lost = true
    try {
      act('dies')
    } catch {
      // The caller would never have learnt of it.
    }
    throw new PowerLost(`${call} ${about}: the power went`)
  }

  #faultNow(): Fault | null {
    const now = this.count
    const due = this.#faults.find(({ at, fault }) =>
      'forever' in fault && fault.forever ? now >= at : now === at,
    )
    return due?.fault ?? null
  }

  #note(text: string): void {
    if (this.#tracing) this.trace.push(text)
  }
}
