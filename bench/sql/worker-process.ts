/**
 * One of many processes that claim and commit until nothing is left; it says how many it did.
 */
import { StoreLoad } from './load.ts'
import { openAt } from './open-at.ts'

export interface ToWorker {
  readonly location: string
  readonly schema: string | null
}

export interface FromWorker {
  readonly done: number
  readonly ms: number
  readonly errors: number
}

const AT_ONCE = 10

process.once('message', (message) => {
  void workAndTell(message as ToWorker)
})

async function workAndTell(to: ToWorker): Promise<void> {
  process.send?.(await work(to))
  process.disconnect()
}

async function work({ location, schema }: ToWorker): Promise<FromWorker> {
  const store = await openAt(location, schema ?? undefined)
  const load = new StoreLoad(store)
  const started = performance.now()
  let done = 0
  let errors = 0
  for (;;) {
    try {
      const count = await load.run(AT_ONCE)
      if (count === 0) break
      done += count
    } catch (error) {
      console.error(error)
      errors += 1
      if (errors > 100) break
    }
  }
  const ms = performance.now() - started
  await store.close()
  return { done, ms, errors }
}
