/**
 * The worker that is examined: a process of its own, in a group of its own, so that what it started ends with it.
 */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { pause } from '../store/clock.ts'

const MOST_SAID = 16_384
const STEP_MS = 20

export interface ProcessEnd {
  readonly code: number | null
  readonly signal: string | null
}

export class WorkerProcess {
  readonly #child: ChildProcess
  #said = ''
  #end: ProcessEnd | null = null

  constructor(command: readonly string[], env: Readonly<Record<string, string>>) {
    const [program = '', ...args] = command
    this.#child = spawn(program, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (bytes: Buffer) => {
        this.#said = (this.#said + bytes.toString()).slice(-MOST_SAID)
      })
    }
    this.#child.on('error', (error) => {
      this.#said += error.message
      this.#end = { code: null, signal: null }
    })
    this.#child.on('exit', (code, signal) => {
      this.#end = { code, signal }
    })
  }

  /** The last of what it wrote. */
  get said(): string {
    return this.#said.trim()
  }

  /** Null: it runs. */
  get end(): ProcessEnd | null {
    return this.#end
  }

  /** As a machine that is shut down does. */
  terminate(): void {
    this.#child.kill('SIGTERM')
  }

  /** Whether it has ended by then. */
  async hasEnded(withinMs: number): Promise<boolean> {
    for (let ms = 0; this.#end === null && ms < withinMs; ms += STEP_MS) await pause(STEP_MS)
    return this.#end !== null
  }

  /** With everything that it started. */
  kill(): void {
    const { pid } = this.#child
    if (pid === undefined) return
    try {
      process.kill(-pid, 'SIGKILL')
    } catch {
      // All of the group has ended.
    }
  }
}
