/**
 * The process that is killed: it holds the engine, submits the orders as they come, and works.
 *
 * It remembers nothing. Whoever is started next submits every order again, under the same key,
 * and goes on. On its output are the entries of the log, each with its position.
 */
import { createInterface } from 'node:readline'
import type { Entry, Pawl } from '../../src/index.ts'
import { open } from '../../src/index.ts'
import { charge as reconciled } from './charge-reconciled.ts'
import { charge as withoutBoundary } from './charge-without-boundary.ts'
import { charge } from './charge.ts'
import type { Mode } from './options.ts'

export interface ShopPlan {
  readonly folder: string
  readonly mode: Mode
  /** Whether handlers and effects run in processes of their own. */
  readonly isIsolated: boolean
  /** In the end. How many have come so far is told on its input, in lines. */
  readonly orders: number
  /** What is known of the log already. */
  readonly from: number
}

/** At once. A process of its own costs more than a turn of the event loop. */
const CONCURRENCY = { isolated: 2, together: 8 }

/** Children import the module, so each way to charge has its own. */
const CHARGES = {
  recognised: { definition: charge, module: './charge.ts' },
  reconciled: { definition: reconciled, module: './charge-reconciled.ts' },
  'without-boundary': { definition: withoutBoundary, module: './charge-without-boundary.ts' },
} as const

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

/** Every order, once it is known how many have come; resolved when all are through. */
function takeOrders(pawl: Pawl, { mode, orders }: ShopPlan): Promise<unknown> {
  const { definition } = CHARGES[mode]
  const results: Promise<unknown>[] = []
  return new Promise((resolve, reject) => {
    let submitting = Promise.resolve()
    const submit = async (come: number): Promise<void> => {
      const first = results.length
      const jobs = Array.from({ length: come - first }, (_, i) => {
        const order = `order-${first + i + 1}`
        return { input: { order, items: 1 + ((first + i) % 9) }, options: { key: order } }
      })
      const handles = await pawl.submitMany(definition, jobs)
      results.push(...handles.map((handle) => handle.result()))
      if (results.length === orders) resolve(Promise.all(results))
    }
    const input = createInterface({ input: process.stdin })
    input.on('line', (line) => {
      submitting = submitting.then(() => submit(Number(line))).catch(reject)
    })
    // Whoever started it is gone.
    input.on('close', () => process.exit(1))
  })
}

function work(pawl: Pawl, { mode, isIsolated }: ShopPlan): void {
  const { definition, module } = CHARGES[mode]
  if (!isIsolated) {
    pawl.work([definition], { concurrency: CONCURRENCY.together })
    return
  }
  const modules = [new URL(module, import.meta.url)]
  pawl.work([definition], { concurrency: CONCURRENCY.isolated, isolation: 'process', modules })
}

// Nobody is there to be told.
process.stdout.on('error', () => process.exit(1))

const plan = JSON.parse(process.argv[2] ?? '{}') as ShopPlan
const pawl = await open(plan.folder)
say({ type: 'opened' })
const telling = tell(pawl, plan.from)
work(pawl, plan)
await takeOrders(pawl, plan)
await pawl.close()
await telling
process.exit(0)
