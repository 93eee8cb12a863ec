import { expect, it } from 'vitest'
import { plain } from '../../test/support/specs.ts'
import type { Command } from '../kernel/index.ts'
import type { ClaimRequest, Claimed } from '../store/index.ts'
import { MemoryStore } from '../store/index.ts'
import { CrashingStore, CrashPoints } from './crashing-store.ts'

/** Keeps what reaches it. */
class Witness extends MemoryStore {
  readonly seen: string[] = []

  override execute(commands: readonly Command[]): ReturnType<MemoryStore['execute']> {
    this.seen.push(...commands.map(({ type }) => type))
    return super.execute(commands)
  }
}

function request(worker: string, number: number): ClaimRequest {
  const channels = [{ queue: 'default', type: plain().type, stage: null }]
  return { worker, request: number, channels, max: 1, started: true }
}

it('nothing of a worker that died reaches the store, and the rest of its batch does', async () => {
  const store = new Witness({ now: () => 1 })
  const points = new CrashPoints()
  const crashes: string[] = []
  const crashing = new CrashingStore({
    store,
    points,
    turn: async () => undefined,
    mayClaim: (worker) => worker !== 'idle',
    onCrash: (worker, job) => crashes.push(`${worker} by ${job}`),
    transaction: null,
  })
  await crashing.execute(['a', 'b'].map((job) => ({ type: 'SubmitJob', job, spec: plain() })))
  expect(await crashing.claim(request('idle', 1))).toEqual([])
  const [claimed] = (await crashing.claim(request('w', 1))) as [Claimed]
  store.seen.length = 0
  points.beforeCommit(claimed.type)
  const lease = { job: claimed.job, stage: 0, segment: 0, lease: 1, worker: 'w' }
  const parent = { job: claimed.job, stage: 0, segment: 0, effect: 0 }
  const answers = await crashing.execute([
    { type: 'ExtendLease', ...lease, extension: 1 },
    { type: 'CommitExecution', ...lease, output: '1', effects: [] },
    { type: 'CancelJob', job: 'b', by: 'ann', reason: 'no' },
    { type: 'StartEffect', ...lease, effect: 0 },
    { type: 'SubmitJob', job: 'child', spec: { ...plain(), parent } },
    { type: 'FinishEffect', ...lease, effect: 0 },
    { type: 'RevokeLease', ...lease, by: 'w', reason: 'it is gone' },
  ])
  expect(store.seen).toEqual(['ExtendLease', 'CancelJob'])
  expect(answers.map(({ verdict }) => verdict)).toEqual([
    'committed',
    'cancelled',
    'committed',
    ...Array.from({ length: 4 }, () => 'cancelled'),
  ])
  expect(crashes).toEqual([`w by ${claimed.job}`])
  expect(await crashing.claim(request('w', 2))).toEqual([])
})
