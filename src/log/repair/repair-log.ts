/**
 * Repair: gives up what cannot be read, so that the rest can be opened again. It never runs by
 * itself, says beforehand exactly what is given up, and keeps everything that it takes away
 * under `aside/repair-<n>/`.
 *
 * It deals with bytes that do not check. A log whose bytes check and which says something
 * impossible is left alone: that is no damage of the disk.
 *
 * Power may go at any moment: copies are durable BEFORE anything changes, a new file gets its
 * name when it is whole, and the mark comes LAST. Until the end the folder is damaged as
 * before, and the same repair can be run again, or it opens as what the repair was going to
 * leave.
 */
import { PawlError } from '../../kernel/index.ts'
import { surveyCheckpoints, readCheckpoint } from './checkpoint-survey.ts'
import type { GroupHead } from '../format/format.ts'
import {
  encodeSegmentHead,
  FORMAT,
  offsetOf,
  positionOf,
  readGroupHead,
  sealGroup,
  SEGMENT_HEAD,
  segmentName,
  UNIT,
} from '../format/format.ts'
import { manifestPosition } from '../checkpoint/manifest.ts'
import { MARK_FILE, replaceMark } from '../segments/durable-mark.ts'
import type { Disk, DiskFile } from '../disk/disk.ts'
import { copyFile, replaceFile, withFile, writeAll, writeZeros } from '../disk/disk.ts'
import { LogReader } from '../segments/log-reader.ts'
import type { KeptRange, RepairPlan } from './repair-plan.ts'
import { allProblems, newSegment, planRepair, markerGroup } from './repair-plan.ts'
import type { Salvage, Unreadable } from './salvage.ts'
import { Salvager } from './salvage.ts'
import { rebuildIndex } from '../checkpoint/finished-index.ts'
import type { LogSurvey, Problem, SegmentFile } from './log-survey.ts'
import { durableMark, readOrZeros, readWhole, surveyLog } from './log-survey.ts'

export interface RepairReport {
  /** What is wrong; none: there is nothing to do. */
  readonly problems: readonly Problem[]
  /** What is to be done, or was done, in words; none: nothing. */
  readonly steps: readonly string[]
  /** Whether it was done. */
  readonly applied: boolean
  /** Given up with what they led to. */
  readonly lost: Salvage
  /** Given up, but what they led to is in a checkpoint that stays. */
  readonly history: Salvage
  /** Positions of the checkpoints that are given up. */
  readonly checkpoints: readonly number[]
  /** What the store holds afterwards, and where its log ends. */
  readonly left: { readonly entries: number; readonly jobs: number; readonly position: number }
  /** Where everything is kept that is taken away; null: nothing was. */
  readonly aside: string | null
}

/** Nothing that is left leads to a state. */
export class NotRepairable extends PawlError {
  constructor(folder: string, problems: readonly Problem[]) {
    super(
      'NotRepairable',
      'corrupt',
      `Nothing that is left in ${folder} leads to a state: the beginning of the log is gone, and no checkpoint checks. Nothing was changed; restore a backup.`,
      { folder, problems },
    )
  }
}

/** The folder must be the caller's own. Without `apply` it only says what it would do. */
export async function repairLog(disk: Disk, folder: string, apply: boolean): Promise<RepairReport> {
  const survey = await surveyLog(disk, folder)
  const checkpoints = await surveyCheckpoints(disk, folder, survey.storeId)
  const problems = allProblems(survey, checkpoints)
  const plan = await planRepair(disk, survey, checkpoints)
  if (plan === null) {
    if (problems.length > 0) throw new NotRepairable(folder, problems)
    return { ...NOTHING, lost: nothing(), history: nothing() }
  }
  const storeId = survey.storeId ?? plan.kept.manifests[0]?.storeId ?? ''
  const steps = stepsOf(plan)
  const report = {
    problems,
    steps,
    ...(await givenUp(disk, survey, plan)),
    checkpoints: plan.checkpoints.flatMap((name) => manifestPosition(name) ?? []),
    left: await leftBy(disk, folder, plan.kept),
  }
  if (!apply || steps.length === 0) return { ...report, applied: false, aside: null }
  const aside = await keepAside(disk, folder, plan)
  await carryOut(disk, folder, storeId, plan)
  return { ...report, applied: true, aside }
}

const NOTHING = {
  problems: [],
  steps: [],
  applied: false,
  checkpoints: [],
  left: { entries: 0, jobs: 0, position: 0 },
  aside: null,
} as const

function nothing(): Salvage {
  return { entries: [], unreadable: [] }
}

function stepsOf(plan: RepairPlan): string[] {
  const { kept, heads, indexes, cut, segments, checkpoints, writesMark } = plan
  const steps = heads.map(({ name }) => `write the head of ${name} anew`)
  for (const { name } of indexes) steps.push(`write the index of ${name} anew`)
  const fresh = newSegment(kept)
  if (kept.begin !== null) {
    steps.push(
      `begin the log anew at position ${kept.from}: ${fresh} from ${kept.begin.source.name}`,
    )
  }
  if (kept.marker !== null) {
    steps.push(`begin the log anew at position ${kept.from}: ${fresh} with a marker only`)
  }
  if (cut !== null) steps.push(`cut ${cut.file.name} at byte ${cut.from}, position ${kept.end}`)
  for (const name of [...checkpoints, ...segments]) steps.push(`set ${name} aside`)
  if (writesMark) steps.push(`write the durable mark anew at position ${kept.end}`)
  return steps
}

/** Everything in the log that is not kept, as far as it can still be read. */
async function givenUp(
  disk: Disk,
  survey: LogSurvey,
  plan: RepairPlan,
): Promise<{ lost: Salvage; history: Salvage }> {
  const { kept, cut } = plan
  const all = nothing()
  for (const [i, file] of survey.files.entries()) {
    const stays = kept.files.includes(file)
    // A file that stays and is not cut is kept whole, but for a tail that opening cuts.
    if (stays && cut?.file !== file) continue
    const isKept = stays || kept.begin?.source === file
    const next = survey.files[i + 1]?.base
    await salvageFile(disk, survey, file, next, isKept ? kept : null, all)
  }
  for (const { path: file, from, to } of survey.missing) {
    const bytes = { from: SEGMENT_HEAD, to: offsetOf(from, to) }
    all.unreadable.push({ file, ...bytes, position: from })
  }
  // Without any file of the log, only the mark says what there was.
  const durable = durableMark(survey)
  if (survey.files.length === 0 && durable > 0) {
    const bytes = { from: SEGMENT_HEAD, to: offsetOf(0, durable) }
    all.unreadable.push({ file: `${survey.folder}/${segmentName(0)}`, ...bytes, position: 0 })
  }
  return {
    lost: {
      entries: all.entries.filter(({ position }) => position >= kept.from),
      unreadable: partsBetween(all.unreadable, kept.end, Infinity),
    },
    history: {
      entries: all.entries.filter(({ position }) => position < kept.from),
      unreadable: partsBetween(all.unreadable, 0, kept.from),
    },
  }
}

/**
 * Of each range the part that lies between two positions: one that reaches over a checkpoint which stays
 * is history before it, and lost behind it.
 */
function partsBetween(ranges: readonly Unreadable[], from: number, to: number): Unreadable[] {
  return ranges.flatMap((range) => {
    const first = Math.max(range.position, from)
    const end = Math.min(range.position + (range.to - range.from) / UNIT, to)
    if (end <= first) return []
    const start = range.from + (first - range.position) * UNIT
    return [{ file: range.file, from: start, to: start + (end - first) * UNIT, position: first }]
  })
}

/** `kept`: the part of the file that lies in there is left out. */
async function salvageFile(
  disk: Disk,
  survey: LogSurvey,
  file: SegmentFile,
  next: number | undefined,
  kept: KeptRange | null,
  into: Salvage,
): Promise<void> {
  const { base, path } = file
  const bytes = await readWhole(disk, path)
  // There were groups up to the next file, or as far as the mark says.
  const until = offsetOf(base, next ?? durableMark(survey))
  const end = next === undefined ? bytes.length : Math.min(bytes.length, until)
  const salvager = new Salvager(path, bytes, base, into)
  if (kept !== null)
    salvager.read(SEGMENT_HEAD, Math.max(SEGMENT_HEAD, offsetOf(base, kept.from)), 0)
  const from = kept === null ? SEGMENT_HEAD : Math.min(end, offsetOf(base, kept.end))
  const last = salvager.read(from, end, until)
  const position = positionOf(base, last)
  // Zeros, or nothing, where groups must have been.
  const isListed = into.unreadable.some((one) => one.file === path && one.to > last)
  const isMissing = survey.missing.some((one) => one.from === position)
  if (last >= until || isListed || isMissing) return
  into.unreadable.push({ file: path, from: last, to: until, position })
}

async function leftBy(disk: Disk, folder: string, kept: KeptRange): Promise<RepairReport['left']> {
  const { from, end, manifests } = kept
  const jobs = new Set<string>()
  const newest = manifests.at(-1)
  if (newest !== undefined) {
    await readCheckpoint(disk, folder, newest, ({ record }) => jobs.add(record.job.id))
  }
  let entries = 0
  if (kept.marker === null) {
    const segments = kept.begin === null ? kept.files : [kept.begin.source, ...kept.files]
    const reader = new LogReader(disk, () => segments)
    try {
      for (let place = from; place < end;) {
        const read = await reader.from(place, end)
        entries += read.entries.length
        for (const { entry, position } of read.entries) {
          if (position < (newest?.position ?? 0)) continue
          if (entry.type === 'JobSubmitted') jobs.add(entry.job)
          if (entry.type === 'JobForgotten') jobs.delete(entry.job)
        }
        place = read.next
      }
    } finally {
      await reader.close()
    }
  }
  return { entries, jobs: jobs.size, position: end }
}

/** Copies of all that goes or changes, durable. The folder they are in. */
async function keepAside(disk: Disk, folder: string, plan: RepairPlan): Promise<string> {
  const { heads, indexes, cut, kept, segments, checkpoints, writesMark } = plan
  const present = new Set(await disk.list(folder))
  const names = new Set([
    ...heads.map(({ name }) => name),
    ...indexes.map(({ name }) => name),
    ...(cut === null ? [] : [cut.file.name]),
    ...segments,
    ...checkpoints,
    ...(writesMark ? [MARK_FILE] : []),
    newSegment(kept) ?? MARK_FILE,
  ])
  const all = `${folder}/aside`
  const taken = (await disk.list(all)).map((name) => Number(/^repair-(\d+)$/.exec(name)?.[1] ?? 0))
  const aside = `${all}/repair-${Math.max(0, ...taken) + 1}`
  await disk.makeFolder(aside)
  for (const name of names) {
    if (!present.has(name)) continue
    await copyFile(disk, `${folder}/${name}`, `${aside}/${name}`, null, readOrZeros)
  }
  for (const one of [aside, all, folder]) await disk.syncFolder(one)
  return aside
}

async function carryOut(
  disk: Disk,
  folder: string,
  storeId: string,
  plan: RepairPlan,
): Promise<void> {
  const { kept, heads, indexes, cut, segments, checkpoints, writesMark } = plan
  for (const { path, head } of heads) {
    await overwrite(disk, path, async (file) => writeAll(file, encodeSegmentHead(head), 0))
  }
  for (const about of indexes) {
    const bytes = await rebuildIndex(disk, folder, about)
    await overwrite(disk, `${folder}/${about.name}`, (file) => writeAll(file, bytes, about.end))
  }
  const fresh = newSegment(kept)
  // Whole BEFORE it has its name, and durable BEFORE the file goes that its groups came from.
  if (fresh !== null) {
    await replaceFile(disk, `${folder}/${fresh}`, await freshBytes(disk, storeId, kept))
  }
  if (cut !== null) {
    await overwrite(disk, cut.file.path, (file) => writeZeros(file, cut.from, cut.to))
  }
  // Manifests stand first in the list: one must never name a file that is gone.
  for (const name of checkpoints.filter((one) => manifestPosition(one) !== null)) {
    await disk.remove(`${folder}/${name}`)
  }
  await disk.syncFolder(folder)
  for (const name of [...checkpoints, ...segments]) await disk.remove(`${folder}/${name}`)
  await disk.syncFolder(folder)
  // LAST: while the old one stands, a log that was cut does not open.
  if (writesMark) await replaceMark(disk, folder, storeId, kept.end)
}

async function overwrite(
  disk: Disk,
  path: string,
  write: (file: DiskFile) => Promise<void>,
): Promise<void> {
  await withFile(disk, path, 'write', async (file) => {
    await write(file)
    await file.sync()
  })
}

/** A segment that begins where the log begins anew. */
async function freshBytes(disk: Disk, storeId: string, kept: KeptRange): Promise<Buffer> {
  const { from: base, begin, marker } = kept
  const groups =
    begin === null
      ? markerGroup(marker as NonNullable<KeptRange['marker']>).seal(SEGMENT_HEAD)
      : await groupsIn(disk, begin.source, kept)
  const size = SEGMENT_HEAD + groups.length
  const begunAt = begin?.now ?? marker?.marker.now ?? 0
  const head = { format: FORMAT, base, link: begin?.link ?? 0, size, storeId, begunAt }
  const bytes = Buffer.alloc(size)
  encodeSegmentHead(head).copy(bytes)
  groups.copy(bytes, SEGMENT_HEAD)
  return bytes
}

async function groupsIn(disk: Disk, source: SegmentFile, kept: KeptRange): Promise<Buffer> {
  const to = Math.min(kept.end, kept.files[0]?.base ?? Infinity)
  const bytes = await readWhole(disk, source.path)
  const groups = bytes.subarray(offsetOf(source.base, kept.from), offsetOf(source.base, to))
  for (let at = 0; at < groups.length;) {
    const { position, bytes: size, used, entries } = readGroupHead(groups, at) as GroupHead
    // Its head tells which sectors are blank, and they begin elsewhere now.
    sealGroup(groups.subarray(at, at + size), position, SEGMENT_HEAD + at, used, entries)
    at += size
  }
  return groups
}
