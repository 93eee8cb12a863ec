/**
 * A process on a store that others use, too: its task is its one argument.
 *
 * - a client submits as many jobs as it is told, says `submitted`, and stays.
 * - a worker says `ready`, and works until it is killed.
 */
import { open } from '../../../src/index.ts'
import type { SharedPlace } from '../shared/places.ts'
import { brief } from './jobs.ts'

export interface FiguresTask extends SharedPlace {
  /** Null: it is a worker. */
  readonly submits: number | null
}

const { location, options, submits } = JSON.parse(process.argv[2] ?? '') as FiguresTask
const pawl = await open(location, options)
if (submits === null) {
  pawl.work([brief])
  console.log('ready')
} else {
  const inputs = Array.from({ length: submits }, (_, input) => ({ input }))
  await pawl.submitMany(brief, inputs)
  console.log('submitted')
}
// It ends only when it is killed.
setInterval(() => undefined, 1_000_000)
