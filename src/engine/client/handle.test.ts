import { expect, it, onTestFinished } from 'vitest'
import { Bench, grown } from '../../../test/support/directory-bench.ts'
import { Pawl } from '../pawl.ts'
import { realTiming } from '../../store/clock.ts'

/** An engine whose oldest jobs are older than the history that is kept. */
async function worn(): Promise<{ bench: Bench; pawl: Pawl }> {
  const bench = await grown({})
  await bench.finish(1)
  for (let i = 0; i < 100; i++) {
    await bench.submit(`later ${i}`)
    bench.now += 100
  }
  for (let i = 0; i < 3; i++) await bench.store.checkpoint()
  const pawl = new Pawl({
    store: bench.store,
    timing: realTiming(() => bench.now),
    onError: () => undefined,
    backup: null,
    onClose: () => undefined,
  })
  onTestFinished(() => pawl.close())
  return { bench, pawl }
}

it('the events of a job that is older than the history begin with what happens next', async () => {
  const { pawl } = await worn()
  const id = 'job 1'
  expect(await pawl.history(id)).toEqual([])
  const seen: string[] = []
  const watched = (async () => {
    for await (const { entry } of pawl.handle(id).events()) seen.push(entry.type)
  })()
  await pawl.cancel(id)
  await watched
  expect(seen).toEqual(['JobCancelled'])
  // What the job was before is not known any more.
  expect(await pawl.history(id)).toMatchObject([{ type: 'JobCancelled', from: null, to: null }])
})

it('the events of a job that ended longer ago than the history are none', async () => {
  const { pawl } = await worn()
  const handle = pawl.handle('job 0')
  expect(await handle.state()).toBe('SUCCEEDED')
  const seen: unknown[] = []
  for await (const event of handle.events()) seen.push(event)
  expect(seen).toEqual([])
})

it('the events of a job that there is not are refused', async () => {
  const { pawl } = await worn()
  const events = pawl.handle('nobody').events()[Symbol.asyncIterator]()
  await expect(events.next()).rejects.toMatchObject({ code: 'UnknownJob' })
})
