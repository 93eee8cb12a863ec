/**
 * BullMQ, on Redis (`redis`) or on PostgreSQL (`postgres`). Finished jobs are removed.
 *
 * Of 8, 16 and 32, a concurrency of 8 was the quickest on PostgreSQL; on Redis 100 was, of 32, 100
 * and 300.
 */
const CONCURRENCY = { redis: 100, postgres: 8 }

export default {
  bulk: { size: 1000, inFlight: 2 },

  async setup({ variant, url }) {
    if (variant !== 'postgres') return
    const { Client } = await import('pg')
    const { runMigrations } = await import('bullmq')
    const client = new Client(url)
    await client.connect()
    await runMigrations(client)
    await client.end()
  },

  async open({ variant, url }) {
    const { Queue, Worker, createPostgresBackend } = await import('bullmq')
    const isPostgres = variant === 'postgres'
    const connection = isPostgres
      ? { connectionString: url, max: 16 }
      : { host: '127.0.0.1', port: Number(new URL(url).port) }
    const backend = isPostgres ? [createPostgresBackend] : []
    const defaultJobOptions = { removeOnComplete: true }
    const queue = new Queue('bench', { connection, defaultJobOptions }, ...backend)
    queue.on('error', console.error)
    await queue.waitUntilReady()
    return {
      enqueue: (data) => queue.add('bench', data),
      enqueueMany: (payloads) => queue.addBulk(payloads.map((data) => ({ name: 'bench', data }))),
      async work(handler) {
        const patient = isPostgres ? connection : { ...connection, maxRetriesPerRequest: null }
        const options = { connection: patient, concurrency: CONCURRENCY[variant] }
        const worker = new Worker('bench', (job) => handler(job.data), options, ...backend)
        worker.on('error', console.error)
        await worker.waitUntilReady()
      },
      async remaining() {
        const open = ['waiting', 'active', 'delayed', 'prioritized', 'paused']
        const counts = await queue.getJobCounts(...open)
        return Object.values(counts).reduce((sum, count) => sum + count, 0)
      },
    }
  },
}
