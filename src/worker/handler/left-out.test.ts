/** What a handler began and did not finish: an effect that its commit does not have, a step that it did not await. */
import { expect, it, onTestFinished } from 'vitest'
import type { AnyJob, Pawl } from '../../index.ts'
import { batchJob, effect, failed, job, open } from '../../index.ts'

const sent: string[] = []
const mail = effect('mail', { idempotent: true, run: () => void sent.push('mail') })
const once = { retry: { max: 0 }, quarantine: 'never' } as const

function fail(_: unknown, reject: (error: Error) => void): void {
  setImmediate(() => reject(new Error('too late')))
}

async function outcomeOf(definition: AnyJob): Promise<unknown> {
  sent.length = 0
  const pawl: Pawl = await open('memory:')
  onTestFinished(() => pawl.close())
  pawl.work([definition])
  const handle = await pawl.submit(definition)
  return handle.result().catch((error: { failure?: { code: string; message: string } }) => {
    return `${error.failure?.code}: ${error.failure?.message}`
  })
}

it('an effect that is called and in no commit fails the attempt, and says what to write', async () => {
  const forgets = job('forgets', { ...once, effects: [mail], run: () => void mail() })
  expect(await outcomeOf(forgets)).toMatch(
    /InvalidDefinition: .*effect 'mail'.*return commit\(output, \[mail\(…\)\]\)/,
  )
  expect(sent).toEqual([])
})

it('so does one that is called after a wait, and one beside a commit that has another', async () => {
  const late = job('late', {
    ...once,
    effects: [mail],
    async run({ step, commit }) {
      await step('one', () => 1)
      mail()
      return commit('done', [mail()])
    },
  })
  expect(await outcomeOf(late)).toMatch(/effect 'mail'/)
  expect(sent).toEqual([])
})

it('an effect that the commit has is done', async () => {
  const whole = job('whole', {
    ...once,
    effects: [mail],
    run: ({ commit }) => commit('done', [mail()]),
  })
  expect(await outcomeOf(whole)).toBe('done')
  expect(sent).toEqual(['mail'])
})

it('an effect that one handler calls does not count for another that runs beside it', async () => {
  const pawl = await open('memory:')
  onTestFinished(() => pawl.close())
  let waiting = 0
  let letGo: (() => void) | null = null
  const gate = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const bothRun = (): Promise<void> => {
    waiting += 1
    if (waiting === 2) letGo?.()
    return gate
  }
  const silent = job('silent', {
    ...once,
    effects: [mail],
    async run() {
      await bothRun()
      return 'silent'
    },
  })
  const speaks = job('speaks', {
    ...once,
    effects: [mail],
    async run({ commit }) {
      await bothRun()
      return commit('speaks', [mail()])
    },
  })
  pawl.work([silent, speaks])
  const handles = [await pawl.submit(silent), await pawl.submit(speaks)]
  expect(await Promise.all(handles.map((one) => one.result()))).toEqual(['silent', 'speaks'])
})

it('in a batch it fails all of them, unless one failed that may have called it', async () => {
  const forgets = batchJob('batch', { ...once, max: 5, effects: [mail], run: () => [void mail()] })
  expect(await outcomeOf(forgets)).toMatch(/effect 'mail'/)
  const gaveUp = batchJob('batch', {
    ...once,
    max: 5,
    effects: [mail],
    run: () => {
      mail()
      return [failed(new Error('no card'))]
    },
  })
  expect(await outcomeOf(gaveUp)).toMatch(/no card/)
})

it('a step that was not awaited fails the attempt, and says what to write', async () => {
  const hurries = job('hurries', {
    ...once,
    run({ step }) {
      void step('slow', () => new Promise((resolve) => setImmediate(resolve, 1)))
      return 'done'
    },
  })
  expect(await outcomeOf(hurries)).toMatch(/InvalidDefinition: .*step 'slow'.*await step\('slow'/)
})

it('a step that was not awaited and throws later ends no process', async () => {
  const rejections: unknown[] = []
  const listen = (reason: unknown): void => void rejections.push(reason)
  process.on('unhandledRejection', listen)
  onTestFinished(() => void process.off('unhandledRejection', listen))
  const hurries = job('hurries', {
    ...once,
    run({ step }) {
      void step('slow', () => new Promise(fail))
      return 'done'
    },
  })
  expect(await outcomeOf(hurries)).toMatch(/step 'slow'/)
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(rejections).toEqual([])
})
