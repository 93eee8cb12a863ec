import { expect, it, onTestFinished } from 'vitest'
import { MemoryStore } from '../store/index.ts'
import { realTiming } from '../worker/index.ts'
import { job } from '../definition/index.ts'
import { Pawl } from './pawl.ts'

/** A job whose only worker fell silent, and whose lease has run out. */
async function lost(quarantine: 'always' | 'never'): Promise<{ pawl: Pawl; id: string }> {
  let now = 1_000
  const store = new MemoryStore({ now: () => now })
  const pawl = new Pawl({
    store,
    timing: realTiming(() => now),
    onError: () => undefined,
    backup: null,
    onClose: () => undefined,
  })
  onTestFinished(() => pawl.close())
  const silent = job('silent', { retry: { max: 0 }, quarantine, run: () => 1 })
  const { id } = await pawl.submit(silent)
  const channels = [{ queue: 'default', type: 'silent', stage: null }]
  await store.claim({ worker: 'w', request: 1, channels, max: 1, started: true })
  now += 60_000
  await pawl.upkeep()
  return { pawl, id }
}

const WHY = 'The lease of its last attempt was lost (LeaseExpired): history() says why.'

it('a job that failed because its lease was lost says so', async () => {
  const { pawl, id } = await lost('never')
  await expect(pawl.handle(id).result()).rejects.toMatchObject({
    code: 'JobFailed',
    message: `Job ${id} (silent) failed. ${WHY}`,
    failure: null,
  })
})

it('a job that is in quarantine because its lease was lost is explained so', async () => {
  const { pawl, id } = await lost('always')
  const [first] = (await pawl.explain(id)).reasons
  expect(first?.message).toBe(
    `Job ${id} waits for an operator. It used up its retries: retry, force or discard it. ${WHY}`,
  )
})
