/**
 * The process that is killed: it holds the engine, submits the orders as they come, and works.
 *
 * It remembers nothing. Whoever is started next submits every order again, under the same key,
 * and goes on. On its output are the entries of the log, each with its position.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Entry, Pawl } from '../../src/index.ts'
import { open } from '../../src/index.ts'
import type { Mode } from './charge.ts'
import { CHARGES } from './charge.ts'

export interface ShopPlan {
  readonly folder: string
  readonly mode: Mode
  readonly orders: number
  /** When the first order comes, and how long after it the last one. */
  readonly beginsAt: number
  readonly comeWithinMs: number
  /** What is known of the log already. */
  readonly from: number
}

const CONCURRENCY = 8

function say(line: unknown): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

async function tell(pawl: Pawl, from: number): Promise<void> {
  for await (const { position, entry } of pawl.watch({ from })) {
    const { type } = entry
    const job = 'job' in entry ? entry.job : null
    const lease = 'lease' in entry ? entry.lease : null
    say({ position, type, job, lease, isEnd: isEnd(entry) })
  }
}

/** Whether it is the entry by which a job succeeds. */
function isEnd(entry: Entry): boolean {
  if (entry.type === 'ExecutionCommitted') return entry.effects.length === 0
  return 'next' in entry && entry.next === 'COMPLETED'
}

/** Every order, when it is due: what came while nobody was there comes at once. */
async function takeOrders(pawl: Pawl, plan: ShopPlan): Promise<void> {
  const definition = CHARGES[plan.mode]
  const gapMs = plan.comeWithinMs / plan.orders
  const results: Promise<unknown>[] = []
  while (results.length < plan.orders) {
    const first = results.length
    const passedMs = Date.now() - plan.beginsAt
    const due = Math.min(plan.orders, 1 + Math.floor(passedMs / gapMs))
    const jobs = Array.from({ length: Math.max(0, due - first) }, (_, i) => {
      const order = `order-${first + i + 1}`
      return { input: { order, items: 1 + ((first + i) % 9) }, options: { key: order } }
    })
    const handles = await pawl.submitMany(definition, jobs)
    for (const handle of handles) results.push(handle.result())
    await wait(gapMs)
  }
  await Promise.all(results)
}

// It closes when whoever started it is gone.
process.stdin.resume().on('close', () => process.exit(1))

const plan = JSON.parse(process.argv[2] ?? '{}') as ShopPlan
const pawl = await open(plan.folder)
say({ type: 'opened' })
const telling = tell(pawl, plan.from)
pawl.work([CHARGES[plan.mode]], { concurrency: CONCURRENCY })
await takeOrders(pawl, plan)
await pawl.close()
await telling
process.exit(0)
