/**
 * The index of a file of finished jobs is damaged, its records are not: nothing is lost, though both
 * checkpoints share the file and the log that led to it is gone.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import { Bench, range } from '../../../test/support/directory-bench.ts'
import { DiskWrapper, FileWrapper } from '../../../test/faults/damage/disk-wrapper.ts'
import { SimDisk } from '../../../test/faults/sim/sim-disk.ts'
import { plain } from '../../../test/support/specs.ts'
import type { Command } from '../../kernel/index.ts'
import type { Manifest } from '../../log/index.ts'
import { listCheckpoints, FinishedFile } from '../../log/index.ts'
import type { Access, DiskFile } from '../../log/disk/disk.ts'
import { indexBytes } from '../../log/checkpoint/finished-index.ts'
import { repairDirectory } from '../offline/owned-folder.ts'
import { verifyDirectory } from '../offline/verify-directory.ts'

const COUNT = 60
const offline = (disk: SimDisk) => ({
  disk,
  own: async () => ({ release: async () => undefined }),
})

function submit(job: string, key: string, priority: number): Command {
  const input = JSON.stringify('x'.repeat(500))
  return { type: 'SubmitJob', job, spec: plain({ key, priority, input }) }
}

async function finish(bench: Bench, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    await bench.finish(1)
    bench.now += 1
  }
}

let whole: SimDisk
/** Of the file that both checkpoints have. */
let path: string
let finishedFile: Manifest['finishedFiles'][number]

/** Ids and keys of every file of finished jobs, in an order of their ends that is not that of submission. */
beforeAll(async () => {
  const bench = await new Bench().open({ historyMs: 0 })
  for (const [i, id] of range(COUNT).entries()) {
    await bench.store.execute([submit(id, `key ${id}`, (i * 7) % COUNT)])
  }
  await finish(bench, COUNT)
  await bench.store.checkpoint()
  const gone = ['job 3', 'job 30', 'job 59']
  await bench.store.execute(
    gone.map((job): Command => ({ type: 'ForgetJob', job, endedBefore: bench.now })),
  )
  for (const name of ['second', 'third']) {
    await bench.store.execute(range(4, name).map((id) => submit(id, `key ${id}`, 0)))
    await finish(bench, 3)
    await bench.store.checkpoint()
  }
  await bench.store.close()
  whole = bench.disk
  const { manifests } = await listCheckpoints(whole, '/store')
  const [newest, older] = manifests as [Manifest, Manifest]
  ;[finishedFile] = newest.finishedFiles as [Manifest['finishedFiles'][number]]
  path = `/store/${finishedFile.name}`
  expect(older.finishedFiles.map(({ name }) => name)).toContain(finishedFile.name)
  expect(finishedFile).toMatchObject({ records: COUNT })
  expect(finishedFile.gone).toHaveLength(3)
  const [first] = bench.segments() as [string]
  expect(Number.parseInt(first.slice(-16), 16)).toBeGreaterThan(0)
})

function flip(disk: SimDisk, at: number): SimDisk {
  disk.patch(path, at, Buffer.from([(disk.bytesOf(path)[at] as number) ^ 16]))
  return disk
}

function cut(disk: SimDisk, at: number): SimDisk {
  disk.put(path, disk.bytesOf(path).subarray(0, at))
  return disk
}

/** All that a store says of its jobs: by id, in lists, by key, and which are forgotten first. */
async function saidBy(bench: Bench): Promise<unknown> {
  const ids = [...range(COUNT), ...range(4, 'second'), ...range(4, 'third')]
  const views = []
  const histories = []
  for (const job of ids) {
    views.push(await bench.store.query({ kind: 'job', job }))
    histories.push(await bench.store.query({ kind: 'history', job, limit: 100 }))
  }
  const page = await bench.store.query({ kind: 'jobs', limit: 1_000 })
  const upkeep = await bench.store.query({ kind: 'upkeep', limit: 1_000 })
  const again = ids.map((id) => submit(`again ${id}`, `key ${id}`, 0))
  const holders = (await bench.store.execute(again)).map(({ value }) => value)
  return { views, histories, page, upkeep, holders }
}

async function opened(disk: SimDisk): Promise<Bench> {
  return new Bench(disk).open({ historyMs: 0, retention: { count: 5 } })
}

/** The last byte of a file of finished jobs is written as another one. */
class Scribbling extends DiskWrapper {
  override async open(file: string, access: Access): Promise<DiskFile> {
    const inner = await super.open(file, access)
    return file.includes('/finished-') ? new ScribbledFile(inner) : inner
  }
}

class ScribbledFile extends FileWrapper {
  override async write(bytes: Uint8Array, at: number): Promise<number> {
    const other = Buffer.from(bytes)
    other[other.length - 1] = (other.at(-1) ?? 0) ^ 1
    return super.write(other, at)
  }
}

describe('a file of finished jobs with a damaged index', () => {
  it('opens, and everything on it is found as before', async () => {
    const before = await opened(whole.clone())
    const said = (await saidBy(before)) as { upkeep: Command[]; holders: unknown[]; page: unknown }
    expect(said.upkeep.length).toBeGreaterThan(50)
    expect(said.holders).toContain('job 0')
    expect(said.holders).toContain('again job 3')
    expect(before.notices).toEqual([])
    const size = indexBytes(COUNT)
    const places = Array.from(
      { length: 17 },
      (_, i) => finishedFile.end + Math.floor((i * (size - 1)) / 16),
    )
    const disks = [
      ...places.map((at) => flip(whole.clone(), at)),
      ...places.map((at) => cut(whole.clone(), at)),
    ]
    for (const disk of disks) {
      const bench = await opened(disk)
      expect(bench.notices).toEqual([{ kind: 'finished-index-rebuilt', file: path }])
      expect(await saidBy(bench)).toEqual(said)
      await bench.store.close()
      expect(disk.openFiles).toBe(0)
    }
  })

  it('is named by verify, which goes on with what its records say', async () => {
    const sound = await verifyDirectory('/store', offline(whole))
    expect(sound.problems).toEqual([])
    const disk = flip(whole.clone(), finishedFile.end + 9)
    const { problems, ...rest } = await verifyDirectory('/store', offline(disk))
    expect(problems).toMatchObject([{ file: path, offset: finishedFile.end }])
    expect({ problems: [], ...rest }).toEqual(sound)
  })

  it('is whole again in another file after the next checkpoint', async () => {
    const bench = await opened(flip(whole.clone(), finishedFile.end + 9))
    await bench.store.checkpoint()
    // Said once, though the checkpoint read it again.
    expect(bench.notices.map(({ kind }) => kind)).toEqual([
      'finished-index-rebuilt',
      'checkpoint-made',
    ])
    await bench.store.checkpoint()
    expect(bench.disk.paths()).not.toContain(path)
    await bench.store.close()
    const { problems } = await verifyDirectory('/store', offline(bench.disk))
    expect(problems).toEqual([])
  })

  it('that were whole when the store was opened do not keep a checkpoint from being made', async () => {
    const bench = await opened(whole.clone())
    flip(bench.disk, finishedFile.end + 9)
    await bench.store.checkpoint()
    expect(bench.notices[0]).toEqual({ kind: 'finished-index-rebuilt', file: path })
    await bench.store.checkpoint()
    await bench.store.close()
    const { problems } = await verifyDirectory('/store', offline(bench.disk))
    expect(problems).toEqual([])
  })

  it('is repaired by writing the index anew, and no checkpoint is given up', async () => {
    const disk = flip(whole.clone(), finishedFile.end + 9)
    const report = await repairDirectory('/store', { ...offline(disk), apply: true })
    expect(report.steps).toEqual([`write the index of ${finishedFile.name} anew`])
    expect(report.checkpoints).toEqual([])
    expect(disk.bytesOf(path)).toEqual(whole.bytesOf(path))
    expect(disk.bytesOf(`${report.aside}/${finishedFile.name}`)).not.toEqual(whole.bytesOf(path))
  })

  it('and a damaged record does not open, and names the record', async () => {
    const disk = flip(flip(whole.clone(), finishedFile.end + 9), 100)
    const before = disk.paths().map((one) => disk.bytesOf(one))
    const attempt = opened(disk)
    await expect(attempt).rejects.toMatchObject({ code: 'CorruptLog' })
    expect(disk.paths().map((one) => disk.bytesOf(one))).toEqual(before)
    expect(disk.openFiles).toBe(0)
    const { problems } = await verifyDirectory('/store', offline(disk))
    expect(problems.map(({ file }) => file)).toContain(path)
  })

  it('that do not follow from its records are not used', async () => {
    const disk = flip(whole.clone(), finishedFile.end + 9)
    const attempt = FinishedFile.open(disk, '/store', {
      ...finishedFile,
      index: finishedFile.index ^ 1,
    })
    await expect(attempt).rejects.toMatchObject({ code: 'CorruptLog' })
    expect(disk.openFiles).toBe(0)
  })

  it('is not used by a checkpoint that has just written it', async () => {
    const disk = new SimDisk()
    const bench = await new Bench(disk).open({ disk: new Scribbling(disk) })
    await bench.submit(...range(3))
    await finish(bench, 3)
    await expect(bench.store.checkpoint()).rejects.toMatchObject({ code: 'CorruptLog' })
    expect(bench.checkpoints()).toEqual([])
    expect(disk.paths().filter((one) => one.includes('/finished-'))).toEqual([])
  })
})
