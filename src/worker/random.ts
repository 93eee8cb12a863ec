/**
 * The worker's port to randomness: names that no other worker has, or ever had.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'

/** Requests are numbered from 1 by each worker, so a name must never come again. */
export function newWorkerName(): string {
  return `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`
}
