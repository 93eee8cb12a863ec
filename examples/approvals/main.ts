/**
 * A refund desk for a week, while its workers are killed every now and then: `npm run` has nothing for it, start it
 * with `DAY_MS=300 node scripts/run.mjs examples/approvals/main.ts`. It leaves `desk.db` and the ledger of what was
 * done where it is run.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { open } from '../../src/index.ts'
import { agent, refund } from './jobs.ts'

const FILE = 'desk.db'
const pawl = await open(`sqlite:${FILE}`)

/** As this process was started. */
async function startWorker(): Promise<() => Promise<void>> {
  const program = fileURLToPath(new URL('./worker.ts', import.meta.url))
  const child = spawn(process.execPath, [...process.execArgv, program, FILE], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  return async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
}

/** Answers what this job asks, once it does; `name`: only this question. */
async function answer(job: string, ok: boolean, by: string, name?: string): Promise<void> {
  for (;;) {
    const { questions: asked } = await pawl.inbox({ for: 'finance', job })
    const item = asked.find((one) => name === undefined || one.name === name)
    try {
      if (item !== undefined) return await pawl.answer(item, { ok, note: by }, { by })
    } catch (error) {
      // Its day passed in this very moment: it asks again.
      if (!/not asked/.test((error as Error).message)) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

let kill = await startWorker()
let kills = 0
async function killWorker(): Promise<void> {
  await kill()
  kills += 1
  kill = await startWorker()
}

const by = { by: 'bob' }
const quick = await pawl.submit(refund, { order: 'a-1', cents: 1_200 }, { id: 'a-1', ...by })
const slow = await pawl.submit(refund, { order: 'a-2', cents: 500 }, { id: 'a-2', ...by })
const refused = await pawl.submit(refund, { order: 'a-3', cents: 900 }, { id: 'a-3', ...by })
const search = await pawl.submit(
  agent,
  { question: 'why', turns: 0, budget: 2 },
  { id: 'search', ...by },
)
await killWorker()

// The one who submitted it may not approve it.
console.log(await answer('a-1', true, 'bob').catch((error: unknown) => (error as Error).message))
await answer('a-1', true, 'ada')
await answer('a-3', false, 'ada')
await killWorker()
// Its day passed without an answer: it was reminded, and asks again.
await answer('a-2', true, 'eve', 'reminded')
await killWorker()
await answer('search', true, 'ada')

for (const handle of [quick, slow, refused, search]) {
  console.log(`${handle.id}: ${JSON.stringify(await handle.result())}`)
}
// A worker that was killed in the middle of a thought has said it, and the next one says it again.
const thoughts = new Set<unknown>()
for await (const { value } of search.stream('thoughts')) thoughts.add(value)
console.log(`thoughts: ${[...thoughts].join(', ')}`)
const { jobs: receipts } = await pawl.list({ type: 'make-receipt' })
console.log(`receipts: ${receipts.length}, kills: ${kills}`)
await kill()
await pawl.close()
