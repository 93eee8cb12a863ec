/**
 * What a person asks of a worker in whatever process: to take nothing more, or to take jobs again. It goes as text, which may
 * be older, newer or from a stranger: what cannot be read asks nothing.
 */
import type { Worker } from '../../worker/index.ts'
import type { Actor } from '../actor.ts'

export interface WorkerRequest extends Required<Actor> {
  readonly isDraining: boolean
  /** The authority's time. */
  readonly at: number
}

/** Null: it cannot be read. */
export function requestIn(text: string): WorkerRequest | null {
  let read: Partial<WorkerRequest> | null
  try {
    read = JSON.parse(text) as Partial<WorkerRequest> | null
  } catch {
    return null
  }
  const { isDraining, at, by, reason } = read ?? {}
  if (typeof isDraining !== 'boolean' || typeof at !== 'number') return null
  if (typeof by !== 'string' || typeof reason !== 'string') return null
  return { isDraining, at, by, reason }
}

export function follow(worker: Worker, { isDraining, ...asked }: WorkerRequest): void {
  if (isDraining) worker.drain(asked)
  else worker.resume()
}
