/**
 * The process whose plug is pulled: it submits jobs to a store in a directory, works on them,
 * and says on its output what was acknowledged, and only that.
 */
import type { JobSpec } from '../../src/kernel/index.ts'
import { DEFAULT_RETRY } from '../../src/kernel/index.ts'
import { openDirectory } from '../../src/store/index.ts'

const [, , folder = './data', life = '1'] = process.argv
const AT_ONCE = 8
const channels = [{ queue: 'default', type: 'greeting', stage: null }]

function greeting(name: string): JobSpec {
  return {
    type: 'greeting',
    version: 1,
    input: JSON.stringify({ name }),
    priority: 0,
    delayMs: 0,
    dueAt: null,
    startWithinMs: null,
    deadlineMs: null,
    deadlineAt: null,
    key: null,
    unique: false,
    held: false,
    group: null,
    tags: [],
    parent: null,
    schedule: null,
    rerunOf: null,
    asked: null,
    submittedBy: null,
    metadata: null,
    caller: null,
    steps: [],
    retainMs: null,
    policy: {
      queue: 'default',
      leaseMs: 30_000,
      timeoutMs: null,
      retry: DEFAULT_RETRY,
      quarantine: 'always',
      limits: [],
    },
    stages: null,
  }
}

/** AFTER the answer came, and not before. */
function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

const store = await openDirectory(folder, {
  segmentBytes: 256 * 1_024,
  checkpointBytes: 64 * 1_024,
})
say(`opened ${store.opening.entries}`)

async function work(caller: number): Promise<never> {
  for (let count = 0; ; count++) {
    const job = `${life}-${caller}-${count}`
    const [submitted] = await store.execute([
      { type: 'SubmitJob', job, spec: greeting(`number ${count}`) },
    ])
    if (submitted?.verdict === 'committed') say(`submitted ${job}`)
    const worker = `worker ${life}-${caller}`
    const leases = await store.claim({ worker, request: count, channels, max: 1, started: true })
    for (const { job: id, stage, segment, lease, input } of leases) {
      const { name } = JSON.parse(input ?? 'null') as { name: string }
      const output = JSON.stringify(`Hello, ${name}!`)
      const report = { job: id, stage, segment, lease, worker }
      const [done] = await store.execute([
        { type: 'CommitExecution', ...report, output, effects: [] },
      ])
      if (done?.verdict === 'committed') say(`finished ${id}`)
    }
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, (_, caller) => work(caller)))
