/** Arbitrary waits and messages. More than `apply` would make. */
import * as fc from 'fast-check'
import type { KeptMessage, Message, PendingWait, Wait, Waiting } from '../../src/kernel/index.ts'
import { anyCount, anyFlag, anySpec, anyText, anyTime, orNull } from './arbitrary-specs.ts'

const PLAIN = { noNullPrototype: true } as const

const pending = {
  name: anyText,
  message: orNull(anyText),
  schema: orNull(anyText),
  ask: orNull(anyText),
  until: orNull(anyTime),
  callee: orNull(anySpec),
}

export const anyPendingWait: fc.Arbitrary<PendingWait> = fc.record<PendingWait>(pending, PLAIN)

const sent = {
  id: anyText,
  name: anyText,
  value: anyText,
  at: anyTime,
  by: anyText,
  reason: anyText,
}

export const anyKeptMessage: fc.Arbitrary<KeptMessage> = fc.record<KeptMessage>(
  { stage: anyCount, segment: anyCount, ...sent },
  PLAIN,
)

/** An end has a time and a cause, or neither. */
const anyWait: fc.Arbitrary<Wait> = fc
  .record<Wait>(
    {
      ...pending,
      since: anyTime,
      lease: anyCount,
      suspends: anyFlag,
      endedAt: orNull(anyTime),
      endedBy: fc.constantFrom('time', 'message', 'callee'),
      value: orNull(anyText),
    },
    PLAIN,
  )
  .map((wait) => {
    if (wait.endedAt === null) wait.endedBy = null
    return wait
  })

/** Only what is kept has a value. */
const anyMessage: fc.Arbitrary<Message> = fc
  .record<Message>({ ...sent, state: fc.constantFrom('KEPT', 'TAKEN', 'SKIPPED') }, PLAIN)
  .map((message) => {
    if (message.state !== 'KEPT') message.value = null
    return message
  })

export const anyWaiting: fc.Arbitrary<Waiting> = fc.record<Waiting>(
  {
    suspended: orNull(fc.constantFrom('any', 'all')),
    firstDueAt: orNull(anyTime),
    waits: fc.array(anyWait, { maxLength: 3 }),
    messages: fc.array(anyMessage, { maxLength: 3 }),
  },
  PLAIN,
)
