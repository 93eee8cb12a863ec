/**
 * Verify finds nothing in a store that lived, and finds and names everything that is planted.
 */
import { describe, expect, it } from 'vitest'
import type { Command, Entry } from '../../../src/kernel/index.ts'
import type { Manifest } from '../../../src/log/checkpoint/manifest.ts'
import { readManifest, writeManifest } from '../../../src/log/checkpoint/manifest.ts'
import type { VerifyReport } from '../../../src/store/index.ts'
import { Ledger, openDirectory, verifyDirectory } from '../../../src/store/index.ts'
import { Dice } from '../../model/properties/dice.ts'
import { SimDisk } from '../sim/sim-disk.ts'
import { onRecord, pipeline, plain, stage } from '../../support/specs.ts'
import type { Growth } from './grown-store.ts'
import { filesOn, flip, FOLDER, forged, grown, offline, openOn } from './grown-store.ts'

const LIVED: Growth = { steps: 500, checkpoints: 2, openings: 2 }

async function verified(disk: SimDisk): Promise<VerifyReport> {
  const report = await verifyDirectory(FOLDER, offline(disk))
  expect(disk.openFiles).toBe(0)
  return report
}

function contents(disk: SimDisk): Record<string, string> {
  return Object.fromEntries(
    disk.paths().map((path) => [path, disk.bytesOf(path).toString('base64')]),
  )
}

/** A byte of a file that is not zero, and so is none that only fills up. */
function anyByte(dice: Dice, disk: SimDisk, path: string, from = 0): number {
  const bytes = disk.bytesOf(path)
  const places = [...bytes.keys()].filter((at) => at >= from && bytes[at] !== 0)
  return dice.pick(places)
}

/** Grows a store with small groups in its oldest segment, and with jobs in its newest file of finished ones. */
const RICH = 2

describe('verify of what is whole', () => {
  it.each([1, 2, 3, 4, 5, 8])('finds nothing, and changes nothing (seed %i)', async (seed) => {
    const historyMs = seed % 2 === 0 ? 100 : Infinity
    const disk = await grown(new Dice(seed), { ...LIVED, historyMs })
    const before = contents(disk)
    const progress: [number, number][] = []
    const report = await verifyDirectory(FOLDER, {
      ...offline(disk),
      onProgress: (done, total) => progress.push([done, total]),
    })
    expect(report.problems).toEqual([])
    expect(report.segments).toBe(filesOn(disk, 'log').length)
    expect(report.checkpoints).toBe(filesOn(disk, 'checkpoint').length)
    expect(report.from > 0).toBe(historyMs === 100)
    expect(contents(disk)).toEqual(before)
    expect(disk.openFiles).toBe(0)
    const dones = progress.map(([done]) => done)
    expect(dones).toEqual(dones.toSorted((a, b) => a - b))
    expect(progress.at(-1)?.[0]).toBe(progress.at(-1)?.[1])
  })

  it('finds nothing in an empty folder', async () => {
    const { disk } = offline((await grown(new Dice(1), { ...LIVED, steps: 1 })).clone())
    for (const path of disk.paths()) await disk.remove(path)
    const report = await verified(disk)
    expect(report).toMatchObject({ segments: 0, entries: 0, jobs: 0, end: 0, problems: [] })
  })

  it('says what is torn, and takes it for no problem', async () => {
    const disk = await grown(new Dice(3), LIVED)
    const { end } = await verified(disk)
    const store = await openOn(disk)
    const spec = plain({ input: JSON.stringify('long'.repeat(500)) })
    await store.execute([{ type: 'SubmitJob', job: 'long', spec }])
    await store.close()
    const last = filesOn(disk, 'log').at(-1) as string
    const base = Number.parseInt(last.slice(-16), 16)
    const offset = 4_096 + (end - base) * 8
    // As if the power had gone while the group was being written, before the mark was.
    disk.patch(last, offset, Buffer.alloc(512 - (offset % 512)))
    const mark = (await grown(new Dice(3), LIVED)).bytesOf(`${FOLDER}/MARK`)
    disk.put(`${FOLDER}/MARK`, mark)
    // The other disk is of another store, so its mark counts for nothing here.
    const report = await verified(disk)
    expect(report.problems.map(({ file, what }) => [file, what])).toEqual([
      [`${FOLDER}/MARK`, 'it belongs to another store.'],
    ])
    expect(report.torn).toMatchObject({ file: last, offset })
    expect(report.end).toBe(end)
  })
})

describe('verify of what is damaged', () => {
  const kinds = ['log', 'live', 'finished', 'checkpoint'] as const

  it.each(kinds)('finds any changed byte of a %s file, and names the file', async (kind) => {
    const dice = new Dice(7)
    const whole = await grown(new Dice(RICH), LIVED)
    expect(filesOn(whole, kind).length).toBeGreaterThan(0)
    for (let i = 0; i < 40; i++) {
      const disk = whole.clone()
      const path = dice.pick(filesOn(disk, kind))
      const at = anyByte(dice, disk, path)
      flip(disk, path, at)
      const { problems } = await verified(disk)
      expect(problems.map(({ file }) => file)).toContain(path)
      if (kind !== 'log') continue
      const [problem] = problems
      expect(problem?.offset).toBeLessThanOrEqual(at)
    }
  })

  it('finds all that is damaged, and not only the first', async () => {
    const disk = await grown(new Dice(RICH), LIVED)
    const dice = new Dice(3)
    const [oldest, second] = filesOn(disk, 'log')
    const live = filesOn(disk, 'live').at(-1)
    const finishedFile = filesOn(disk, 'finished').at(-1)
    const manifest = filesOn(disk, 'checkpoint')[0]
    const planted = [oldest, second, live, finishedFile, manifest] as string[]
    for (const path of planted) flip(disk, path, anyByte(dice, disk, path, 4_096 % 100))
    const { problems } = await verified(disk)
    for (const path of planted) expect(problems.map(({ file }) => file)).toContain(path)
  })

  it('finds a second damage in the same segment', async () => {
    const disk = await grown(new Dice(RICH), LIVED)
    const [oldest] = filesOn(disk, 'log') as [string]
    flip(disk, oldest, 4_200)
    // In a group: what stands between two of them holds nothing, and changes nothing.
    flip(disk, oldest, 10_000)
    const { problems } = await verified(disk)
    const offsets = problems.filter(({ file }) => file === oldest).map(({ offset }) => offset ?? 0)
    expect(offsets.some((offset) => offset <= 4_200)).toBe(true)
    expect(offsets.some((offset) => offset > 4_200 && offset <= 10_000)).toBe(true)
  })

  it('finds that a file is missing', async () => {
    const whole = await grown(new Dice(RICH), LIVED)
    for (const path of whole.paths()) {
      // It is made anew whenever it is not there.
      if (path.endsWith('/spare')) continue
      const disk = whole.clone()
      await disk.remove(path)
      const { problems } = await verified(disk)
      const isOldest = path === filesOn(whole, 'log')[0]
      const isManifest = path.includes('/checkpoint-')
      // A checkpoint that is gone as a whole was perhaps never made; and what is gone from the
      // beginning was perhaps removed as too old, if a checkpoint goes on from there.
      expect([path, problems.length > 0]).toEqual([path, !isManifest && !isOldest])
    }
  })

  it('finds a log that ends before its mark', async () => {
    const disk = await grown(new Dice(2), { ...LIVED, checkpoints: 0 })
    const { end } = await verified(disk)
    const last = filesOn(disk, 'log').at(-1) as string
    const base = Number.parseInt(last.slice(-16), 16)
    const offset = 4_096 + (end - base) * 8 - 64
    disk.patch(last, offset, Buffer.alloc(64))
    const { problems } = await verified(disk)
    expect(problems[0]).toMatchObject({
      file: last,
      what: 'entries that were durable are missing or damaged.',
    })
  })

  it('finds a checkpoint that checks and lacks a job', async () => {
    const disk = await grown(new Dice(RICH), LIVED)
    const path = filesOn(disk, 'checkpoint').at(-1) as string
    const position = Number.parseInt(path.slice(-16), 16)
    const manifest = await readManifest(disk, FOLDER, position)
    if (manifest === null) throw new Error('there is no checkpoint')
    const at = manifest.finishedFiles.findIndex(({ records, gone }) => records > gone.length)
    const finishedFiles = manifest.finishedFiles.map((finishedFile, i) => {
      if (i !== at) return finishedFile
      const left = Array.from({ length: finishedFile.records }, (_, row) => row).find(
        (row) => !finishedFile.gone.includes(row),
      ) as number
      return { ...finishedFile, gone: [...finishedFile.gone, left].toSorted((a, b) => a - b) }
    })
    await writeManifest(disk, FOLDER, { ...manifest, finishedFiles, queues: [] })
    const whats = (await verified(disk)).problems.map(({ what }) => what)
    expect(whats.some((what) => what.endsWith('is not in the checkpoint'))).toBe(true)
    expect(whats.some((what) => what.startsWith('queue'))).toBe(true)
  })

  it('finds a checkpoint that checks and does not say which jobs were erased', async () => {
    const disk = new SimDisk()
    const options = { disk, own: async () => ({ release: async () => undefined }) }
    const store = await openDirectory(FOLDER, options)
    const ended: Command[] = [
      { type: 'SubmitJob', job: 'a', spec: plain() },
      { type: 'CancelJob', job: 'a', ...onRecord },
      { type: 'EraseJob', job: 'a', ...onRecord },
    ]
    await store.execute(ended)
    await store.checkpoint()
    await store.close()
    expect((await verified(disk)).problems).toEqual([])
    const position = Number.parseInt(filesOn(disk, 'checkpoint')[0]?.slice(-16) as string, 16)
    const manifest = (await readManifest(disk, FOLDER, position)) as Manifest
    expect(manifest.erased).toHaveLength(1)
    await writeManifest(disk, FOLDER, { ...manifest, erased: [] })
    const whats = (await verified(disk)).problems.map(({ what }) => what)
    expect(whats).toEqual(['a was erased, and the checkpoint does not say so'])
  })
})

describe('verify of entries that check and are not legitimate', () => {
  const at = { job: 'a', stage: 0, segment: 0 } as const
  const held = { ...at, lease: 1, worker: 'w' } as const

  /** What really happened. */
  function history(): Entry[] {
    const entries: Entry[] = []
    const ledger = new Ledger((entry) => entries.push(entry))
    const grant = { type: 'GrantLease', ...at, worker: 'w', request: 1, started: true } as const
    ledger.perform({ type: 'SubmitJob', job: 'a', spec: plain() }, 10)
    ledger.perform(grant, 20)
    ledger.perform({ type: 'CommitExecution', ...held, output: '1', effects: [] }, 30)
    expect(entries.map(({ type }) => type)).toEqual([
      'JobSubmitted',
      'LeaseGranted',
      'ExecutionCommitted',
    ])
    return entries
  }

  it('finds nothing in what really happened', async () => {
    const report = await verified(await forged(history()))
    expect(report).toMatchObject({ entries: 3, jobs: 1, problems: [] })
  })

  it('finds a lease that was granted twice', async () => {
    const [submitted, granted, committed] = history() as [Entry, Entry, Entry]
    const again = { ...granted, version: granted.version + 1, lease: 2 } as Entry
    const then = { ...committed, version: committed.version + 1, lease: 2 } as Entry
    const { problems } = await verified(await forged([submitted, granted, again, then]))
    const [first] = problems
    expect(first?.what).toMatch(/lease 2 was granted while lease 1 is held/)
    expect(problems.map(({ what }) => what).join()).toMatch(/2 leases are not over/)
    // Each group is at least 128 bytes, and it is the third one.
    expect(first?.position).toBeGreaterThan(32)
    expect(first?.file).toBe(filesOn(await forged([]), 'log')[0])
  })

  it('finds a commit by a lease that is not held', async () => {
    const [submitted, granted, committed] = history() as [Entry, Entry, Entry]
    const wrong = { ...committed, lease: 7 } as Entry
    const { problems } = await verified(await forged([submitted, granted, wrong]))
    expect(problems.map(({ what }) => what).join()).toMatch(/lease 7/)
  })

  it('finds an entry that is there twice', async () => {
    const [submitted, granted, committed] = history() as [Entry, Entry, Entry]
    const { problems } = await verified(await forged([submitted, granted, committed, committed]))
    expect(problems.map(({ what }) => what).join()).toMatch(/version 3 after 3/)
  })

  it('checks version and time of entries of a job with very many tasks', async () => {
    const entries: Entry[] = []
    const ledger = new Ledger((entry) => entries.push(entry))
    const input = JSON.stringify(Array.from({ length: 150 }, (_, i) => i))
    const spec = pipeline([stage('many', { each: 'input' })], { input })
    ledger.perform({ type: 'SubmitJob', job: 'p', spec }, 10)
    ledger.perform({ type: 'OpenStage', job: 'p', stage: 0 }, 20)
    for (const segment of [7, 149]) {
      const task = { job: 'p', stage: 0, segment, worker: 'w', request: 1, started: true } as const
      ledger.perform({ type: 'GrantLease', ...task }, 30)
    }
    expect(entries).toHaveLength(4)
    expect((await verified(await forged(entries))).problems).toEqual([])
    const last = entries.at(-1) as Entry
    const wrong = [...entries.slice(0, -1), { ...last, version: 9, at: 15 } as Entry]
    const { problems } = await verified(await forged(wrong))
    expect(problems.map(({ what }) => what).join()).toMatch(/version 9 after 1/)
    expect(problems.map(({ what }) => what).join()).toMatch(/time 15 after 20/)
  })

  it('finds an entry that belongs to nothing, and that it does not open', async () => {
    const [, granted] = history() as [Entry, Entry]
    const { problems } = await verified(await forged([granted]))
    expect(problems.map(({ what }) => what).join()).toMatch(/there is no task a/)
    expect(problems.map(({ what }) => what).join()).toMatch(/it does not open/)
  })
})
