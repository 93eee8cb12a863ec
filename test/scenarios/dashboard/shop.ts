/**
 * Jobs of every kind, for pages that show them: some in each state, a pipeline, a question, a schedule, queues, and one whose
 * texts are meant to do harm.
 */
import type { Pawl } from '../../../src/index.ts'
import { effect, job, message, pipeline, typed } from '../../../src/index.ts'
import { deferred } from '../../support/engines.ts'

export const note = job('note', { input: typed<unknown>(), run: ({ input }) => input })

export const mail = job('mail', {
  input: typed<{ to: string }>(),
  retry: { max: 0 },
  run: ({ input }) => {
    throw new Error(`no mailbox at ${input.to.slice(input.to.indexOf('@') + 1)}`)
  },
})

const later = job('later', {
  input: typed<unknown>(),
  retry: { max: 3, delay: '1h' },
  run: () => {
    throw new Error('the other side is busy')
  },
})

const decision = message('decision', {
  input: typed<{ ok: boolean; note?: string }>(),
  jsonSchema: {
    type: 'object',
    properties: {
      ok: { type: 'boolean', title: 'Refund it' },
      note: { type: 'string', title: 'Note' },
    },
    required: ['ok'],
  },
})

export const refund = job('refund', {
  input: typed<{ order: string; cents: number }>(),
  messages: [decision],
  run: async ({ input, step, waitFor }) => {
    await step('fee', () => Math.ceil(input.cents / 100))
    return waitFor(decision, {
      ask: `Refund ${input.cents} cents for order ${input.order}?`,
      for: ['finance'],
    })
  },
})

const charge = effect('charge', {
  input: typed<number>(),
  run: () => {
    throw new Error('the bank hung up')
  },
})

const order = job('order', {
  input: typed<number>(),
  effects: [charge],
  retry: { max: 0 },
  run: ({ input, commit }) => commit({ charged: input }, [charge(input)]),
})

/** What a job may be full of that a page must not believe. */
export const HOSTILE = {
  markup: '<img src=x onerror="window.harmed=1"><script>window.harmed=1</script>',
  bidi: 'safe\u202Egnp.exe\u2066',
  control: 'a\u0000b\u001b[31mred\u0007',
  odd: '\uD800 alone, 𝕌𝕟𝕚, \u200B',
}

const hostile = job(`x ${HOSTILE.markup}`, {
  input: typed<unknown>(),
  retry: { max: 0 },
  run: () => {
    throw new Error(`${HOSTILE.markup} ${HOSTILE.bidi} ${HOSTILE.control}`)
  },
})

export interface Shop {
  readonly running: string
  readonly question: string
  readonly failed: string
  readonly hostile: string
  readonly film: string
  readonly held: string
  /** Lets the job that runs, and the segments, come to their end. */
  readonly finish: () => Promise<void>
}

export async function openShop(pawl: Pawl): Promise<Shop> {
  const gate = deferred()
  const slow = job('resize', {
    input: typed<string>(),
    run: async ({ progress }) => {
      progress({ done: 3, of: 10 })
      await gate.promise
      return 'resized'
    },
  })
  const film = pipeline('film', { input: typed<{ parts: number[] }>() })
    .stage('survey', { run: () => 'surveyed' })
    .stage('render', {
      each: 'input.parts',
      after: 'survey',
      queue: 'gpu',
      run: async ({ index }) => {
        if (index >= 3) await gate.promise
        return index
      },
    })
    .stage('sound', { after: 'survey', run: () => 'sound' })
    .stage('join', { after: ['render', 'sound'], run: () => 'joined' })
  const worker = pawl.work([note, mail, later, refund, order, hostile, slow, film], {
    concurrency: 6,
    name: 'shop-1',
  })
  await pawl.submitMany(
    note,
    Array.from({ length: 30 }, (_, input) => ({ input, options: { tags: ['small'] } })),
  )
  const mails = await pawl.submitMany(
    mail,
    ['a@one.example', 'b@one.example', 'c@two.example'].map((to) => ({ input: { to } })),
  )
  await pawl.submit(later, null)
  const question = await pawl.submit(
    refund,
    { order: 'A-17', cents: 4_200 },
    { key: 'refund-A-17' },
  )
  const long = { text: 'x'.repeat(1_000_000), ...HOSTILE, [HOSTILE.markup]: HOSTILE.bidi }
  const harmful = await pawl.submit(hostile, long, { tags: [HOSTILE.markup], key: HOSTILE.bidi })
  const held = await pawl.submit(order, 70)
  const made = await pawl.submit(film, { parts: Array.from({ length: 12 }, (_, i) => i) })
  const running = await pawl.submit(slow, 'cat.png')
  await pawl.submit(note, 'not yet', { delay: '2h' })
  await pawl.submit(note, 'held', { hold: true })
  await pawl.pause('letters', { by: 'ada', reason: 'the printer is out of paper' })
  await pawl.submit(note, 'a letter', { queue: 'letters' })
  await pawl.configure('gpu', { concurrency: 4 })
  await pawl.schedule('nightly', { cron: '30 3 * * 1-5', job: note, input: 'report' })
  await pawl.schedule('pulse', { every: '6h', job: note, input: 'pulse' })
  const ids = { running: running.id, question: question.id, held: held.id, film: made.id }
  return {
    ...ids,
    failed: (mails[0] as { id: string }).id,
    hostile: harmful.id,
    finish: async () => {
      gate.resolve()
      await running.result()
      await made.result()
      await worker.stop()
    },
  }
}
