/**
 * The engine's port to randomness: ids of jobs.
 */
import { randomUUID } from 'node:crypto'

export function newJobId(): string {
  return randomUUID()
}
