/**
 * Folders for one run: made in a folder of their own, removed with it, also when a run is
 * broken off by hand.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'

export class Scratch {
  readonly root: string
  #count = 0
  readonly #remove = (): void => rmSync(this.root, { recursive: true, force: true })
  readonly #leave = (): void => process.exit(130)

  constructor(parent: string) {
    mkdirSync(parent, { recursive: true })
    this.root = mkdtempSync(join(resolve(parent), 'pawl-bench-'))
    process.once('exit', this.#remove)
    process.once('SIGINT', this.#leave)
    process.once('SIGTERM', this.#leave)
  }

  /** A name that nothing has yet. */
  fresh(name: string): string {
    this.#count += 1
    return join(this.root, `${name}-${this.#count}`)
  }

  /** As soon as it is not needed: what was written stays no longer than it must. */
  drop(path: string): void {
    rmSync(path, { recursive: true, force: true })
  }

  close(): void {
    this.#remove()
    process.off('exit', this.#remove)
    process.off('SIGINT', this.#leave)
    process.off('SIGTERM', this.#leave)
  }
}
