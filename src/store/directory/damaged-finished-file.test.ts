/**
 * A job that is over stands in a file whose bytes have changed: the call that needs it is
 * refused, nothing is decided on a guess, and the store goes on.
 */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Bench, range } from '../../../test/support/directory-bench.ts'
import { child, onRecord, plain } from '../../../test/support/specs.ts'
import type { Command } from '../../kernel/index.ts'
import { realDisk } from '../../log/index.ts'
import { openDirectory } from './open-directory.ts'
import { repairDirectory } from '../offline/owned-folder.ts'
import { verifyDirectory } from '../offline/verify-directory.ts'

const CHANNEL = { queue: 'default', type: 'test', stage: null }

/** A report under the first lease of a job, long after it ended. */
function late(job: string): Command {
  return { type: 'ReleaseLease', job, stage: 0, segment: 0, lease: 1, worker: 'w' }
}

function submit(job: string, key: string | null = null): Command {
  return { type: 'SubmitJob', job, spec: plain({ key, input: '"xxxxxxxxxxxxxxxx"' }) }
}

function finishedFileOf(bench: Bench): string {
  const paths = bench.disk.paths().filter((path) => path.includes('/finished-'))
  expect(paths).toHaveLength(1)
  return paths[0] as string
}

/** Some bytes of one job's record are others. */
function damage(bench: Bench, job: string): void {
  const path = finishedFileOf(bench)
  const at = bench.disk.bytesOf(path).indexOf(`key of ${job}`)
  expect(at).toBeGreaterThan(0)
  bench.disk.patch(path, at, Buffer.from('KEY'))
}

/** Six jobs that are over and stand in a file; the record of `job 3` does not check. */
async function damaged(): Promise<Bench> {
  const bench = await new Bench().open()
  await bench.store.execute(range(6).map((id) => submit(id, `key of ${id}`)))
  await bench.finish(6)
  await bench.store.checkpoint()
  await bench.store.close()
  damage(bench, 'job 3')
  return bench.open()
}

function refusal(bench: Bench, job: string): object {
  const file = finishedFileOf(bench)
  return {
    code: 'CorruptLog',
    kind: 'corrupt',
    message: expect.stringContaining(`(${job}): a record in it does not check.`) as string,
    details: { file, job, offset: expect.any(Number) as number },
  }
}

/** Work of all kinds is done, and what was done before is known. */
async function goesOn(bench: Bench): Promise<void> {
  await bench.submit('later')
  expect(await bench.finish(9)).toContain('later')
  const answers = await bench.store.execute([late('job 2'), late('later')])
  expect(answers.map(({ verdict }) => verdict)).toEqual(['cancelled', 'cancelled'])
  const view = await bench.store.query({ kind: 'outcome', job: 'job 4' })
  expect(view?.state).toBe('SUCCEEDED')
}

describe('a command about a finished job whose record is damaged', () => {
  it('is refused with file, place and job, and the store goes on', async () => {
    const bench = await damaged()
    const attempt = bench.store.execute([late('job 3')])
    await expect(attempt).rejects.toMatchObject(refusal(bench, "job 'job 3'"))
    await expect(attempt).rejects.toThrow(/verifyDirectory.*repairDirectory/)
    await goesOn(bench)
  })

  it('is not taken for one about an unknown job', async () => {
    const bench = await damaged()
    const again = bench.store.execute([submit('job 3', 'key of job 3')])
    await expect(again).rejects.toMatchObject(refusal(bench, "job 'job 3'"))
    const asked = bench.store.query({ kind: 'job', job: 'job 3' })
    await expect(asked).rejects.toMatchObject(refusal(bench, "job 'job 3'"))
    await goesOn(bench)
  })

  it('may name it by its key', async () => {
    const bench = await damaged()
    const attempt = bench.store.execute([submit('another', 'key of job 3')])
    const whose = "the test with the key 'key of job 3'"
    await expect(attempt).rejects.toMatchObject(refusal(bench, whose))
    expect(await bench.store.query({ kind: 'job', job: 'another' })).toBeNull()
    await goesOn(bench)
  })

  it('keeps its whole call from being done, and nothing of it is', async () => {
    const bench = await damaged()
    const before = bench.disk.bytesOf(bench.segments()[0] as string)
    for (const at of [0, 1, 2]) {
      const commands = [submit('one'), late('job 2')]
      commands.splice(at, 0, late('job 3'))
      const attempt = bench.store.execute(commands)
      await expect(attempt).rejects.toMatchObject(refusal(bench, "job 'job 3'"))
    }
    expect(await bench.store.query({ kind: 'job', job: 'one' })).toBeNull()
    expect(bench.disk.bytesOf(bench.segments()[0] as string)).toEqual(before)
    await goesOn(bench)
  })

  it('that needs it only because of what came before in its call: that is said', async () => {
    const bench = await damaged()
    await bench.submit('parent')
    const claim = { worker: 'other', request: 1, channels: [CHANNEL], max: 1, started: true }
    await bench.store.claim(claim)
    const address = { job: 'parent', stage: 0, segment: 0, lease: 1, worker: 'other' }
    const effects = [child(plain({ key: 'key of job 3', input: '"xxxxxxxxxxxxxxxx"' }))]
    const commit: Command = { type: 'CommitExecution', ...address, output: '1', effects }
    const finish: Command = { type: 'FinishEffect', ...address, effect: 0 }
    await expect(bench.store.execute([commit, finish])).rejects.toMatchObject({
      code: 'UnknownOutcome',
      message: expect.stringContaining('The first 1 commands of this call were done') as string,
      cause: { code: 'CorruptLog' },
    })
    const [answer] = await bench.store.execute([commit])
    expect(answer?.verdict).toBe('committed')
    await expect(bench.store.execute([finish])).rejects.toMatchObject({ code: 'CorruptLog' })
    await goesOn(bench)
  })

  it('is done if the job was read before: then nothing needs to be read again', async () => {
    const bench = await damaged()
    // By this it comes in, and nothing changes.
    await bench.store.execute([{ type: 'ReleaseJob', job: 'job 5', ...onRecord }])
    damage(bench, 'job 5')
    // Its window moves, so that what is on the disk would be seen.
    await bench.store.query({ kind: 'job', job: 'job 0' })
    const [answer] = await bench.store.execute([late('job 5')])
    expect(answer?.verdict).toBe('cancelled')
    const view = await bench.store.query({ kind: 'job', job: 'job 5' })
    expect(view?.job.task?.leases[0]?.refused).toBe(true)
    await goesOn(bench)
  })
})

describe('a damaged file of finished jobs in a real directory', () => {
  it('is found by verify, and its jobs are known again once it was repaired', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'pawl-finished-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const bench = new Bench()
    const open = async (): Promise<void> => {
      bench.store = await openDirectory(folder, { disk: realDisk, checkpointBytes: Infinity })
    }
    await open()
    await bench.store.execute(range(6).map((id) => submit(id, `key of ${id}`)))
    await bench.finish(6)
    await bench.store.checkpoint()
    await bench.store.close()
    const name = (await readdir(folder)).find((one) => one.startsWith('finished-')) as string
    const bytes = await readFile(join(folder, name))
    bytes.write('KEY', bytes.indexOf('key of job 3'))
    await writeFile(join(folder, name), bytes)

    await open()
    const attempt = bench.store.execute([late('job 3')])
    await expect(attempt).rejects.toMatchObject({
      code: 'CorruptLog',
      details: { file: join(folder, name), job: "job 'job 3'" },
    })
    await goesOn(bench)
    await bench.store.close()

    const { problems } = await verifyDirectory(folder)
    expect(problems.map(({ file }) => file)).toContain(join(folder, name))
    await repairDirectory(folder, { apply: true })
    await open()
    const [answer] = await bench.store.execute([late('job 3')])
    expect(answer?.verdict).toBe('cancelled')
    await bench.store.close()
  })
})
