/** A job that comes and goes. */
import { job, typed } from '../../../src/index.ts'

export const brief = job('brief', { input: typed<number>(), run: () => null })
