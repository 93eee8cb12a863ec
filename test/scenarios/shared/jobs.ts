/**
 * Jobs for processes that share a database: they say where they ran.
 */
import { job, pipeline, typed } from '../../../src/index.ts'

export const where = job('where', { run: () => process.pid })

/** The first attempt never comes to its end. */
export const stuck = job('stuck', {
  lease: '400ms',
  run: async ({ job: { attempt }, step }) => {
    await step(`begun-${attempt}`, () => process.pid)
    if (attempt === 1) await new Promise<never>(() => undefined)
    return process.pid
  },
})

/** Each segment takes a moment, so that several processes get some. */
export const spread = pipeline('spread', { input: typed<number>() })
  .stage('split', { run: ({ input }) => Array.from({ length: input }, (_, i) => i) })
  .stage('each', {
    after: 'split',
    each: 'split',
    run: async () => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      return process.pid
    },
  })
  .stage('join', { after: 'each', run: ({ outputs }) => outputs.each.toArray() })
