import { describe, expect, it } from 'vitest'
import { plain } from '../../test/support/specs.ts'
import type { Command } from '../kernel/index.ts'
import { CorruptLog } from '../log/index.ts'
import type { Answer, Claimed, ClaimRequest, SubmittedAndClaimed } from './index.ts'
import { MemoryStore } from './index.ts'
import { CommandBatcher } from './command-batcher.ts'

const DAMAGE = new CorruptLog(
  { file: 'finished-1', offset: 64, position: null },
  'no.',
  "job 'bad'",
)

/** Whatever names the job `bad` fails, as a whole call. */
class Damaged extends MemoryStore {
  readonly calls: number[] = []

  override async execute(commands: readonly Command[]): Promise<readonly Answer[]> {
    this.calls.push(commands.length)
    if (commands.some((command) => 'job' in command && command.job === 'bad')) throw DAMAGE
    return super.execute(commands)
  }
}

function submit(job: string): Command {
  return { type: 'SubmitJob', job, spec: plain() }
}

describe('calls that travel together', () => {
  it('are all that are made before the process does any I/O, however many promises they follow', async () => {
    const store = new Damaged({ now: () => 1_000 })
    const batcher = new CommandBatcher(store)
    const late = async (): Promise<Answer> => {
      for (let i = 0; i < 50; i++) await Promise.resolve()
      return batcher.send(submit('b'))
    }
    await Promise.all([batcher.send(submit('a')), late()])
    expect(store.calls).toEqual([2])
  })

  it('are made one by one when one is about what cannot be read: only that one fails', async () => {
    const store = new Damaged({ now: () => 1_000 })
    const told: string[] = []
    const batcher = new CommandBatcher(store, {
      answered: (commands) =>
        void told.push(...commands.map((one) => ('job' in one ? one.job : ''))),
    })
    const all = await Promise.allSettled([
      batcher.send(submit('a')),
      batcher.send(submit('bad')),
      batcher.sendAll([submit('b'), submit('c')]),
      batcher.sendAll([submit('d'), submit('bad')]),
    ])
    const ends = all.map((one) => (one.status === 'rejected' ? one.reason : one.value) as unknown)
    expect(ends).toMatchObject([
      { verdict: 'committed', value: 'a' },
      DAMAGE,
      [{ value: 'b' }, { value: 'c' }],
      DAMAGE,
    ])
    expect(store.calls).toEqual([6, 1, 1, 2, 2])
    expect(told).toEqual(['a', 'b', 'c'])
    expect(await store.query({ kind: 'job', job: 'd' })).toBeNull()
  })
})

describe('a listener that throws', () => {
  const wrong = new Error('a listener is wrong')

  it.each(['sent', 'answered'] as const)(
    'when it hears what was %s changes no answer, and is reported',
    async (event) => {
      const errors: Error[] = []
      const batcher = new CommandBatcher(new Damaged({ now: () => 1_000 }), {
        [event]: () => {
          throw wrong
        },
        failed: (error) => void errors.push(error),
      })
      const answers = await Promise.all([batcher.send(submit('a')), batcher.send(submit('b'))])
      expect(answers.map(({ value }) => value)).toEqual(['a', 'b'])
      await batcher.close()
      expect(errors).toEqual([wrong])
    },
  )
})

/** A store that takes claims with submits, and grants the first job to each. */
class Granting extends Damaged {
  async submitAndClaim(
    commands: readonly Command[],
    claims: readonly ClaimRequest[],
  ): Promise<SubmittedAndClaimed> {
    const answers = await this.execute(commands)
    return { answers, claimed: await Promise.all(claims.map((one) => this.claim(one))) }
  }
}

/** A worker with room for `max` jobs, and what each of its claims was granted. */
function claimer(worker: string, max: number) {
  const granted: string[][] = []
  const asked: number[] = []
  const channels = [{ queue: 'default', type: 'test', stage: null }]
  return {
    asked,
    granted,
    claimFor(commands: readonly Command[]) {
      asked.push(commands.length)
      if (max === 0) return null
      return {
        request: { worker, request: asked.length, channels, max, started: true },
        granted: (claimed: readonly Claimed[]) => void granted.push(claimed.map(({ job }) => job)),
      }
    },
  }
}

describe('claims that travel with submits', () => {
  it('are asked of workers until there is room for all jobs, and told what they got', async () => {
    const batcher = new CommandBatcher(new Granting({ now: () => 1_000 }))
    const workers = [claimer('a', 0), claimer('b', 1), claimer('c', 2), claimer('d', 1)]
    for (const one of workers) batcher.addClaimer(one)
    await batcher.sendAll([submit('1'), submit('2'), submit('3')])
    expect(workers.map(({ asked }) => asked)).toEqual([[3], [3], [3], []])
    expect(workers.map(({ granted }) => granted)).toEqual([[], [['1']], [['2', '3']], []])
  })

  it('are asked for neither by reports, nor for a store that takes none, nor of one who left', async () => {
    const worker = claimer('a', 1)
    const granting = new CommandBatcher(new Granting({ now: () => 1_000 }))
    const leave = granting.addClaimer(worker)
    await granting.send({ type: 'CancelJob', job: '1', by: 'ops', reason: '' })
    const plainStore = new CommandBatcher(new Damaged({ now: () => 1_000 }))
    plainStore.addClaimer(worker)
    await plainStore.send(submit('1'))
    leave()
    await granting.send(submit('1'))
    expect(worker.asked).toEqual([])
  })

  it('do not travel with more submits than one transaction holds', async () => {
    const batcher = new CommandBatcher(new Granting({ now: () => 1_000 }))
    const worker = claimer('a', 1)
    batcher.addClaimer(worker)
    await batcher.sendAll(Array.from({ length: 501 }, (_, i) => submit(`${i}`)))
    expect(worker.asked).toEqual([])
    await batcher.sendAll(Array.from({ length: 500 }, (_, i) => submit(`more ${i}`)))
    expect(worker.asked).toEqual([500])
  })

  it('are told that they got nothing when the submit fails', async () => {
    const batcher = new CommandBatcher(new Granting({ now: () => 1_000 }))
    const worker = claimer('a', 1)
    batcher.addClaimer(worker)
    await expect(batcher.send(submit('bad'))).rejects.toBe(DAMAGE)
    expect(worker.granted).toEqual([[]])
  })
})

/** A store that answers when it is told to, and notes what it was sent. */
class Held extends MemoryStore {
  readonly sent: Command[][] = []
  readonly #answers: (() => void)[] = []

  override async execute(commands: readonly Command[]): Promise<readonly Answer[]> {
    this.sent.push([...commands])
    await new Promise<void>((resolve) => this.#answers.push(resolve))
    return super.execute(commands)
  }

  /** Answers the oldest call, and lets the event loop turn. */
  async answerOne(): Promise<void> {
    this.#answers.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setImmediate(resolve))
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function withInput(job: string, chars: number): Command {
  return { type: 'SubmitJob', job, spec: { ...plain(), input: `"${'x'.repeat(chars)}"` } }
}

const PAUSE: Command = { type: 'PauseQueue', queue: 'q', by: 'ops', reason: '' }

describe('new work', () => {
  it('is sent in batches of 500, four at a time; the rest waits for an answer', async () => {
    const store = new Held({ now: () => 1_000 })
    const batcher = new CommandBatcher(store)
    const all = Array.from({ length: 3_000 }, (_, i) => batcher.send(submit(`${i}`)))
    await turn()
    expect(store.sent.map((one) => one.length)).toEqual([500, 500, 500, 500])
    await store.answerOne()
    expect(store.sent).toHaveLength(5)
    while (store.sent.length < 6) await store.answerOne()
    for (let i = 0; i < 6; i++) await store.answerOne()
    expect(await Promise.all(all)).toHaveLength(3_000)
    expect(store.sent.flat().map((one) => ('job' in one ? one.job : ''))).toEqual(
      Array.from({ length: 3_000 }, (_, i) => `${i}`),
    )
  })

  it('is sent in smaller batches if it is large', async () => {
    const store = new Held({ now: () => 1_000 })
    const batcher = new CommandBatcher(store)
    const all = Array.from({ length: 12 }, (_, i) => batcher.send(withInput(`${i}`, 1_000_000)))
    await turn()
    expect(store.sent.map((one) => one.length)).toEqual([2, 2, 2, 2])
    for (let i = 0; i < 8; i++) await store.answerOne()
    await Promise.all(all)
  })

  it('lets reports pass that come later', async () => {
    const store = new Held({ now: () => 1_000 })
    const batcher = new CommandBatcher(store)
    const all = Array.from({ length: 3_000 }, (_, i) => batcher.send(submit(`${i}`)))
    await turn()
    void batcher.send(PAUSE)
    await turn()
    expect(store.sent.at(-1)).toEqual([PAUSE])
    expect(store.sent).toHaveLength(5)
    for (let i = 0; i < 8; i++) await store.answerOne()
    await Promise.all(all)
  })

  it('that waits is sent before the batcher is closed, and nothing more is taken', async () => {
    const store = new Held({ now: () => 1_000 })
    const batcher = new CommandBatcher(store)
    const all = Array.from({ length: 3_000 }, (_, i) => batcher.send(submit(`${i}`)))
    const closing = batcher.close()
    await expect(batcher.send(submit('late'))).rejects.toMatchObject({ code: 'StoreClosed' })
    for (let i = 0; i < 8; i++) await store.answerOne()
    await closing
    expect(await Promise.all(all)).toHaveLength(3_000)
  })
})
