/**
 * Processes with workers, as a test starts, stops and kills them.
 */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import type { SharedPlace } from '../shared/places.ts'

export class WorkerProcess {
  readonly #child: ChildProcess
  readonly #lines: string[] = []
  readonly #waiting: (() => void)[] = []

  /** `built`: the folder with the program. */
  constructor(built: string, place: SharedPlace) {
    this.#child = spawn(process.execPath, [join(built, 'program.js'), JSON.stringify(place)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      this.#lines.push(line)
      for (const wake of this.#waiting.splice(0)) wake()
    })
    onTestFinished(() => void this.#child.kill('SIGKILL'))
  }

  get pid(): number {
    return this.#child.pid as number
  }

  /** Until it has said so. */
  async said(line: string): Promise<void> {
    while (!this.#lines.includes(line)) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve)
      })
    }
  }

  send(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Until it is gone. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.gone()
  }

  async gone(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      await once(this.#child, 'exit')
    }
  }
}
