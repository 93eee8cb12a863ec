/* oxlint-disable no-await-in-loop -- one damage comes after the other */
/**
 * Whatever happens to the bytes of a log: it opens with all that it ever said was durable, or it
 * does not open, says where it is damaged, and changes nothing.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import type { CorruptLog } from '../../src/log/index.ts'
import { findMark } from '../../src/log/mark.ts'
import type { SimDisk } from '../sim/sim-disk.ts'
import type { Damage } from './damages.ts'
import { files, flips, flipsInZeros, moved, swaps, truncations, zeroedBlocks } from './damages.ts'
import type { Sample } from './sample-log.ts'
import { MARK, sampleLog } from './sample-log.ts'
import type { Opened } from './setting.ts'
import { FOLDER, isLong, nameOf, openStore } from './setting.ts'
import { stateOf } from './state.ts'

let whole: Sample
/** The same with a mark that lags: in the last segment, and in the one before. */
let lagging: Sample[]

beforeAll(async () => {
  whole = await sampleLog()
  lagging = [3, 6].map((groups) => {
    const disk = whole.disk.clone()
    disk.put(MARK, whole.marks.at(-groups) as Buffer)
    return { ...whole, disk }
  })
  expect(whole.segments).toHaveLength(3)
  expect(whole.groups.filter(({ file }) => file === whole.segments.at(-1))).toHaveLength(4)
})

type Result = 'corrupt' | 'full' | 'shorter'

function must(isSo: boolean, what: string): asserts isSo {
  if (!isSo) throw new Error(what)
}

/** The paths and bytes of everything. */
function contentOf(disk: SimDisk): Map<string, Buffer> {
  return new Map(disk.paths().map((path) => [path, disk.bytesOf(path)]))
}

function mustSayWhere(error: unknown, before: ReadonlyMap<string, Buffer>, disk: SimDisk): void {
  must(nameOf(error) === 'CorruptLog', `it threw ${String(error)}`)
  const { kind, place } = error as CorruptLog
  must(kind === 'corrupt', `its kind is ${kind}`)
  const size = place.file === MARK ? 8_192 : before.get(place.file)?.length
  must(size !== undefined, `it names ${place.file}, which is not there`)
  must(place.offset >= 0 && place.offset <= Math.max(size, 4_096), `it names byte ${place.offset}`)
  must(disk.openFiles === 0, 'files are still open')
  const after = contentOf(disk)
  must(after.size === before.size, 'there are other files than before')
  for (const [path, bytes] of before) {
    must(after.get(path)?.equals(bytes) === true, `${path} has changed`)
  }
}

/** What was cut is told, and kept. */
function mustBeKept(store: Opened, before: ReadonlyMap<string, Buffer>, disk: SimDisk): void {
  const torn = store.opening?.torn ?? null
  if (torn === null) return
  const { file, offset, bytes, keptIn } = torn
  must(keptIn !== null, 'what was cut is nowhere')
  const cut = before.get(file)?.subarray(offset, offset + bytes)
  must(cut?.equals(disk.bytesOf(keptIn)) === true, 'other bytes are kept than were cut')
}

async function examine(sample: Sample, damage: Damage): Promise<Result> {
  const disk = sample.disk.clone()
  await damage.apply(disk)
  const before = contentOf(disk)
  const mark = await findMark(disk, FOLDER)
  let store: Opened
  try {
    store = await openStore(disk)
  } catch (error) {
    mustSayWhere(error, before, disk)
    return 'corrupt'
  }
  const found = sample.prefixes.get(await stateOf(store))
  mustBeKept(store, before, disk)
  await store.close()
  must(found !== undefined, 'it has a state that never was')
  const { entries } = sample
  const marked = mark.kind === 'mark' ? entries.filter((one) => one.position < mark.position) : []
  must(found >= marked.length, `${marked.length} entries are marked, and ${found} are there`)
  const lost = entries.length - found
  if (lost === 0) return 'full'
  must(damage.removes, `${lost} entries are lost`)
  const torn = store.opening?.torn ?? null
  must(torn === null || torn.entries <= lost, `${torn?.entries} cut, but ${lost} lost`)
  return 'shorter'
}

async function campaign(
  name: string,
  samples: readonly Sample[],
  damages: (sample: Sample) => Iterable<Damage>,
): Promise<Record<Result, number>> {
  const results = { corrupt: 0, full: 0, shorter: 0 }
  const problems: string[] = []
  for (const [i, sample] of samples.entries()) {
    for (const damage of damages(sample)) {
      try {
        results[await examine(sample, damage)] += 1
      } catch (error) {
        problems.push(`sample ${i}, ${damage.name}: ${(error as Error).message}`)
      }
      if (problems.length >= 10) break
    }
  }
  expect(problems).toEqual([])
  const { corrupt, full, shorter } = results
  const [all, ...parts] = [corrupt + full + shorter, corrupt, full, shorter].map((count) =>
    count.toLocaleString('en'),
  )
  const [said, kept, cut] = parts
  console.log(`damage: ${all} ${name}: ${said} corrupt, ${kept} full, ${cut} unmarked cut, 0 lost`)
  return results
}

describe('a damaged log', () => {
  it('opens whole, as long as it is not', async () => {
    const nothing: Damage = { name: 'nothing', removes: false, apply: () => undefined }
    const results = await campaign('times nothing', [whole, ...lagging], () => [nothing])
    expect(results).toEqual({ corrupt: 0, full: 3, shorter: 0 })
  })

  it('never loses an entry by a bit that flipped', async () => {
    const step = isLong ? 1 : 263
    const results = await campaign('bit flips', [whole, ...lagging], (one) => flips(one, step))
    expect(results.shorter).toBe(0)
    expect(results.corrupt).toBeGreaterThan(results.full)
  })

  it('never loses an entry by a bit that flipped where nothing was written', async () => {
    const step = isLong ? 101 : 4_003
    await campaign('bit flips in zeros', [whole, ...lagging], (one) => flipsInZeros(one, step))
  })

  it('never ends before its mark, whatever length a file is cut to', async () => {
    const step = isLong ? 1 : 61
    await campaign('truncations', [whole, ...lagging], (one) => truncations(one, step))
  })

  it('never ends before its mark, whatever block is zeroed', async () => {
    await campaign('zeroed sectors', [whole, ...lagging], (one) => zeroedBlocks(one, 512))
    await campaign('zeroed pages', [whole, ...lagging], (one) => zeroedBlocks(one, 4_096))
  })

  it('takes nothing for its own that was moved', async () => {
    const swapped = await campaign('swaps', [whole, ...lagging], swaps)
    expect(swapped.full).toBe(0)
    await campaign('moved groups', [whole, ...lagging], moved)
  })

  it('never ends before its mark, whatever file is gone, doubled or old', async () => {
    await campaign('changed files', [whole, ...lagging], files)
  })
})
