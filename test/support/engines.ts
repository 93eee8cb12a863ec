/**
 * Engines to test with: the same tests for each place that jobs can be kept in.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { OpenOptions, Pawl } from '../../src/index.ts'
import { open } from '../../src/index.ts'

export type OpenEngine = (options?: OpenOptions) => Promise<Pawl>

/** Closed, and its files removed, when the test is over. */
async function opened(location: string, options: OpenOptions): Promise<Pawl> {
  const pawl = await open(location, options)
  onTestFinished(() => pawl.close())
  return pawl
}

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

export const ENGINES: readonly [name: string, open: OpenEngine][] = [
  ['in memory', (options = {}) => opened('memory:', options)],
  ['on a directory', async (options = {}) => opened(await temporaryFolder(), options)],
]

/** A promise that is settled from outside. */
export function deferred<T = void>(): {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
} {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}
