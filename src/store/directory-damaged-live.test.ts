/**
 * A job that is not over, and whose record in the newest checkpoint does not check: others are
 * handed out, a checkpoint is made from the one before, and then the job is there as it was.
 */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Bench, range } from '../../test/support/directory-bench.ts'
import { plain } from '../../test/support/specs.ts'
import type { Command, JobSpec } from '../kernel/index.ts'
import { realDisk } from '../log/index.ts'
import type { Notice } from './notice.ts'
import { openDirectory } from './open-directory.ts'
import type { Claimed } from './store.ts'
import { verifyDirectory } from './verify-directory.ts'

const own = async () => ({ release: async () => undefined })

function submit(job: string, changes: Partial<JobSpec> = {}): Command {
  return { type: 'SubmitJob', job, spec: plain({ key: `key of ${job}`, ...changes }) }
}

function live(bench: Bench): string[] {
  return bench.disk.paths().filter((path) => path.includes('/live-'))
}

function damage(bench: Bench, path: string, job: string): void {
  const at = bench.disk.bytesOf(path).indexOf(`key of ${job}`)
  expect(at).toBeGreaterThan(0)
  bench.disk.patch(path, at, Buffer.from('KEY'))
}

/** Six jobs that wait; the record of `job 2` in the newest of two checkpoints does not check. */
async function damaged(changes: Partial<JobSpec> = {}): Promise<Bench> {
  const bench = await new Bench().open()
  await bench.store.execute(range(6).map((id) => submit(id, id === 'job 2' ? changes : {})))
  for (let i = 0; i < 2; i++) await bench.store.checkpoint()
  bench.notices.length = 0
  damage(bench, live(bench).at(-1) as string, 'job 2')
  return bench
}

async function claimOther({ store }: Bench): Promise<readonly Claimed[]> {
  const channels = [{ queue: 'default', type: 'other', stage: null }]
  return store.claim({ worker: 'w2', request: 1, channels, max: 1, started: true })
}

function kinds(notices: readonly Notice[]): string[] {
  return notices.map(({ kind }) => kind)
}

describe('a claim that meets a job whose record is damaged', () => {
  it('gets the others, a notice names the job, and the next claim gets it', async () => {
    const bench = await damaged()
    expect(await bench.finish(9)).toEqual(['job 0', 'job 1', 'job 3', 'job 4', 'job 5'])
    expect(bench.notices[0]).toMatchObject({
      kind: 'job-unreadable',
      error: { code: 'CorruptLog', details: { job: "job 'job 2'" } },
    })
    expect(await bench.finish(9)).toEqual(['job 2'])
    expect(kinds(bench.notices)).toEqual([
      'job-unreadable',
      'checkpoint-damaged',
      'checkpoint-made',
    ])
    await bench.store.close()
    const { problems } = await verifyDirectory('/store', { disk: bench.disk, own })
    expect(problems).toEqual([])
  })

  it('and no other waits for the checkpoint, and gets it', async () => {
    const bench = await damaged({ type: 'other' })
    expect(await claimOther(bench)).toMatchObject([{ job: 'job 2', input: '{}' }])
    expect(kinds(bench.notices)).toContain('checkpoint-made')
  })

  it('that is due only later finds it when it is', async () => {
    const bench = await damaged({ delayMs: 100 })
    bench.now += 100
    expect(await bench.finish(9)).toEqual(['job 0', 'job 1', 'job 3', 'job 4', 'job 5'])
    expect(await bench.finish(9)).toEqual(['job 2'])
    expect((await bench.store.query({ kind: 'queue', queue: 'default' })).ready).toBe(0)
  })

  it('counts one right that was due when it could not be read, and then was cancelled', async () => {
    const bench = await damaged({ delayMs: 100 })
    bench.now += 100
    const ready = async () => (await bench.store.query({ kind: 'queue', queue: 'default' })).ready
    expect(await ready()).toBe(5)
    await expect.poll(() => kinds(bench.notices)).toContain('checkpoint-made')
    await bench.store.execute([{ type: 'CancelJob', job: 'job 2', by: 'ann', reason: 'test' }])
    expect(await ready()).toBe(5)
    expect(await bench.finish(9)).toHaveLength(5)
  })

  it('has the whole log to read from if there is no other checkpoint', async () => {
    const bench = await new Bench().open()
    await bench.store.execute(range(3).map((id) => submit(id)))
    await bench.store.checkpoint()
    damage(bench, live(bench)[0] as string, 'job 1')
    expect(await bench.finish(9)).toEqual(['job 0', 'job 2'])
    expect(await bench.finish(9)).toEqual(['job 1'])
  })

  it('ends the store if no checkpoint can be made: nothing is lost, and it says what it is', async () => {
    const bench = await damaged({ type: 'other' })
    damage(bench, live(bench)[0] as string, 'job 2')
    await expect(claimOther(bench)).rejects.toMatchObject({
      code: 'StoreEnded',
      message: expect.stringContaining("(job 'job 2')") as string,
    })
    // Without a checkpoint that checks, the log has all of it.
    const again = await new Bench(bench.disk.crash('nothing')).open()
    expect(await claimOther(again)).toMatchObject([{ job: 'job 2' }])
    expect(await again.finish(9)).toHaveLength(5)
  })
})

describe('a command about a job whose record is damaged', () => {
  it('is refused, nothing of its call is done, and it is done once there is another checkpoint', async () => {
    const bench = await damaged()
    const cancel: Command = { type: 'CancelJob', job: 'job 2', by: 'ann', reason: 'test' }
    const attempt = bench.store.execute([submit('one more'), cancel])
    await expect(attempt).rejects.toMatchObject({ code: 'CorruptLog' })
    expect(await bench.store.query({ kind: 'job', job: 'one more' })).toBeNull()
    await expect.poll(() => kinds(bench.notices)).toContain('checkpoint-made')
    const answers = await bench.store.execute([submit('one more'), cancel])
    expect(answers.map(({ verdict }) => verdict)).toEqual(['committed', 'committed'])
    expect((await bench.store.query({ kind: 'outcome', job: 'job 2' }))?.state).toBe('FAILED')
  })
})

describe('a checkpoint', () => {
  it('is made from the one before, if a record of the newest does not check', async () => {
    const bench = await damaged()
    const [older] = bench.checkpoints()
    await bench.store.checkpoint()
    expect(kinds(bench.notices)).toEqual(['checkpoint-damaged', 'checkpoint-made'])
    // The damaged one is not kept: old segments may only go behind two that check.
    expect(bench.checkpoints()).toEqual([older, expect.any(String)])
    expect(await bench.finish(9)).toEqual(range(6))
  })
})

describe('what a worker has in hand', () => {
  it('is in memory until it is given back, and no longer', async () => {
    const bench = await new Bench().open()
    await bench.store.execute([submit('job 0')])
    await bench.store.checkpoint()
    const channels = [{ queue: 'default', type: 'test', stage: null }]
    const claim = { worker: 'w2', channels, max: 1, started: true }
    const input = (): Promise<unknown> => bench.store.query({ kind: 'input', job: 'job 0' })
    await bench.store.claim({ ...claim, request: 1 })
    bench.reads()
    await input()
    expect(bench.reads()).toEqual(new Set())
    const lease = { job: 'job 0', stage: 0, segment: 0, lease: 1, worker: 'w2' }
    await bench.store.execute([{ type: 'ReleaseLease', ...lease }])
    // Another file, so that its window is read again.
    await bench.store.checkpoint()
    bench.reads()
    await input()
    expect(bench.reads()).toEqual(new Set(['live']))
  })
})

describe('a live job that is damaged in a real directory', () => {
  it('is handed out once a thread has made another checkpoint', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'pawl-live-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const bench = new Bench()
    const { notices } = bench
    bench.store = await openDirectory(folder, {
      disk: realDisk,
      checkpointBytes: Infinity,
      onNotice: (notice) => notices.push(notice),
    })
    onTestFinished(() => bench.store.close())
    await bench.store.execute(range(6).map((id) => submit(id)))
    for (let i = 0; i < 2; i++) await bench.store.checkpoint()
    const name = (await readdir(folder))
      .toSorted()
      .findLast((one) => one.startsWith('live-')) as string
    const bytes = await readFile(join(folder, name))
    bytes.write('KEY', bytes.indexOf('key of job 2'))
    await writeFile(join(folder, name), bytes)
    expect(await bench.finish(9)).toHaveLength(5)
    expect(await bench.finish(9)).toEqual(['job 2'])
    expect(kinds(notices)).toContain('checkpoint-damaged')
  })
})
