/**
 * Which part of a damaged log is kept, and what must be done for that. It decides, and changes
 * nothing.
 *
 * A state can be made from a run of the log that begins at the very beginning, or that has a
 * checkpoint in it. Of those that can be used the one counts that reaches furthest, because
 * what is behind its end is lost; of two that reach as far, the one that begins first, because
 * what is before its beginning is history only.
 *
 * A checkpoint whose records check is never given up, even if the log around it is gone: then the log
 * begins anew with a marker made from it.
 */
import { filesOf } from '../checkpoint/manifest.ts'
import type { CheckpointFound } from './checkpoint-survey.ts'
import { isReadable } from './checkpoint-survey.ts'
import { contentEnd, offsetOf, segmentName } from '../format/format.ts'
import { Group } from '../writer/group.ts'
import type { Manifest } from '../checkpoint/manifest.ts'
import { manifestName, manifestPosition } from '../checkpoint/manifest.ts'
import type { Disk } from '../disk/disk.ts'
import type { FinishedFileInfo } from '../checkpoint/finished-index.ts'
import type { LogSurvey, Problem, LogRun, SegmentFile } from './log-survey.ts'
import { readWhole } from './log-survey.ts'

/** A group has its head before its first record, and a marker is the first of its group. */
const HEAD_UNITS = 8
const PART = /^(?:live|finished)-[0-9a-f]{16}$/

/** The part of the log that is kept. */
export interface KeptRange {
  readonly from: number
  readonly end: number
  /** Files that stay, in order. */
  readonly files: readonly SegmentFile[]
  /** The log begins anew in the middle of a file: its groups from here on, in a file of their own. */
  readonly begin: {
    readonly link: number
    readonly source: SegmentFile
    readonly now: number
  } | null
  /** The log begins anew with nothing but a marker. */
  readonly marker: Manifest | null
  /** Checkpoints that stay, oldest first. */
  readonly manifests: readonly Manifest[]
}

export interface RepairPlan {
  readonly kept: KeptRange
  /** Files whose head is written anew. */
  readonly heads: readonly SegmentFile[]
  /** Files of finished jobs whose index is written anew. */
  readonly indexes: readonly FinishedFileInfo[]
  /** Bytes that are overwritten with zeros. */
  readonly cut: { readonly file: SegmentFile; readonly from: number; readonly to: number } | null
  /** Names of segments that go. */
  readonly segments: readonly string[]
  /** Names of manifests, and of parts of checkpoints, that go. */
  readonly checkpoints: readonly string[]
  readonly writesMark: boolean
}

/** What is wrong with a log and its checkpoints, as far as bytes go. */
export function allProblems(survey: LogSurvey, checkpoints: readonly CheckpointFound[]): Problem[] {
  const problems = [...survey.problems, ...checkpoints.flatMap((one) => one.problems)]
  for (const { position } of checkpoints.filter(isReadable)) {
    if (survey.runs.some(({ markers }) => markers.has(position))) continue
    const file = `${survey.folder}/${manifestName(position)}`
    const what = 'the log has no marker where this checkpoint was made.'
    problems.push({ what, file, offset: null, position })
  }
  const [first] = survey.files
  if (first !== undefined && candidates(survey, checkpoints).length === 0) {
    const what = 'the log before it is gone, and no checkpoint that checks goes so far.'
    problems.push({ what, file: first.path, offset: 0, position: first.base })
  }
  const seen = new Set<string>()
  return problems.filter((one) => {
    const text = JSON.stringify(one)
    return !seen.has(text) && seen.add(text)
  })
}

/** Null: no state can be made from what is left. */
export async function planRepair(
  disk: Disk,
  survey: LogSurvey,
  checkpoints: readonly CheckpointFound[],
): Promise<RepairPlan | null> {
  const [kept] = candidates(survey, checkpoints).toSorted(
    (a, b) => b.end - a.end || a.from - b.from,
  )
  if (kept === undefined) return null
  const fresh = newSegment(kept)
  return {
    kept,
    heads: kept.files.filter(({ headIsWhole }) => !headIsWhole),
    indexes: badIndexesOf(checkpoints, kept.manifests),
    cut: await cutOf(disk, survey, kept),
    segments: survey.files
      .filter((file) => !kept.files.includes(file) && file.name !== fresh)
      .map(({ name }) => name),
    checkpoints: await otherCheckpoints(disk, survey.folder, kept.manifests),
    writesMark: needsMark(survey, kept.end),
  }
}

/** Each file once, though checkpoints share them. */
function badIndexesOf(
  checkpoints: readonly CheckpointFound[],
  kept: readonly Manifest[],
): FinishedFileInfo[] {
  const finishedFiles = new Map<string, FinishedFileInfo>()
  for (const { manifest, badIndexes } of checkpoints) {
    if (manifest === null || !kept.includes(manifest)) continue
    for (const about of badIndexes) finishedFiles.set(about.name, about)
  }
  return [...finishedFiles.values()]
}

/** The name of the file that is made, if one is. */
export function newSegment({ begin, marker, from }: KeptRange): string | null {
  return begin === null && marker === null ? null : segmentName(from)
}

/** A group that holds nothing but the marker of a checkpoint. */
export function markerGroup({ position, marker }: Manifest): Group {
  const group = new Group()
  group.begin(position - HEAD_UNITS, 0)
  group.addMarker(marker)
  return group
}

function candidates(survey: LogSurvey, checkpoints: readonly CheckpointFound[]): KeptRange[] {
  const good = checkpoints.filter(isReadable).flatMap(({ manifest }) => manifest ?? [])
  const fromRuns = survey.runs.flatMap((run) => {
    const inRun = good.filter(({ position }) => run.markers.has(position))
    return (run.isFromHead ? wholeRun(run, inRun) : restOfRun(run, inRun)) ?? []
  })
  const alone = good.filter(
    ({ position }) => !survey.runs.some(({ markers }) => markers.has(position)),
  )
  return [...fromRuns, ...alone.map(markerOnly)]
}

function wholeRun(run: LogRun, manifests: Manifest[]): KeptRange | null {
  if (run.from > 0 && manifests.length === 0) return null
  const { from, end, segments: files } = run
  return { from, end, files, begin: null, marker: null, manifests }
}

/** A run that begins in the middle of a file: from a checkpoint in there, or from the next file. */
function restOfRun(run: LogRun, manifests: Manifest[]): KeptRange | null {
  const [source, ...files] = run.segments
  const [oldest] = manifests
  if (source === undefined || oldest === undefined) return null
  const { end } = run
  const second = files[0]?.base ?? Infinity
  if (oldest.position >= second) {
    return { from: second, end, files, begin: null, marker: null, manifests }
  }
  const link = run.markers.get(oldest.position) as number
  const begin = { link, source, now: oldest.marker.now }
  return { from: oldest.position - HEAD_UNITS, end, files, begin, marker: null, manifests }
}

function markerOnly(manifest: Manifest): KeptRange {
  const { position: from, end } = markerGroup(manifest)
  return { from, end, files: [], begin: null, marker: manifest, manifests: [manifest] }
}

/** What stands behind the end in the last file that stays. Opening cuts a torn tail. */
async function cutOf(disk: Disk, survey: LogSurvey, kept: KeptRange): Promise<RepairPlan['cut']> {
  const file = kept.files.at(-1)
  if (file === undefined) return null
  const from = offsetOf(file.base, kept.end)
  if (survey.torn?.file === file.path && survey.torn.offset === from) return null
  const to = contentEnd(await readWhole(disk, file.path), from)
  return to > from ? { file, from, to } : null
}

async function otherCheckpoints(
  disk: Disk,
  folder: string,
  keep: readonly Manifest[],
): Promise<string[]> {
  const kept = new Set(keep.flatMap(filesOf))
  const names = (await disk.list(folder)).filter((name) => !kept.has(name))
  const manifests = names.filter((name) => manifestPosition(name) !== null)
  // Parts that no manifest names are no damage: a checkpoint was being made when the process died.
  if (manifests.length === 0) return []
  return [...manifests, ...names.filter((name) => PART.test(name))]
}

function needsMark({ mark, storeId }: LogSurvey, end: number): boolean {
  return mark.kind !== 'mark' || mark.storeId !== storeId || mark.position > end
}
