/**
 * Jobs whose payloads have numbers that JavaScript has no value for, recorded as a worker in another language does it: over HTTP,
 * by commands of the store, in which each payload is a text.
 */
import { expect } from 'vitest'
import type { Command } from '../../src/kernel/index.ts'
import { failure, pipeline, plain, policy, retry, stage } from './specs.ts'
import { callServer } from './server-calls.ts'

export const LARGE = '9007199254740993'
export const LARGEST = '18446744073709551615'
/** What JavaScript makes of them. */
export const ROUNDED = ['9007199254740992', '18446744073709552000'] as const

/** As one has it who is used to write it so. */
export const EXACT = {
  input: `{"id": ${LARGE}, "all": [${LARGEST}], "note": "gr\\u00fcn", "rate": 1.10}`,
  output: `{"sum":${LARGEST},"of":{"id":${LARGE}}}`,
  metadata: `{"tenant":${LARGE}}`,
  step: `{"seen":${LARGE}}`,
  values: [`{"at":${LARGE}}`, '7', LARGEST],
  segments: [`[${LARGE}]`, `{"n":${LARGEST}}`],
} as const

export const EXACT_JOBS = { done: 'exact-done', dead: 'exact-dead', film: 'exact-film' } as const

interface Held {
  readonly job: string
  readonly stage: number
  readonly segment: number
  readonly lease: number
}

const WORKER = 'py-1'

class ForeignWorker {
  readonly #url: string
  readonly #token: string | undefined
  #request = 0

  constructor(url: string, token?: string) {
    this.#url = url
    this.#token = token
  }

  async send(...commands: readonly Command[]): Promise<void> {
    const { status, body } = await callServer(this.#url, 'store.execute', { commands }, this.#token)
    expect(status, JSON.stringify(body)).toBe(200)
    const answers = body['answers'] as readonly { readonly rejection: unknown }[]
    expect(answers.map(({ rejection }) => rejection)).toEqual(commands.map(() => null))
  }

  async claim(type: string, of: string | null = null): Promise<Held> {
    for (;;) {
      this.#request += 1
      const channels = [{ queue: 'default', type, stage: of }]
      const given = { worker: WORKER, request: this.#request, channels, max: 1, started: true }
      const { body } = await callServer(
        this.#url,
        'store.claim',
        { ...given, waitMs: 1_000 },
        this.#token,
      )
      const [held] = body['claimed'] as readonly Held[]
      if (held !== undefined) {
        const { job, stage: at, segment, lease } = held
        return { job, stage: at, segment, lease }
      }
    }
  }

  commit(held: Held, output: string): Promise<void> {
    return this.send({ type: 'CommitExecution', ...held, worker: WORKER, output, effects: [] })
  }
}

/** One that is done, one in quarantine, and a pipeline. */
export async function recordExactJobs(url: string, token?: string): Promise<void> {
  const worker = new ForeignWorker(url, token)
  const { input, output, metadata, step, values, segments } = EXACT
  await worker.send({
    type: 'SubmitJob',
    job: EXACT_JOBS.done,
    spec: plain({ type: 'exact', input, metadata }),
  })
  const held = await worker.claim('exact')
  const place = { ...held, worker: WORKER }
  await worker.send(
    { type: 'RecordStep', ...place, name: 'look', value: step, definitionVersion: 1 },
    { type: 'AppendStream', ...place, name: 'log', offset: 0, values },
  )
  await worker.commit(held, output)
  await worker.send({
    type: 'SubmitJob',
    job: EXACT_JOBS.dead,
    spec: plain({ type: 'exact-fails', input }, { retry: retry({ max: 0 }) }),
  })
  const failing = await worker.claim('exact-fails')
  const error = failure({ message: 'no such account' })
  await worker.send({ type: 'FailTask', ...failing, worker: WORKER, error })
  await worker.send({
    type: 'SubmitJob',
    job: EXACT_JOBS.film,
    spec: pipeline([stage('cut', { each: 'input', policy: policy() })], {
      type: 'exact-film',
      input: '[1,2]',
    }),
  })
  for (let i = 0; i < 2; i++) {
    const one = await worker.claim('exact-film', 'cut')
    await worker.commit(one, segments[one.segment] as string)
  }
}
