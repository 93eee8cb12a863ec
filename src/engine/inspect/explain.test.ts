/** What `explain` says of a job that waits in a suspension. */
import { expect, it, onTestFinished } from 'vitest'
import { claim, reportOf, TestClock } from '../../../test/conformance/bench.ts'
import { temporaryFolder } from '../../../test/support/engines.ts'
import { call, plain } from '../../../test/support/specs.ts'
import type { WaitSpec } from '../../kernel/index.ts'
import type { Claimed } from '../../store/index.ts'
import { openDirectory } from '../../store/index.ts'
import { open } from '../open.ts'
import type { Reason } from './explain.ts'

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
