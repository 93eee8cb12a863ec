/**
 * Jobs that the views of jobs are made for: one that says much while it runs, one that was tried often, a pipeline with many
 * stages, and a pipeline of 10,000 segments whose names and errors are meant to do harm.
 */
import type { Pawl } from '../../../src/index.ts'
import { effect, job, pipeline, typed } from '../../../src/index.ts'
import { deferred } from '../../support/engines.ts'
import { HOSTILE } from './shop.ts'

export const SEGMENTS = 10_000
/** One in so many is given up. */
const FAILS = 97
/** The last ones wait for the end of the shop, but for those that are given up. */
const LAST = 20
const fails = (index: number): boolean => index % FAILS === 3
export const LEFT_RUNNING = Array.from({ length: LAST }, (_, i) => SEGMENTS - LAST + i).filter(
  (index) => !fails(index),
).length

export const receipt = effect('receipt', { input: typed<string>(), run: () => undefined })

/** Fails once, with a cause, and then does it. */
let isOutOfPaper = true
export const invoice = job('invoice', {
  input: typed<{ customer: string; cents: number }>(),
  effects: [receipt],
  retry: { max: 3, delay: 30 },
  run: async ({ input, step, commit }) => {
    const total = await step('total', () => input.cents * 2)
    await step('address', () => ({ to: input.customer, country: 'CH' }))
    if (isOutOfPaper) {
      isOutOfPaper = false
      throw new Error('the printer is out of paper', { cause: new Error('tray 2 is empty') })
    }
    return commit({ total }, [receipt(input.customer)])
  },
})

export interface JobsShop {
  readonly talker: string
  readonly invoice: string
  readonly wide: string
  readonly many: string
  /** Lets the job that talks say one more thing. */
  readonly say: (value: string) => void
  readonly finish: () => Promise<void>
}

export async function openJobsShop(pawl: Pawl): Promise<JobsShop> {
  const gate = deferred()
  const said: string[] = []
  let wake = deferred()
  let isOver = false
  const talker = job('transcribe', {
    input: typed<string>(),
    run: async ({ log, progress, emit, step, signal }) => {
      await step('download', () => ({ bytes: 48_211 }))
      log('downloaded 48,211 bytes')
      log('model: small, language: de')
      for (let i = 1; i <= 60; i++) await emit('words', `word ${i}`)
      progress({ done: 3, of: 8 })
      while (!signal.aborted) {
        await Promise.race([wake.promise, gate.promise])
        wake = deferred()
        for (const one of said.splice(0)) {
          log(one)
          await emit('words', one)
          progress({ done: 4, of: 8 })
        }
        if (isOver) break
      }
      return 'transcribed'
    },
  })
  const wide = widePipeline(gate.promise)
  const many = manySegments(gate.promise)
  const worker = pawl.work([talker, invoice, wide], { concurrency: 60, name: 'jobs-1' })
  const crowd = pawl.work([many], { concurrency: 200, name: 'jobs-2' })
  const talking = await pawl.submit(talker, 'interview.ogg')
  const billed = await pawl.submit(invoice, { customer: 'ada@example.com', cents: 4_200 })
  const filmed = await pawl.submit(wide, 'film.mov')
  const parts = Array.from({ length: SEGMENTS }, (_, i) => i)
  const crowded = await pawl.submit(many, { parts }, { tags: [HOSTILE.bidi] })
  return {
    talker: talking.id,
    invoice: billed.id,
    wide: filmed.id,
    many: crowded.id,
    say: (value) => {
      said.push(value)
      wake.resolve()
    },
    finish: async () => {
      isOver = true
      gate.resolve()
      await talking.result()
      await worker.stop()
      await crowd.stop()
    },
  }
}

function widePipeline(gate: Promise<unknown>) {
  const base = pipeline('publish', { input: typed<string>() })
    .stage('probe', { run: () => ({ seconds: 5_400 }) })
    .stage('cut', { after: 'probe', run: () => Array.from({ length: 48 }, (_, i) => i) })
    .stage('encode 2160p', {
      after: 'cut',
      each: 'cut',
      run: async ({ index }) => {
        if (index > 30) await gate
        return index
      },
    })
    .stage('encode 1080p', { after: 'cut', each: 'cut', run: ({ index }) => index })
    .stage('encode 720p', { after: 'cut', each: 'cut', run: ({ index }) => index })
    .stage('subtitles', { after: 'probe', run: () => ['de', 'en', 'fr'] })
    .stage('translate', { after: 'subtitles', each: 'subtitles', run: ({ index }) => index })
    .stage('join 2160p', { after: 'encode 2160p', run: () => 'joined' })
    .stage('join 1080p', { after: 'encode 1080p', run: () => 'joined' })
    .stage('join 720p', { after: 'encode 720p', run: () => 'joined' })
    .stage('master', {
      after: ['join 2160p', 'join 1080p', 'join 720p', 'translate'],
      run: () => 'mastered',
    })
    .stage('upload', { after: 'master', run: () => 'uploaded' })
    .stage('announce', { after: 'upload', run: () => 'announced' })
  return base.stage('clean up', { onFailure: true, run: () => 'cleaned' })
}

function manySegments(gate: Promise<unknown>) {
  // A stage is a part of paths such as `input.parts`: it has no full stop in its name.
  const markup = HOSTILE.markup.replaceAll('.', '')
  return pipeline(`many ${HOSTILE.markup}`, { input: typed<{ parts: number[] }>() })
    .stage(`each ${markup}`, {
      each: 'input.parts',
      retry: { max: 0 },
      run: async ({ index }) => {
        if (fails(index)) {
          throw new Error(`${index} ${HOSTILE.markup} ${HOSTILE.bidi} ${HOSTILE.control}`)
        }
        if (index >= SEGMENTS - LAST) await gate
        return index
      },
    })
    .stage(`then ${HOSTILE.bidi.replaceAll('.', '')}`, {
      after: `each ${markup}`,
      run: () => 'never',
    })
}
