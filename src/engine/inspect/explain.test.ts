/** What `explain` says of a job that waits in a suspension. */
import { expect, it, onTestFinished } from 'vitest'
import { claim, reportOf, TestClock } from '../../../test/conformance/bench.ts'
import { deferred, temporaryFolder } from '../../../test/support/engines.ts'
import { call, plain } from '../../../test/support/specs.ts'
import type { WaitSpec } from '../../kernel/index.ts'
import { hookedEngine } from '../../../test/support/hooked-store.ts'
import { pipeline, typed } from '../../definition/index.ts'
import type { AnswerTo, Claimed, Query } from '../../store/index.ts'
import { MemoryStore, openDirectory, systemClock } from '../../store/index.ts'
import { open } from '../open.ts'
import type { Reason } from './explain.ts'

/** Notes what it is asked. */
class NotingStore extends MemoryStore {
  readonly kinds: string[] = []

  override async query<const Q extends Query>(query: Q): Promise<AnswerTo<Q>> {
    this.kinds.push(query.kind)
    return super.query(query)
  }
}

it('of a pipeline that is over reads none of its segments', async () => {
  const store = new NotingStore(systemClock)
  const { pawl } = hookedEngine({ store })
  onTestFinished(() => pawl.close())
  const cut = pipeline('cut', { input: typed<number[]>() }).stage('part', {
    each: 'input',
    run: ({ index }) => index,
  })
  pawl.work([cut])
  const made = await pawl.submit(cut, [1, 2, 3])
  await made.result()
  store.kinds.length = 0
  expect((await pawl.explain(made.id)).reasons).toMatchObject([{ what: 'over' }])
  expect(store.kinds).not.toContain('overview')
  expect(store.kinds).not.toContain('job')
})

it('names a job that holds several places of a queue once, with how many of its tasks do', async () => {
  const pawl = await open('memory:')
  onTestFinished(() => pawl.close())
  const gate = deferred()
  const cut = pipeline('cut', { input: typed<number[]>() }).stage('part', {
    each: 'input',
    queue: 'gpu',
    run: () => gate.promise,
  })
  await pawl.configure('gpu', { concurrency: 3 })
  pawl.work([cut], { concurrency: 3 })
  const [first, second] = [await pawl.submit(cut, [1, 2, 3]), await pawl.submit(cut, [1])]
  const said = async (): Promise<string[]> => {
    const { reasons } = await pawl.explain(second.id)
    return reasons.filter(({ what }) => what === 'queue-limit').map(({ message }) => message)
  }
  const full = `3 of 3 places of queue 'gpu' are taken, by 3 tasks of ${first.id}.`
  await expect.poll(said).toEqual([full])
  gate.resolve()
  await second.result()
})

/** Why a job does not run that waits so. */
async function reasonsFor(
  needs: 'all' | 'any',
  waits: readonly WaitSpec[],
): Promise<readonly Reason[]> {
  const [folder, clock] = [await temporaryFolder(), new TestClock()]
  clock.time = Date.now()
  const store = await openDirectory(folder, { clock })
  await store.execute([{ type: 'SubmitJob', job: 'a', spec: plain() }])
  const [leased] = await store.claim(claim({ request: 1 }))
  const report = { ...reportOf(leased as Claimed), unfit: [], definitionVersion: 1 }
  const [answer] = await store.execute([{ type: 'SuspendExecution', ...report, needs, waits }])
  expect(answer?.verdict, answer?.rejection?.message).toBe('committed')
  await store.close()
  const pawl = await open(folder)
  onTestFinished(() => pawl.close())
  return (await pawl.explain('a')).reasons.filter(({ what }) => what !== 'no-worker')
}

const callee = call()
const approval: WaitSpec = { ...callee, name: 'ask', message: 'approved', callee: null }
const nap: WaitSpec = { ...callee, name: 'nap', delayMs: 3_600_000, callee: null }

it('a wait without a time has no end of its own, and what it is for is named', async () => {
  expect(await reasonsFor('all', [approval, callee])).toEqual([
    expect.objectContaining({
      what: 'suspended',
      until: null,
      message: expect.stringMatching(
        /^It waits since .*Z, without a limit of time, for message 'approved' and the end of job \S+ \('call'\), which is about to be submitted\.$/,
      ) as string,
    }),
  ])
})

it('a wait that time ends says when', async () => {
  const [only, ...others] = await reasonsFor('any', [approval, nap])
  expect(others).toEqual([])
  const at = only?.until?.toISOString()
  const since = new Date((only?.until?.getTime() ?? 0) - 3_600_000).toISOString()
  expect(only).toMatchObject({
    what: 'suspended',
    message: `It waits since ${since} for message 'approved' or its time ('nap'), until ${at} at the latest.`,
  })
})
