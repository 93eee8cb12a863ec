/**
 * A desk beside the documents: refunds that wait for people. The page shows what they ask, and its reader may answer. What
 * no reader answered after a while, the desk's own people do, so that it does not pile up.
 *
 * What is paid stands in a ledger, a line for each transfer. In the end it is held against the log.
 */
import { appendFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import type { InboxItem, Pawl } from '../../src/index.ts'
import { effect, job, message, typed } from '../../src/index.ts'

export interface RefundRequest {
  readonly order: string
  readonly cents: number
  readonly why: string
}

/** As it is handed in: the customer is the one who submits it. */
export interface ArrivingRefund {
  readonly id: string
  readonly customer: string
  readonly request: RefundRequest
}

export interface Decision {
  readonly pay: boolean
  readonly cents?: number
  readonly cause: string
  readonly note?: string
}

/** From here on two people decide. */
const LARGE_CENTS = 20_000
/** So long a reader of the page has, before the desk's own people answer. */
const PATIENCE_MS = 45_000
const LOOK_EVERY_MS = 1_000
export const PEOPLE = ['grace', 'edsger'] as const
const CAUSES = ['arrived late', 'arrived broken', 'not what was ordered', 'something else']

const decision = message('decision', {
  input: typed<Decision>(),
  jsonSchema: {
    type: 'object',
    properties: {
      pay: { type: 'boolean', title: 'Pay it back' },
      cents: {
        type: 'integer',
        title: 'Cents',
        description: 'If it is not all of it.',
        minimum: 1,
        maximum: 1_000_000,
      },
      cause: { enum: CAUSES, title: 'Cause' },
      note: { type: 'string', title: 'Note to the customer', maxLength: 500 },
    },
    required: ['pay', 'cause'],
  },
})

const transfer = effect('transfer', {
  input: typed<{ refund: string; cents: number }>(),
  // One that was cut off runs again, under the same key: a bank would know it.
  idempotent: true,
  run: ({ refund: id, cents }, { key }) =>
    appendFileSync(
      process.env['LEDGER'] ?? 'ledger.txt',
      `${JSON.stringify({ id, cents, key })}\n`,
    ),
})

export const refund = job('refund', {
  input: typed<RefundRequest>(),
  messages: [decision],
  effects: [transfer],
  queue: 'desk',
  lease: '5s',
  async run({ input, job: { id }, waitFor, commit }) {
    const { order, cents, why } = input
    const euros = (cents / 100).toFixed(2)
    const ask = `Pay back ${euros} € for order ${order}? "${why}"`
    const terms = { notBySubmitter: true, timeout: 900_000 } as const
    const answers =
      cents < LARGE_CENTS
        ? [await waitFor(decision, { ask, for: ['support'], ...terms })]
        : ((await waitFor(decision, { ask, for: ['finance'], quorum: 2, ...terms })) ?? [null])
    if (!answers.every((one) => one?.pay === true)) return commit({ paid: 0 })
    const paid = Math.min(cents, ...answers.map((one) => one?.cents ?? cents))
    return commit({ paid }, [transfer({ refund: id, cents: paid })])
  },
})

/** Gives what closes it: what waits for people then goes on waiting. */
export function openDesk(pawl: Pawl): () => Promise<void> {
  const worker = pawl.work([refund], { concurrency: 4, name: 'desk' })
  const ended = new AbortController()
  const answering = answerOldQuestions(pawl, ended.signal)
  return async () => {
    ended.abort()
    await answering
    await worker.stop()
  }
}

/** Answers what has waited for too long, until it is told to end. */
async function answerOldQuestions(pawl: Pawl, ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    const { questions } = await pawl.inbox({ type: refund.name })
    const old = questions.filter(({ since }) => Date.now() - since.getTime() > PATIENCE_MS)
    for (const one of old) await answerAs(pawl, one)
    await wait(LOOK_EVERY_MS, undefined, { signal: ended }).catch(() => undefined)
  }
}

async function answerAs(pawl: Pawl, question: InboxItem): Promise<void> {
  // Each of them decides by the number of the refund: every third one is not paid.
  const pay = Number(/\d+$/.exec(question.job)?.[0]) % 3 !== 0
  const by = PEOPLE[question.answers % PEOPLE.length] as string
  const value: Decision = { pay, cause: CAUSES[0] as string }
  try {
    await pawl.answer(question, value, { by, reason: 'It waited for long enough.' })
  } catch (error) {
    // A reader of the page was quicker.
    if ((error as { kind?: unknown }).kind !== 'rejected') throw error
  }
}
