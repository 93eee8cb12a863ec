import { describe, expect, it } from 'vitest'
import { plain } from '../../test/support/specs.ts'
import type { Command } from '../kernel/index.ts'
import { CorruptLog } from '../log/index.ts'
import type { Answer } from './index.ts'
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
