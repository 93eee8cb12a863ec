/** A directory that is compacted: what was erased is in none of its files, and everything else is. */
import { describe, expect, it } from 'vitest'
import { Bench, range } from '../../../test/support/directory-bench.ts'
import { deferred } from '../../../test/support/engines.ts'
import { onRecord, pipeline, plain, stage } from '../../../test/support/specs.ts'
import type { DirectoryOptions } from '../index.ts'

const SECRET = 'a-secret'
const OPTIONS: Partial<DirectoryOptions> = { historyMs: Infinity }

function filesWith(bench: Bench, text = SECRET): string[] {
  const { disk } = bench
  return disk.paths().filter((path) => disk.bytesOf(path).includes(text))
}

async function submitSecret(bench: Bench, id = 'a'): Promise<void> {
  const spec = plain({ input: JSON.stringify(SECRET) })
  await bench.store.execute([{ type: 'SubmitJob', job: id, spec }])
}

async function erase(bench: Bench, id = 'a'): Promise<void> {
  const [answer] = await bench.store.execute([{ type: 'EraseJob', job: id, ...onRecord }])
  expect(answer?.verdict).toBe('committed')
}

/** A secret among the jobs of a checkpoint, one of which is still open, with others behind it. */
async function withSecret(): Promise<Bench> {
  const bench = await new Bench().open(OPTIONS)
  await bench.submit(...range(5))
  await submitSecret(bench)
  await bench.submit(...range(20, 'more'))
  await bench.finish(100)
  await bench.submit('open')
  for (let i = 0; i < 2; i++) await bench.store.checkpoint()
  return bench
}

async function statesOf({ store }: Bench): Promise<string[]> {
  const { jobs } = await store.query({ kind: 'jobs', limit: 99 })
  return jobs.map(({ id, state, erasedAt }) => `${id} ${state} ${erasedAt !== null}`)
}

describe('a compacted directory', () => {
  it('has nothing of a job that an older checkpoint holds, and all of the others', async () => {
    const bench = await withSecret()
    await erase(bench)
    expect(filesWith(bench)).not.toEqual([])
    const before = await statesOf(bench)
    expect(before).toContain('a SUCCEEDED true')
    await bench.store.compact()
    expect(filesWith(bench)).toEqual([])
    expect(await statesOf(bench)).toEqual(before)
    await bench.store.close()
    const again = await new Bench(bench.disk.clone()).open(OPTIONS)
    expect(await statesOf(again)).toEqual(before)
    expect(await again.finish(9)).toEqual(['open'])
  })

  it('has nothing of one that ended, and was erased, since the last checkpoint', async () => {
    const bench = await withSecret()
    await submitSecret(bench, 'b')
    await bench.finish(9)
    for (const id of ['a', 'b']) await erase(bench, id)
    await bench.store.compact()
    expect(filesWith(bench)).toEqual([])
  })

  it('has nothing of a pipeline whose large input was read from the log', async () => {
    const bench = await new Bench().open({ ...OPTIONS, segmentBytes: 1_048_576 })
    const input = JSON.stringify(`${'x'.repeat(70_000)} ${SECRET}`)
    const spec = pipeline([stage('one')], { input })
    await bench.store.execute([
      { type: 'SubmitJob', job: 'p', spec },
      { type: 'CancelJob', job: 'p', ...onRecord },
    ])
    await erase(bench, 'p')
    await bench.store.compact()
    expect(filesWith(bench)).toEqual([])
    expect(await statesOf(bench)).toEqual(['p FAILED true'])
  })

  it('gives up the history before it, of all jobs, and keeps what follows', async () => {
    const bench = await withSecret()
    await erase(bench)
    await bench.store.compact()
    expect(await bench.store.query({ kind: 'history', job: 'job 1', limit: 9 })).toEqual([])
    await bench.finish(9)
    const history = await bench.store.query({ kind: 'history', job: 'open', limit: 9 })
    expect(history.map(({ entry }) => entry.type)).toEqual(['LeaseGranted', 'ExecutionCommitted'])
  })

  it('keeps files that a backup reads, and says that it has to be compacted again', async () => {
    const bench = await withSecret()
    await erase(bench)
    const held = deferred()
    const backup = bench.store.backup('/backup', () => held.promise)
    await expect(bench.store.compact()).rejects.toMatchObject({
      code: 'CompactionIncomplete',
      kind: 'retryable',
    })
    held.resolve()
    await backup
    await bench.store.compact()
    expect(filesWith(bench).filter((path) => path.startsWith('/store/'))).toEqual([])
  })

  it('goes on as before if there is no room for it', async () => {
    const bench = await withSecret()
    await erase(bench)
    bench.disk.capacity = bench.disk.used + 1_024
    await expect(bench.store.compact()).rejects.toThrow(/was not compacted: ENOSPC/)
    bench.disk.capacity = Infinity
    await bench.submit('later')
    await bench.store.compact()
    expect(filesWith(bench)).toEqual([])
  })

  it('loses nothing, and can be compacted again, whichever call loses the power', async () => {
    const ended = await withSecret()
    await erase(ended)
    const before = await statesOf(ended)
    await ended.store.close()
    const calls = await (async () => {
      const whole = await new Bench(ended.disk.clone()).open(OPTIONS)
      const first = whole.disk.calls
      await whole.store.compact()
      return whole.disk.calls - first
    })()
    expect(calls).toBeGreaterThan(20)
    for (let call = 0; call < calls; call += 3) {
      const bench = await new Bench(ended.disk.clone()).open(OPTIONS)
      bench.disk.crashAt(call + 1)
      await bench.store.compact().catch(() => undefined)
      const again = await new Bench(bench.disk.crash('nothing')).open(OPTIONS)
      expect(await statesOf(again), `after call ${call}`).toEqual(before)
      await again.store.compact()
      expect(filesWith(again), `after call ${call}`).toEqual([])
      await again.store.close()
    }
  })
})
