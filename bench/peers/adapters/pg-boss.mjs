/**
 * pg-boss, fetching 500 at a time and at once again while there are more: polled every 0.5 s
 * (`poll`; that is the least, the default is 2) or woken by NOTIFY (`notify`).
 */
const WORK = {
  batchSize: 500,
  localConcurrency: 2,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 0.5,
}
const POOL = 20

export default {
  bulk: { size: 1000, inFlight: 2 },

  async setup(place) {
    const boss = await started(place)
    await boss.createQueue('bench', { notify: place.variant === 'notify' })
    await boss.stop({ graceful: false })
  },

  async open(place) {
    const boss = await started(place)
    return {
      enqueue: (data) => boss.send('bench', data),
      enqueueMany: (payloads) =>
        boss.insert(
          'bench',
          payloads.map((data) => ({ data })),
        ),
      async work(handler) {
        await boss.work('bench', WORK, async (jobs) => {
          await Promise.all(jobs.map((job) => handler(job.data)))
        })
      },
      async remaining() {
        const { rows } = await boss.getDb().executeSql(
          `select count(*)::int as open from pgboss.job
             where name = 'bench' and state < 'completed'`,
        )
        return rows[0].open
      },
    }
  },
}

async function started({ url, variant }) {
  const { PgBoss } = await import('pg-boss')
  const options = { connectionString: url, max: POOL, useListenNotify: variant === 'notify' }
  const boss = new PgBoss(options)
  boss.on('error', console.error)
  await boss.start()
  return boss
}
