/**
 * What a handler reads of its job while it runs: the input, and what earlier stages put out.
 *
 * A job that is gone has lost its lease, too. Whoever reads then is told so: what is not there any
 * more must not be taken for a stage that put out nothing.
 */
import type { Payload } from '../../kernel/index.ts'
import type { OutputsPage, Store } from '../../store/index.ts'
import { Aborted } from '../handler/aborted.ts'

/** Outputs that are read at once. */
const PAGE = 256

export async function readInput(store: Store, job: string): Promise<Payload> {
  return found(job, await store.query({ kind: 'input', job }))
}

export async function readOutputs(
  store: Store,
  job: string,
  stage: number,
  after: number,
): Promise<OutputsPage> {
  return found(job, await store.query({ kind: 'outputs', job, stage, after, limit: PAGE }))
}

function found<T>(job: string, answer: T | null): T {
  if (answer === null) throw new Aborted(job, 'lease-lost')
  return answer
}
