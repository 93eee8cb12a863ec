/**
 * graphile-worker, with the concurrency of its own page on performance: each job on its own
 * (`plain`, its default) or fetched and finished many at a time (`batched`).
 */
const CONCURRENCY = 24
const POOL = 25
const BATCHING = {
  plain: {},
  batched: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
}

export default {
  bulk: { size: 1000, inFlight: 2 },

  async setup({ url }) {
    const { runMigrations, Logger } = await import('graphile-worker')
    await runMigrations({ connectionString: url, logger: errorsOf(Logger) })
  },

  async open({ url, variant }) {
    const { makeWorkerUtils, run, Logger } = await import('graphile-worker')
    const { Pool } = await import('pg')
    const pool = new Pool({ connectionString: url, max: POOL })
    pool.on('error', console.error)
    const logger = errorsOf(Logger)
    const client = await makeWorkerUtils({ pgPool: pool, logger })
    return {
      enqueue: (data) => client.addJob('bench', data),
      enqueueMany: (payloads) =>
        client.addJobs(payloads.map((payload) => ({ identifier: 'bench', payload }))),
      async work(handler) {
        const size = { concurrentJobs: CONCURRENCY, maxPoolSize: POOL }
        await run({
          preset: { worker: { connectionString: url, ...size, ...BATCHING[variant] } },
          logger,
          noHandleSignals: true,
          taskList: { bench: (data) => handler(data) },
        })
      },
      async remaining() {
        const sql = 'select count(*)::int as open from graphile_worker._private_jobs'
        const { rows } = await pool.query(sql)
        return rows[0].open
      },
    }
  },
}

function errorsOf(Logger) {
  return new Logger(() => (level, message) => {
    if (level === 'error') console.error(message)
  })
}
