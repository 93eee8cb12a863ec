/**
 * bunqueue, embedded in a process of Bun, on one SQLite file: written within 10 ms (`buffered`, its
 * default) or before the answer (`durable`). Its own benchmark has a concurrency of 50.
 */
import { join } from 'node:path'

const CONCURRENCY = 50

export default {
  bulk: { size: 1000, inFlight: 1 },

  async setup() {
    // The file is made when it is opened.
  },

  async open({ folder, variant }) {
    const { Queue, Worker } = await import('bunqueue/client')
    const where = { embedded: true, dataPath: join(folder, 'bunqueue.db') }
    const queue = new Queue('bench', where)
    const opts = { removeOnComplete: true, ...(variant === 'durable' ? { durable: true } : {}) }
    return {
      enqueue: (data) => queue.add('bench', data, opts),
      enqueueMany: (payloads) =>
        queue.addBulk(payloads.map((data) => ({ name: 'bench', data, opts }))),
      async work(handler) {
        const options = { ...where, concurrency: CONCURRENCY }
        const worker = new Worker('bench', (job) => handler(job.data), options)
        worker.on('error', console.error)
      },
      async remaining() {
        const counts = await queue.getJobCountsAsync()
        return counts.waiting + counts.active + counts.delayed + counts.prioritized
      },
      close: async () => queue.close?.(),
    }
  },
}
