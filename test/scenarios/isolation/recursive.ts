/**
 * What must not be given as a module: it starts a worker of its own when it is imported.
 */
import { job, open } from '../../../src/index.ts'

export const recursive = job('recursive', { retry: { max: 0 }, run: () => 1 })

const pawl = await open('memory:')
pawl.work([recursive], { isolation: 'thread', modules: [import.meta.url] })
