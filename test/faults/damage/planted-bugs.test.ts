/* oxlint-disable typescript/unbound-method -- methods are taken off their classes to be replaced */
/**
 * The campaigns are worth something: each of these bugs is caught by one of them, in a small
 * version, and without a bug none of them finds anything.
 */
import { beforeAll, describe, expect, it, vi } from 'vitest'
import type * as Format from '../../../src/log/format/format.ts'
import type { Mark as MarkFile } from '../../../src/log/segments/durable-mark.ts'
import type { LogWriter } from '../../../src/log/writer/log-writer.ts'
import { files, flips, swaps, truncations, zeroedBlocks } from './damages.ts'
import { tryDamages } from './examining.ts'
import { SHORT, tryFaults } from './failing.ts'
import { losePower, losePowerLater } from './losing-power.ts'
import type { DiskBug } from './planted-disks.ts'
import * as disks from './planted-disks.ts'
import type { Sample } from './sample-log.ts'
import { lagging, sampleLog } from './sample-log.ts'
import type { Opener } from './setting.ts'
import { openerOf, openStore } from './setting.ts'
import { SHORT_STORY } from './story.ts'
import type { Reference } from './story-run.ts'
import { referenceOf } from './story-run.ts'

let reference: Reference
let samples: readonly Sample[]

beforeAll(async () => {
  reference = await referenceOf(openStore, SHORT_STORY)
  const whole = await sampleLog()
  samples = [lagging(whole, 3), lagging(whole, 6)]
})

const EIO = { code: 'EIO', forever: false } as const
const never = (): boolean => false
const losses = { outcomes: 8, again: never, most: 1 }

/** Each gives the problems that it finds, and stops at the first. */
const CAMPAIGNS = {
  power: async (open: Opener) => (await losePower(reference, open, losses)).problems,
  killed: async (open: Opener) => {
    const ending = { kind: 'killed', inPart: true } as const
    return (await losePowerLater(reference, open, ending, losses)).problems
  },
  failed: async (open: Opener) => {
    const ending = { kind: 'failed', fault: EIO } as const
    return (await losePowerLater(reference, open, ending, losses)).problems
  },
  faults: async (open: Opener) => {
    const plan = { faults: [SHORT, EIO], nested: never, outcomes: () => 2, most: 1 }
    return (await tryFaults(reference, open, plan)).problems
  },
  damage: async (open: Opener) => {
    const problems: string[] = []
    for (const sample of samples) {
      const all = [swaps(sample), files(sample), zeroedBlocks(sample, 512)]
      all.push(flips(sample, 1_511), truncations(sample, 509))
      for (const damages of all) {
        problems.push(...(await tryDamages(sample, damages, open, 1)).problems)
        if (problems.length > 0) return problems
      }
    }
    return problems
  },
}

/** The store made anew, from modules in which something was changed. */
async function changed(change: () => unknown): Promise<Opener> {
  vi.resetModules()
  await change()
  const { openDirectory } = await import('../../../src/store/directory/open-directory.ts')
  return openerOf(openDirectory)
}

/** Some functions of one module are others. */
async function mocked<M extends object>(
  path: string,
  others: (actual: M) => Partial<M>,
): Promise<Opener> {
  const open = await changed(() => {
    vi.doMock(path, async (actual) => {
      const module = await actual<M>()
      return { ...module, ...others(module) }
    })
  })
  vi.doUnmock(path)
  return open
}

const on = (Bug: DiskBug) => (): Promise<Opener> =>
  Promise.resolve((disk, clock) => openStore(new Bug(disk), clock))

const log = (name: string): string =>
  new URL(`../../../src/log/${name}.ts`, import.meta.url).pathname

interface Bug {
  readonly name: string
  readonly by: keyof typeof CAMPAIGNS
  readonly plant: () => Promise<Opener>
}

const IN_THE_DISK: readonly Bug[] = [
  { name: 'groups are not written through', by: 'power', plant: on(disks.NotThrough) },
  { name: 'the folder is not synced', by: 'power', plant: on(disks.NoFolderSync) },
  { name: 'a sync that failed is taken for done', by: 'faults', plant: on(disks.DeafFolderSync) },
  { name: 'no sync before a rename', by: 'power', plant: on(disks.NoSyncBeforeRename) },
  { name: 'a write is done after it was said', by: 'power', plant: on(disks.EarlyWrites) },
  { name: 'short writes are taken for whole', by: 'faults', plant: on(disks.NoShortWrites) },
  { name: 'a rename copies', by: 'power', plant: on(disks.CopyingRename) },
  { name: 'what is cut is not kept', by: 'damage', plant: on(disks.NothingAside) },
]

const IN_THE_WRITER: readonly Bug[] = [
  {
    name: 'answers are given before they are durable',
    by: 'power',
    plant: () =>
      changed(async () => {
        const { LogWriter: Writer } = await import('../../../src/log/writer/log-writer.ts')
        const { durable } = Writer.prototype
        Writer.prototype.durable = function early(this: LogWriter) {
          durable.call(this)?.catch(() => undefined)
          return null
        }
      }),
  },
  {
    name: 'the mark is set before the write',
    by: 'power',
    plant: () =>
      changed(async () => {
        const { Mark } = await import('../../../src/log/segments/durable-mark.ts')
        const { Group } = await import('../../../src/log/writer/group.ts')
        const { open } = Mark
        let mark: MarkFile
        Mark.open = async (...given) => (mark = await open.apply(Mark, given))
        const { seal } = Group.prototype
        Group.prototype.seal = function early(this: InstanceType<typeof Group>, offset) {
          mark.set(this.end)
          return seal.call(this, offset)
        }
      }),
  },
  {
    name: 'the mark is set too far',
    by: 'power',
    plant: () =>
      changed(async () => {
        const { Mark } = await import('../../../src/log/segments/durable-mark.ts')
        const { set } = Mark.prototype
        Mark.prototype.set = function far(this: MarkFile, position) {
          set.call(this, position + 8)
        }
      }),
  },
  {
    name: 'a segment begins without a link',
    by: 'faults',
    plant: () =>
      mocked<typeof Format>(log('format/format'), ({ encodeSegmentHead }) => ({
        encodeSegmentHead: (head) => encodeSegmentHead({ ...head, link: 0 }),
      })),
  },
]

const IN_RECOVERY: readonly Bug[] = [
  {
    name: 'the link is not looked at',
    by: 'damage',
    plant: () =>
      mocked<typeof Format>(log('format/format'), ({ readRecordHead }) => {
        let last = 0
        return {
          readRecordHead: (bytes, at, end) => {
            const found = readRecordHead(bytes, at, end)
            if (found === null) return null
            // Within a group every record seems to follow from the one before.
            const link = at === 64 ? found.link : last
            last = found.checksum
            return { ...found, link }
          },
        }
      }),
  },
  {
    name: 'the checksum is not looked at',
    by: 'damage',
    plant: () =>
      mocked<typeof Format>(log('format/format'), ({ claimedLength, readRecordHead }) => ({
        readRecordHead: (bytes, at, end) => {
          const length = claimedLength(bytes, at)
          if (length === null || at + 16 + length > end) return readRecordHead(bytes, at, end)
          const [checksum, link] = [bytes.readUInt32LE(at), bytes.readUInt32LE(at + 8)]
          const [code, version] = [bytes[at + 12] as number, bytes[at + 13] as number]
          return { checksum, length, link, code, version }
        },
      })),
  },
  {
    name: 'what is corrupt is taken for torn',
    by: 'damage',
    plant: () =>
      mocked<typeof import('../../../src/log/recovery/recovery-cases.ts')>(
        log('recovery/recovery-cases'),
        ({ judgeTail }) => ({
          judgeTail: (found) => {
            const one = judgeTail(found)
            return one.verdict === 'corrupt' && found.isLast ? { ...one, verdict: 'torn' } : one
          },
        }),
      ),
  },
  {
    name: 'a later group proves nothing',
    by: 'damage',
    plant: () =>
      mocked<typeof import('../../../src/log/recovery/recovery-cases.ts')>(
        log('recovery/recovery-cases'),
        ({ judgeTail }) => ({
          judgeTail: (found) => judgeTail({ ...found, laterGroup: false }),
        }),
      ),
  },
  {
    name: 'the mark is not looked at',
    by: 'damage',
    plant: () =>
      mocked<typeof import('../../../src/log/recovery/recovery-cases.ts')>(
        log('recovery/recovery-cases'),
        ({ judgeTail }) => ({
          judgeTail: (found) => judgeTail({ ...found, beyondMark: true }),
        }),
      ),
  },
  {
    name: 'what is cut stays where it was',
    by: 'damage',
    plant: () =>
      mocked<typeof import('../../../src/log/disk/disk.ts')>(
        log('disk/disk'),
        ({ writeZeros }) => ({
          writeZeros: async (file, from, to) => {
            // A new segment is zeros from its beginning on, and stays so.
            if (from === 0) await writeZeros(file, from, to)
          },
        }),
      ),
  },
  {
    name: 'what is behind the mark is not written again',
    by: 'failed',
    plant: () =>
      mocked<typeof import('../../../src/log/recovery/tail.ts')>(
        log('recovery/tail'),
        ({ recoverTail }) => ({
          recoverTail: (disk, folder, found) =>
            recoverTail(disk, folder, { ...found, mark: found.end }),
        }),
      ),
  },
  {
    name: 'a segment without a group keeps its name as it is',
    by: 'failed',
    plant: () =>
      mocked<typeof import('../../../src/log/segments/segments.ts')>(
        log('segments/segments'),
        () => ({
          restartSegment: async () => {},
        }),
      ),
  },
  {
    name: 'an end that was written in part is taken for damage',
    by: 'killed',
    plant: () =>
      mocked<typeof Format>(log('format/format'), () => ({
        trailerMissing: (bytes, end) => end > bytes.length || bytes.readUInt32LE(end - 4) === 0,
        headEndMissing: (bytes, at) => at + 64 > bytes.length || bytes.readUInt32LE(at + 60) === 0,
      })),
  },
]

describe('a planted bug', () => {
  it.each(Object.entries(CAMPAIGNS))('is what the campaign %s needs', async (_, campaign) => {
    expect(await campaign(openStore)).toEqual([])
  })

  const bugs = [...IN_THE_DISK, ...IN_THE_WRITER, ...IN_RECOVERY]
  let caught = 0
  it.each(bugs)('is caught: $name', async ({ by, plant }) => {
    const problems = await CAMPAIGNS[by](await plant())
    expect(problems.length).toBeGreaterThan(0)
    caught += 1
    if (caught === bugs.length) console.log(`planted bugs: ${caught} of ${bugs.length} caught`)
  })
})
