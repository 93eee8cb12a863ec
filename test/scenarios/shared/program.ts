/**
 * A process on a database that others use, too: its task is its one argument.
 *
 * - a worker says `ready`, and works until it is killed. It never looks for work by itself.
 * - a client waits for the result of a job, says it, and does nothing more: it closes nothing.
 */
import { open } from '../../../src/index.ts'
import { spread, stuck, where } from './jobs.ts'
import type { SharedPlace } from './places.ts'

export interface ProgramTask extends SharedPlace {
  /** Null: it is a worker. */
  readonly waitsFor: string | null
}

const { location, options, waitsFor } = JSON.parse(process.argv[2] ?? '') as ProgramTask
const pawl = await open(location, options)
if (waitsFor === null) {
  pawl.work([where, stuck, spread], { poll: '1h', concurrency: 2 })
  console.log('ready')
} else {
  console.log(await pawl.handle(waitsFor).result())
}
