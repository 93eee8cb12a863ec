/**
 * A job that waits for a message and for another job, for processes that are killed meanwhile.
 */
import { job, message, typed } from '../../../src/index.ts'

/** Short: what a dead process held is free soon. */
const lease = 400

export const approval = message('approval', { input: typed<number>() })

export const double = job('double', {
  lease,
  input: typed<number>(),
  run: ({ input }) => input * 2,
})

export const refund = job('refund', {
  lease,
  messages: [approval],
  retry: { max: 9, delay: 0 },
  run: async ({ step, waitFor, call, emit }) => {
    const first = await step('first', () => 1)
    void emit('log', 'begun')
    const approved = await waitFor(approval)
    const doubled = await call('double', double, approved)
    return [first, approved, doubled]
  },
})
