/**
 * Jobs for a program that is told to end while it works.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { job } from '../../../src/definition/index.ts'

/** Goes on when somebody says so on the standard input of its program. */
export const waiting = job('waiting', {
  run: async ({ step }) => {
    await step('begun', () => true)
    await new Promise<void>((resolve) => {
      process.stdin.once('data', () => resolve())
    })
    return 'done'
  },
})

/** For a child, which has no standard input. */
export const brief = job('brief', {
  run: async ({ step }) => {
    await step('begun', () => true)
    await pause(500)
    return 'done'
  },
})

/** The first attempt goes on for ever. */
export const endless = job('endless', {
  retry: { max: 0 },
  run: async ({ job: { attempt }, step }) => {
    await step(`begun-${attempt}`, () => true)
    if (attempt === 1) await new Promise<never>(() => undefined)
    return attempt
  },
})
