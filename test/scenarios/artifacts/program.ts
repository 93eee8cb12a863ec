/**
 * A program that works on a directory until it is killed. Its one argument is the directory.
 */
import { open } from '../../../src/index.ts'
import { large } from './jobs.ts'

const pawl = await open(process.argv[2] ?? '')
pawl.work([large], { signals: [] })
await pawl.submit(large, undefined, { id: 'large' })
// A handler that waits for ever keeps no process alive.
setInterval(() => undefined, 1_000)
