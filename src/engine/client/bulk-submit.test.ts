import { describe, expect, it } from 'vitest'
import { plain } from '../../../test/support/specs.ts'
import type { SubmitJob } from '../../kernel/index.ts'
import type { Answer } from '../../store/index.ts'
import { StoreClosed } from '../../store/index.ts'
import { BulkSubmit } from './bulk-submit.ts'

function submit(job: string, input = 'null'): SubmitJob {
  return { type: 'SubmitJob', job, spec: { ...plain(), input } }
}

/** What was sent, and the ends of each. */
function setUp(mostUnderWay: number) {
  const sent: string[][] = []
  const answer: (() => void)[] = []
  const fail: ((error: unknown) => void)[] = []
  const answered: number[] = []
  const bulk = new BulkSubmit({
    send: (commands) => {
      sent.push(commands.map(({ job }) => job))
      return new Promise((resolve, reject) => {
        const answers = commands.map(({ job }): Answer => ({
          verdict: 'committed',
          value: job,
          rejection: null,
        }))
        answer.push(() => resolve(answers))
        fail.push(reject)
      })
    },
    mostUnderWay,
    onAnswered: (from) => void answered.push(from),
  })
  return { bulk, sent, answer, fail, answered }
}

function addUntilFull(
  bulk: BulkSubmit,
  most: number,
): { added: number; room: Promise<void> | null } {
  for (let added = 1; added <= most; added++) {
    const room = bulk.add(submit(`${added}`))
    if (room !== null) return { added, room }
  }
  return { added: most, room: null }
}

describe('submits on their way', () => {
  it('are no more than the batches that may be under way, and one that forms', async () => {
    const { bulk, sent, answer } = setUp(2)
    const { added, room } = addUntilFull(bulk, 10_000)
    expect(added).toBe(1_001)
    expect(sent.map((one) => one.length)).toEqual([500, 500])
    answer[0]?.()
    await room
    expect(addUntilFull(bulk, 10_000).added).toBe(500)
  })

  it('are in batches of two if they are large', () => {
    const { bulk, sent } = setUp(2)
    for (let i = 0; i < 5; i++) void bulk.add(submit(`${i}`, `"${'x'.repeat(1_000_000)}"`))
    expect(sent).toEqual([
      ['0', '1'],
      ['2', '3'],
    ])
  })

  it('are in for sure up to the first batch that failed', async () => {
    const { bulk, answer, fail, answered } = setUp(3)
    addUntilFull(bulk, 1_500)
    const ending = bulk.end()
    answer[2]?.()
    fail[1]?.(new Error('gone'))
    answer[0]?.()
    await expect(ending).rejects.toThrow('gone')
    expect(answered.toSorted((a, b) => a - b)).toEqual([0, 1_000])
    expect([bulk.sure, bulk.unsure.length, bulk.isNoneIn]).toEqual([500, 1_000, false])
    expect(() => bulk.add(submit('late'))).toThrow('gone')
  })

  it('are known not to be in when each batch failed before it changed anything', async () => {
    const { bulk, fail } = setUp(3)
    void bulk.add(submit('a'))
    const ending = bulk.end()
    fail[0]?.(new StoreClosed())
    await expect(ending).rejects.toMatchObject({ code: 'StoreClosed' })
    expect(bulk.isNoneIn).toBe(true)
  })
})
