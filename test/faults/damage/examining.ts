/**
 * What must hold for every damaged log, and the campaign that tries them.
 */
import type { CorruptLog } from '../../../src/log/index.ts'
import { positionOf, segmentBase } from '../../../src/log/format/format.ts'
import { findMark } from '../../../src/log/segments/durable-mark.ts'
import type { SimDisk } from '../sim/sim-disk.ts'
import type { Damage } from './damages.ts'
import type { Sample } from './sample-log.ts'
import { MARK } from './sample-log.ts'
import type { Opened, Opener } from './setting.ts'
import { FOLDER, nameOf } from './setting.ts'
import { stateOf } from './state.ts'
import { must } from './story-run.ts'
import { plain } from '../../support/specs.ts'

/**
 * - corrupt: it did not open, and said where the damage is.
 * - full: all entries are there.
 * - shorter: those that are missing were behind the mark, and nothing proves that they were there.
 */
export type Result = 'corrupt' | 'full' | 'shorter'

export interface Examined extends Record<Result, number> {
  readonly problems: string[]
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

/** What was cut stays away, and what is written in its place stays there. */
async function mustStayCut(disk: SimDisk, open: Opener): Promise<void> {
  const submit = { type: 'SubmitJob', job: 'later', spec: plain() } as const
  for (const round of [1, 2]) {
    const store = await open(disk)
    must((store.opening?.torn ?? null) === null, `opened again, it is cut again: ${round}`)
    if (round === 1) await store.execute([submit])
    const later = await store.query({ kind: 'job', job: 'later' })
    must(later !== null, 'what was written after the cut is not there')
    await store.close()
  }
}

/** How many entries are proven by groups that are as they were: a later one proves all before. */
function proven({ groups, disk: whole, entries }: Sample, disk: SimDisk): number {
  const last = groups.findLast(({ file, from, to }) => {
    if (!disk.paths().includes(file)) return false
    return disk.bytesOf(file).subarray(from, to).equals(whole.bytesOf(file).subarray(from, to))
  })
  if (last === undefined) return 0
  const end = positionOf(segmentBase(last.file.slice(-20)) as number, last.to)
  return entries.filter(({ position }) => position < end).length
}

/** Damages a copy of the sample, opens it, and sees what came of it. */
export async function examine(sample: Sample, damage: Damage, open: Opener): Promise<Result> {
  const disk = sample.disk.clone()
  await damage.apply(disk)
  const before = contentOf(disk)
  const least = proven(sample, disk)
  const mark = await findMark(disk, FOLDER)
  let store: Opened
  try {
    store = await open(disk)
  } catch (error) {
    mustSayWhere(error, before, disk)
    return 'corrupt'
  }
  const found = sample.prefixes.get(await stateOf(store))
  mustBeKept(store, before, disk)
  await store.close()
  must(found !== undefined, 'it has a state that never was')
  const torn = store.opening?.torn ?? null
  if (torn !== null) await mustStayCut(disk, open)
  const { entries } = sample
  const marked = mark.kind === 'mark' ? entries.filter((one) => one.position < mark.position) : []
  must(found >= marked.length, `${marked.length} entries are marked, and ${found} are there`)
  must(found >= least, `${least} entries are proven by later ones, and ${found} are there`)
  const lost = entries.length - found
  if (lost === 0) return 'full'
  must(damage.removes, `${lost} entries are lost`)
  must(torn === null || torn.entries <= lost, `${torn?.entries} cut, but ${lost} lost`)
  return 'shorter'
}

/** Tries one damage after the other, and notes what goes wrong: the first few problems. */
export async function tryDamages(
  sample: Sample,
  damages: Iterable<Damage>,
  open: Opener,
  most = 10,
): Promise<Examined> {
  const examined: Examined = { corrupt: 0, full: 0, shorter: 0, problems: [] }
  for (const damage of damages) {
    try {
      examined[await examine(sample, damage, open)] += 1
    } catch (error) {
      examined.problems.push(`${damage.name}: ${(error as Error).message}`)
    }
    if (examined.problems.length >= most) break
  }
  return examined
}
