/**
 * The log that is damaged: every entry type in it, several segments, groups of one entry and of
 * many, and everything that is known of it while it is whole.
 */
import type { Command, Entry } from '../../../src/kernel/index.ts'
import { tickId } from '../../../src/kernel/index.ts'
import {
  GROUP_HEAD,
  readGroupHead,
  readRecordHead,
  recordEnd,
} from '../../../src/log/format/format.ts'
import { SEGMENT_HEAD } from '../../../src/log/format/format.ts'
import { ENTRY_CODES } from '../../../src/log/format/entry-codec.ts'
import {
  call,
  failure,
  onRecord,
  pipeline,
  plain,
  promise,
  retry,
  stage,
} from '../../support/specs.ts'
import { SimDisk } from '../sim/sim-disk.ts'
import { entriesOn, FOLDER, openStore, TestClock } from './setting.ts'
import { stateFrom } from './state.ts'

export interface Span {
  readonly file: string
  readonly from: number
  readonly to: number
}

export interface Sample {
  /** With the newest mark. */
  readonly disk: SimDisk
  /** Log files, oldest first. */
  readonly segments: readonly string[]
  /** The mark after each group. */
  readonly marks: readonly Buffer[]
  readonly entries: readonly { readonly position: number; readonly entry: Entry }[]
  /** How many entries lead to a state. */
  readonly prefixes: ReadonlyMap<string, number>
  readonly groups: readonly Span[]
  /** Of the group that has the most. */
  readonly records: readonly Span[]
}

export const MARK = `${FOLDER}/MARK`

const at = (job: string) => ({ job, stage: 0, segment: 0 })
const by = { by: 'ops', reason: 'because' }
const filler = (job: string, bytes: number): Command => ({
  type: 'SubmitJob',
  job,
  spec: plain({ input: JSON.stringify(`${job} `.repeat(bytes / (job.length + 1))) }),
})

/** One job through everything that a lease and a commit can see. */
function oneJob(): Command[] {
  const lease = (number: number) => ({ ...at('a'), lease: number, worker: 'w1' })
  const grant = (request: number, started: boolean): Command => ({
    type: 'GrantLease',
    ...at('a'),
    worker: 'w1',
    request,
    started,
  })
  const again = promise({ retry: retry({ delayMs: 0 }) })
  return [
    { type: 'SubmitJob', job: 'a', spec: plain({ held: true }) },
    { type: 'ReleaseJob', job: 'a', ...onRecord },
    grant(1, false),
    { type: 'StartExecution', ...lease(1) },
    { type: 'ExtendLease', ...lease(1), extension: 1 },
    { type: 'RecordStep', ...lease(1), name: 'one', value: '1', definitionVersion: 1 },
    { type: 'AppendStream', ...lease(1), name: 'log', offset: 0, values: ['1', '2'] },
    { type: 'ReleaseLease', ...lease(1) },
    grant(2, true),
    { type: 'CommitExecution', ...lease(2), output: '"out"', effects: [again, again] },
    { type: 'StartEffect', ...lease(2), effect: 0 },
    { type: 'FailEffect', ...lease(2), effect: 0, error: failure() },
    grant(3, false),
    { type: 'StartEffect', ...lease(3), effect: 0 },
    { type: 'FinishEffect', ...lease(3), effect: 0 },
    { type: 'StartEffect', ...lease(3), effect: 1 },
    { type: 'RevokeLease', ...at('a'), lease: 3, ...by },
    { type: 'ResolveEffect', ...at('a'), effect: 1, start: 3, outcome: 'happened', ...by },
  ]
}

function failures(): Command[] {
  const lease = (number: number) => ({ ...at('b'), lease: number, worker: 'w1' })
  const grant = { type: 'GrantLease', ...at('b'), worker: 'w1', started: true } as const
  return [
    { type: 'SubmitJob', job: 'b', spec: plain({}, { retry: retry({ max: 0 }) }) },
    { ...grant, request: 1 },
    { type: 'FailTask', ...lease(1), error: failure() },
    { type: 'RetryTask', ...at('b'), attempt: 1, input: null, ...by },
    { ...grant, request: 2 },
    { type: 'ExpireLease', ...at('b'), lease: 2 },
    { type: 'CommitExecution', ...lease(2), output: '"late"', effects: [] },
    { type: 'ForceTask', ...at('b'), attempt: 2, to: 'FAILED', output: null, ...by },
  ]
}

function others(): Command[] {
  const schedule = { id: 's', tick: 5 }
  return [
    {
      type: 'ConfigureQueue',
      queue: 'q',
      concurrency: 5,
      rate: { count: 3, perMs: 100 },
      ageingMs: null,
      ...onRecord,
    },
    { type: 'PauseQueue', queue: 'q', ...by },
    { type: 'ResumeQueue', queue: 'q', ...by },
    { type: 'SetSchedule', schedule: 's', definition: 'hourly', seen: null, ...onRecord },
    { type: 'SubmitJob', job: tickId('s', 5), spec: plain({ schedule }) },
    { type: 'FireSchedule', schedule: 's', tick: 5, skipped: false },
    { type: 'RemoveSchedule', schedule: 's', ...onRecord },
    { type: 'SubmitJob', job: 'p', spec: pipeline([stage('one')]) },
    { type: 'OpenStage', job: 'p', stage: 0 },
    { type: 'CancelJob', job: 'p', ...by },
    { type: 'StopTask', ...at('p') },
  ]
}

/** One that waits, one for a stage that is not open, and one that is due at another time. */
function waits(): Command[] {
  const lease = { ...at('c'), lease: 1, worker: 'w1' }
  const wait = { schema: null, ask: null, delayMs: null, dueAt: null, callee: null }
  const message = { value: '1', checked: null, ...by }
  const then = pipeline([stage('first'), stage('then', { after: ['first'] })])
  return [
    { type: 'SubmitJob', job: 'c', spec: plain() },
    { type: 'GrantLease', ...at('c'), worker: 'w1', request: 9, started: true },
    { type: 'SendMessage', ...at('c'), id: 'm1', name: 'review', ...message },
    {
      type: 'EndWait',
      ...lease,
      wait: { ...wait, name: 'one', message: 'review' },
      message: 'm1',
      unfit: [],
      definitionVersion: 1,
    },
    {
      type: 'SuspendExecution',
      ...lease,
      needs: 'all',
      waits: [{ ...wait, name: 'two', message: 'approval' }],
      unfit: [],
      definitionVersion: 1,
    },
    { type: 'SubmitJob', job: 'f', spec: plain() },
    { type: 'GrantLease', ...at('f'), worker: 'w1', request: 10, started: true },
    {
      type: 'SuspendExecution',
      ...lease,
      job: 'f',
      needs: 'any',
      waits: [call({ job: 'f' })],
      unfit: [],
      definitionVersion: 1,
    },
    { type: 'SubmitJob', job: 'g', spec: plain() },
    { type: 'GrantLease', ...at('g'), worker: 'w1', request: 11, started: true },
    { type: 'ContinueExecution', ...lease, job: 'g', input: '"next"', definitionVersion: 1 },
    { type: 'SubmitJob', job: 'e', spec: then },
    { type: 'SendMessage', ...at('e'), stage: 1, id: 'm2', name: 'approval', ...message },
    { type: 'SubmitJob', job: 'd', spec: plain() },
    {
      type: 'RescheduleTask',
      ...at('d'),
      attempt: 0,
      dueAt: new TestClock().time + 60_000,
      priority: 1,
      toQueue: 'q',
      ...by,
    },
    {
      type: 'ReplaceJob',
      job: 'd',
      replacement: 'd2',
      input: '"newer"',
      definitionVersion: 2,
      delayMs: 60_000,
      dueAt: null,
      ...by,
    },
  ]
}

/** Each of these is a group. */
function batches(): Command[][] {
  return [
    [filler('x', 4_000)],
    ...oneJob().map((command) => [command]),
    [filler('y', 4_000)],
    [filler('yy', 4_000)],
    others(),
    ['k', 'l', 'm', 'n'].map((job) => filler(job, 100)),
    waits(),
    [filler('z', 4_000)],
    [filler('zz', 4_000)],
    ...failures().map((command) => [command]),
    [filler('zzz', 4_000)],
    [
      { type: 'EraseJob', job: 'a', ...onRecord },
      { type: 'ForgetJob', job: 'a', endedBefore: new TestClock().time + 1_000 },
    ],
    [filler('v', 700)],
    [filler('w', 100)],
  ]
}

export async function sampleLog(): Promise<Sample> {
  const disk = new SimDisk()
  const clock = new TestClock()
  const store = await openStore(disk, clock)
  const marks: Buffer[] = []
  for (const batch of batches()) {
    // Overdue, if it is a lease that is to expire.
    clock.time += batch[0]?.type === 'ExpireLease' ? 60_000 : 10
    for (const { verdict, rejection } of await store.execute(batch)) {
      if (verdict === 'rejected') throw new Error(`the sample is wrong: ${rejection?.message}`)
    }
    marks.push(disk.bytesOf(MARK))
  }
  await store.close()
  const entries = await entriesOn(disk)
  const types = new Set(entries.map(({ entry }) => entry.type))
  const missing = Object.keys(ENTRY_CODES).filter((type) => !types.has(type as Entry['type']))
  if (missing.length > 0) throw new Error(`the sample has no ${missing.join(', ')}`)
  const prefixes = new Map<string, number>()
  for (let n = 0; n <= entries.length; n++) {
    prefixes.set(stateFrom(entries.slice(0, n).map(({ entry }) => entry)), n)
  }
  const segments = disk.paths().filter((path) => path.includes('/log-'))
  const groups = segments.flatMap((file) => groupsIn(file, disk.bytesOf(file)))
  const largest = groups.toSorted((a, b) => countOf(disk, b) - countOf(disk, a))[0] as Span
  const records = recordsIn(largest, disk.bytesOf(largest.file))
  return { disk, segments, marks, entries, prefixes, groups, records }
}

/** The same with the mark as it was so many groups before the end: it may lag. */
export function lagging(sample: Sample, groups: number): Sample {
  const disk = sample.disk.clone()
  disk.put(MARK, sample.marks.at(-1 - groups) as Buffer)
  return { ...sample, disk }
}

function countOf(disk: SimDisk, { file, from }: Span): number {
  return readGroupHead(disk.bytesOf(file), from)?.entries ?? 0
}

function groupsIn(file: string, bytes: Buffer): Span[] {
  const found: Span[] = []
  for (let from = SEGMENT_HEAD; ;) {
    const head = readGroupHead(bytes, from)
    if (head === null) return found
    found.push({ file, from, to: from + head.bytes })
    from += head.bytes
  }
}

function recordsIn({ file, from, to }: Span, bytes: Buffer): Span[] {
  const found: Span[] = []
  for (let start = from + GROUP_HEAD; ;) {
    const record = readRecordHead(bytes, start, to)
    if (record === null) return found
    const end = recordEnd(start, record.length)
    found.push({ file, from: start, to: end })
    start = end
  }
}
