/**
 * The worker's port to randomness: names that were never used before.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'

/** Random letters of a name: enough for all workers there will ever be. */
const LETTERS = 12
/** So that the whole is a name that a store takes. */
const CALLED_CHARS = 200

/**
 * Requests are numbered from 1 by each worker, and the same worker and number get the same
 * leases. So a name must never come again, whatever people call their workers.
 */
export function newWorkerName(called: string = `${hostname()}-${process.pid}`): string {
  return `${called.slice(0, CALLED_CHARS)}-${randomUUID().replaceAll('-', '').slice(0, LETTERS)}`
}

/** Of a file that is being written: two writers must not share one. */
export function newFileName(): string {
  return randomUUID()
}
