/**
 * plainjob on better-sqlite3: as it comes, with no sync for a commit (`normal`), and with one
 * (`full`). It runs one job at a time, and is polled every 10 ms (default 1,000).
 */
import { join } from 'node:path'

const WAITING = 0
const RUNNING = 1
const quiet = { debug() {}, info() {}, warn() {}, error: console.error }

export default {
  bulk: { size: 1000, inFlight: 1 },

  async setup() {
    // The file is made when it is opened.
  },

  async open({ folder, variant }) {
    const { default: Database } = await import('better-sqlite3')
    const { better, defineQueue, defineWorker } = await import('plainjob')
    const database = new Database(join(folder, 'plainjob.db'))
    const queue = defineQueue({ connection: better(database), logger: quiet })
    if (variant === 'full') database.pragma('synchronous = FULL')
    const countOf = (status) => queue.countJobs({ type: 'bench', status })
    return {
      enqueue: async (data) => queue.add('bench', data),
      enqueueMany: async (payloads) => queue.addMany('bench', payloads),
      async work(handler) {
        const run = (job) => handler(JSON.parse(job.data))
        // Its own spelling.
        const options = { queue, logger: quiet, pollIntervall: 10 }
        void defineWorker('bench', run, options).start()
      },
      remaining: async () => countOf(WAITING) + countOf(RUNNING),
    }
  },
}
