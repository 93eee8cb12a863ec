/**
 * DBOS Transact: a job is a workflow without steps, started by a queue that is polled every 50 ms
 * (default 1,000) and has no limit of concurrency. It has no bulk call.
 */
const QUEUE = { minPollingIntervalMs: 50 }
const POOL = 20
const quiet = { debug() {}, info() {}, warn() {}, error: console.error }

export default {
  async setup({ url }) {
    const DBOS = await launched(url, async () => undefined)
    await DBOS.shutdown()
  },

  async open({ url }) {
    const { DBOSClient } = await import('@dbos-inc/dbos-sdk')
    const { Pool } = await import('pg')
    const pool = new Pool({ connectionString: url, max: 2 })
    const client = await DBOSClient.create({
      systemDatabaseUrl: url,
      systemDatabasePoolSize: POOL,
      applicationName: 'bench',
      logger: quiet,
    })
    const workflow = { queueName: 'bench', workflowName: 'bench' }
    return {
      enqueue: (data) => client.enqueue(workflow, data),
      async work(handler) {
        await launched(url, handler)
      },
      async remaining() {
        const { rows } = await pool.query(
          `select count(*)::int as open from dbos.workflow_status
           where status in ('ENQUEUED', 'PENDING')`,
        )
        return rows[0].open
      },
    }
  },
}

async function launched(url, handler) {
  const { DBOS } = await import('@dbos-inc/dbos-sdk')
  DBOS.setConfig({
    name: 'bench',
    systemDatabaseUrl: url,
    systemDatabasePoolSize: POOL,
    logger: quiet,
    applicationVersion: 'bench-1',
  })
  DBOS.registerWorkflow((data) => handler(data), { name: 'bench' })
  await DBOS.launch()
  await DBOS.registerQueue('bench', QUEUE)
  return DBOS
}
