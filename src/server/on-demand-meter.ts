/**
 * The metrics of the engine behind a server: measured from when they are asked for the first time.
 */
import type { Pawl } from '../engine/index.ts'
import type { EngineMeter } from '../observe/metrics/index.ts'
import { observe } from '../observe/metrics/index.ts'

export class OnDemandMeter {
  readonly #pawl: Pawl
  #meter: EngineMeter | null = null
  #isClosed = false

  constructor(pawl: Pawl) {
    this.#pawl = pawl
  }

  async text(): Promise<string> {
    this.#meter ??= observe(this.#pawl)
    const text = await this.#meter.text()
    // It may have been closed meanwhile, BEFORE there was a meter.
    if (this.#isClosed) this.#meter.close()
    return text
  }

  close(): void {
    this.#isClosed = true
    this.#meter?.close()
  }
}
