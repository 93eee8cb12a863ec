/**
 * One of many processes that work until they are killed; it says how long it used a core.
 */
import type { OpenOptions } from '../../src/index.ts'
import { job, open, typed } from '../../src/index.ts'

export interface ToPresenceProcess {
  readonly location: string
  readonly options: OpenOptions
}

export const noop = job('noop', { input: typed<number>(), run: () => null })
/** Never ends, and its lease is not extended meanwhile. */
export const held = job('held', {
  input: typed<number>(),
  lease: '1h',
  run: () => new Promise<never>(() => undefined),
})

async function work({ location, options }: ToPresenceProcess): Promise<void> {
  const pawl = await open(location, options)
  pawl.work([noop, held])
  const before = process.cpuUsage()
  process.on('message', () => {
    const { user, system } = process.cpuUsage(before)
    process.send?.(user + system)
  })
  process.send?.('ready')
}

if (process.argv[2] === 'work') {
  process.once('message', (to) => void work(to as ToPresenceProcess))
}
