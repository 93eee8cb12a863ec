/**
 * Pawl as a queue to measure, by nothing but its public API, so that a build whose inside looks
 * different can stand beside another. Every answer is synced, the history is kept, and all options
 * are the defaults.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as PublicApi from '../../src/index.ts'
import type { Adapter, Payload, Place, Queue } from './queue.ts'

const adapter: Adapter = {
  bulk: { size: 1_000, inFlight: 2 },

  async setup(place) {
    const { open } = await load(place)
    const pawl = await open(locationOf(place))
    await pawl.close()
  },

  async open(place): Promise<Queue> {
    const { job, open, typed } = await load(place)
    let handler: ((payload: Payload) => Promise<void>) | null = null
    const bench = job('bench', {
      input: typed<Payload>(),
      run: async ({ input }) => {
        await handler?.(input)
        return null
      },
    })
    const pawl = await open(locationOf(place))
    return {
      enqueue: (input) => pawl.submit(bench, input),
      enqueueMany: (payloads) =>
        pawl.submitMany(
          bench,
          payloads.map((input) => ({ input })),
        ),
      async work(given) {
        handler = given
        pawl.work([bench])
      },
      async remaining() {
        const { running, ready } = await pawl.queue('default')
        return running + ready
      },
      close: () => pawl.close(),
    }
  },
}

export default adapter

function load({ entry }: Place): Promise<typeof PublicApi> {
  if (entry === undefined) throw new Error('Pawl needs the build that is to be loaded.')
  return import(pathToFileURL(entry).href) as Promise<typeof PublicApi>
}

function locationOf({ variant, folder, url }: Place): string {
  if (variant === 'postgres' || variant === 'http') return url
  return variant === 'sqlite' ? `sqlite:${join(folder, 'pawl.db')}` : join(folder, 'pawl')
}
