/**
 * The jobs of a refund desk: a refund that cools off, asks a person, reminds after a day and calls for a
 * receipt; and an agent that looks for an answer within a budget, and asks a person for more.
 *
 * A day is as long as the environment says (`DAY_MS`), so that a test sees a week pass in a second.
 */
import { appendFileSync } from 'node:fs'
import { effect, job, message, typed } from '../../src/index.ts'

export const DAY_MS = Number(process.env['DAY_MS'] ?? 86_400_000)
const LEDGER = process.env['LEDGER'] ?? 'ledger.txt'

/** What happens outside, once for each line. */
function note(line: string): void {
  appendFileSync(LEDGER, `${line}\n`)
}

export interface Decision {
  readonly ok: boolean
  readonly note: string
}

export const decision = message('decision', {
  input: typed<Decision>(),
  jsonSchema: {
    type: 'object',
    properties: { ok: { type: 'boolean' }, note: { type: 'string' } },
    required: ['ok', 'note'],
  },
})

export const remind = job('remind', {
  input: typed<string>(),
  lease: '1s',
  run: ({ input }) => note(`reminder: ${input}`),
})

export const makeReceipt = job('make-receipt', {
  input: typed<{ order: string; cents: number }>(),
  lease: '1s',
  run: ({ input }) => `receipt ${input.order}: ${input.cents} cents`,
})

export const transfer = effect('transfer', {
  input: typed<{ order: string; cents: number }>(),
  idempotent: true,
  run: ({ order, cents }, { key }) => note(`transfer ${cents} for ${order} (${key})`),
})

export const refund = job('refund', {
  input: typed<{ order: string; cents: number }>(),
  messages: [decision],
  effects: [transfer],
  lease: '1s',
  async run({ input, step, sleep, waitFor, any, call, commit }) {
    const { order, cents } = input
    const fee = await step('fee', () => Math.ceil(cents / 100))
    await sleep('cool-off', 3 * DAY_MS)
    const ask = {
      ask: `Refund ${cents} cents for order ${order}?`,
      for: ['finance'],
      notBySubmitter: true,
    }
    const first = await any({
      answer: waitFor(decision, ask),
      late: sleep('a-day', DAY_MS),
    })
    let answer = first.first === 'answer' ? first.value : null
    if (answer === null) {
      await call('reminder', remind, `order ${order} waits for finance`)
      answer = await waitFor(decision, { ...ask, name: 'reminded', timeout: 30 * DAY_MS })
    }
    if (answer === null || !answer.ok) return commit({ refunded: 0, receipt: null })
    const paid = cents - fee
    const receipt = await call('receipt', makeReceipt, { order, cents: paid })
    return commit({ refunded: paid, receipt }, [transfer({ order, cents: paid })])
  },
})

export interface Search {
  readonly question: string
  readonly turns: number
  readonly budget: number
}

/** Goes on for as long as it takes: its steps do not pile up, and what it costs is bounded by people. */
export const agent = job('agent', {
  input: typed<Search>(),
  messages: [decision],
  lease: '1s',
  async run({ input, step, emit, waitFor, continueWith }) {
    const { question, turns, budget } = input
    if (turns >= budget) {
      const more = await waitFor(decision, {
        ask: `The agent used ${turns} turns for '${question}'. Three more?`,
        for: ['finance'],
      })
      if (!more.ok) return { answer: null, turns }
      return continueWith({ ...input, budget: budget + 3 })
    }
    const thought = await step('think', async () => {
      await emit('thoughts', `${question} ${turns + 1}`)
      return turns + 1
    })
    return thought === 5 ? { answer: '42', turns: 5 } : continueWith({ ...input, turns: thought })
  },
})
