/** A process with a worker, which may be killed at any time: `worker.ts jobs.db`. */
import { open } from '../../src/index.ts'
import { agent, makeReceipt, refund, remind } from './jobs.ts'

const pawl = await open(`sqlite:${process.argv[2] ?? 'desk.db'}`)
pawl.work([refund, remind, makeReceipt, agent], { poll: '50ms' })
console.log('ready')
