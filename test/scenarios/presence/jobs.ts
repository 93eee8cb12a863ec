/**
 * Jobs for processes that are killed, stopped or cut off: they say when they begin, and where they ran.
 * Their leases are as long as those of any job that says nothing.
 */
import { effect, job, typed } from '../../../src/index.ts'

const never = (): Promise<never> => new Promise<never>(() => undefined)

/** The first attempt never comes to its end. */
export const hanging = job('hanging', {
  run: async ({ job: { attempt } }) => {
    console.log(`begun hanging ${attempt}`)
    if (attempt === 1) await never()
    return process.pid
  },
})

/** The same with a short lease, and the first attempt ends when it is too late. */
export const late = job('late', {
  lease: '400ms',
  retry: { max: 3, delay: 0 },
  run: async ({ job: { attempt } }) => {
    console.log(`begun late ${attempt}`)
    if (attempt === 1) await new Promise((resolve) => setTimeout(resolve, 300))
    return attempt
  },
})

/** Kills its process as soon as it runs. */
export const poison = job('poison', {
  run: () => {
    console.log('begun poison')
    process.kill(process.pid, 'SIGKILL')
    return never()
  },
})

/** The same, after others have begun beside it. */
export const slowPoison = job('slow-poison', {
  run: () => {
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 2_500)
    return never()
  },
})

/** Takes a moment. */
export const neighbour = job('neighbour', {
  run: async () => {
    await new Promise((resolve) => setTimeout(resolve, 100))
    return process.pid
  },
})

/** Takes longer than a worker waits before it begins another job that was lost twice. */
export const longNeighbour = job('long-neighbour', {
  run: async () => {
    await new Promise((resolve) => setTimeout(resolve, 3_500))
    return process.pid
  },
})

const wire = effect('wire', {
  input: typed<number>(),
  run: () => {
    console.log('begun wire')
    return never()
  },
})

/** Its effect may be run once only, and never comes to its end. */
export const paying = job('paying', {
  effects: [wire],
  run: ({ commit }) => commit(1, [wire(1)]),
})

export const ALL = [hanging, late, poison, slowPoison, neighbour, longNeighbour, paying]
