/** What every store says of many jobs at once: which of them nobody has to wait for any more. */
import { describe, expect, it } from 'vitest'
import type { Claimed } from '../../src/store/index.ts'
import { failure, onRecord, pipeline, plain, retry, stage } from '../support/specs.ts'
import type { Bench } from './bench.ts'
import { CHANNEL, claim, commit, reportOf, setUp, STORES } from './bench.ts'

const channels = [CHANNEL, { ...CHANNEL, stage: 'one' }, { ...CHANNEL, stage: 'two' }]

async function upkeep({ store }: Bench): Promise<void> {
  for (;;) {
    const commands = await store.query({ kind: 'upkeep', limit: 10 })
    if (commands.length === 0) return
    await store.execute(commands)
  }
}

describe.each(Object.keys(STORES))('the %s store says which jobs are through', (kind) => {
  it('over, given up, or not there; of others it says nothing', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    const ids = ['done', 'dead', 'cancelled', 'waits', 'two stages', 'stuck', 'nobody', 'done']
    const spec = plain({}, { retry: retry({ max: 0 }) })
    await send({ type: 'SubmitJob', job: 'done', spec })
    await send({ type: 'SubmitJob', job: 'dead', spec })
    const [done, dead] = (await store.claim(claim({ max: 2 }))) as [Claimed, Claimed]
    await send({ type: 'SubmitJob', job: 'cancelled', spec })
    await send({ type: 'SubmitJob', job: 'waits', spec })
    const stages = [stage('one'), stage('two', { after: ['one'] })]
    await send({ type: 'SubmitJob', job: 'two stages', spec: pipeline(stages) })
    const policy = { ...stage('one').policy, retry: retry({ max: 0 }) }
    await send({
      type: 'SubmitJob',
      job: 'stuck',
      spec: pipeline([stage('one', { policy })]),
    })
    await upkeep(bench)

    const through = async (): Promise<Record<string, string | null>> => {
      const ended = await store.query({ kind: 'ended', jobs: ids })
      for (const { job, outcome } of ended) {
        expect(outcome).toEqual(await store.query({ kind: 'outcome', job }))
      }
      const states = ended.map(({ job, outcome }) => [job, outcome?.state ?? null] as const)
      return Object.fromEntries(states)
    }
    expect(await through()).toEqual({ nobody: null })

    await send(commit(done))
    await send({ type: 'FailTask', ...reportOf(dead), error: failure() })
    await send({ type: 'CancelJob', job: 'cancelled', ...onRecord })
    const plainOnes = { done: 'SUCCEEDED', dead: 'QUARANTINED', cancelled: 'FAILED', nobody: null }
    expect(await through()).toEqual(plainOnes)

    const [first, stuck] = (await store.claim(
      claim({ channels: [channels[1]!], max: 2, request: 2 }),
    )) as [Claimed, Claimed]
    await send(commit(first))
    await send({ type: 'FailTask', ...reportOf(stuck), error: failure() })
    await upkeep(bench)
    expect(await through()).toEqual({ ...plainOnes, stuck: 'QUARANTINED' })

    const [second] = (await store.claim(claim({ channels: [channels[2]!], request: 3 }))) as [
      Claimed,
    ]
    await send(commit(second))
    await upkeep(bench)
    const all = { ...plainOnes, stuck: 'QUARANTINED', 'two stages': 'SUCCEEDED' }
    expect(await through()).toEqual(all)
    expect(await store.query({ kind: 'ended', jobs: [] })).toEqual([])
  })
})
