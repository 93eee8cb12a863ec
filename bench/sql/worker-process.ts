/**
 * One of many processes that work until nothing is left, with the defaults of a worker; it says how many
 * jobs it did.
 */
import { job, open, typed } from '../../src/index.ts'

export interface ToWorker {
  readonly location: string
  readonly schema: string | null
}

/** What a process says: that it is open, and then what it did. */
export type FromWorker =
  | { readonly is: 'open' }
  | { readonly is: 'done'; readonly done: number; readonly ms: number; readonly errors: number }

/** Nothing came for so long: nothing is left. */
const QUIET_MS = 3_000

export const shared = job('shared', { input: typed<number>(), run: () => null })

process.once('message', (message) => {
  void workAndTell(message as ToWorker)
})

async function workAndTell({ location, schema }: ToWorker): Promise<void> {
  let errors = 0
  const onError = (error: Error): void => {
    console.error(error)
    errors += 1
  }
  const pawl = await open(location, schema === null ? { onError } : { onError, schema })
  process.send?.({ is: 'open' } satisfies FromWorker)
  // All begin together.
  await new Promise((resolve) => void process.once('message', resolve))
  const started = performance.now()
  let done = 0
  let last = started
  const counted = {
    ...shared,
    run: () => {
      done += 1
      last = performance.now()
      return null
    },
  }
  pawl.work([counted])
  while (performance.now() - last < QUIET_MS) {
    await new Promise((resolve) => void setTimeout(resolve, QUIET_MS / 10))
  }
  process.send?.({ is: 'done', done, ms: last - started, errors } satisfies FromWorker)
  await pawl.close()
  process.disconnect()
}
