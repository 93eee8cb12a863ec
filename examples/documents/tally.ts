/**
 * What has happened so far, counted from the entries of the log. It is for show: the proof asks
 * the log itself.
 */
import type { Collection } from './corpus.ts'
import type { ToldAnswer, ToldEntry } from './engine-process.ts'
import type { ToldReading } from './pipeline.ts'

/** Where a segment stands. `again`: it waits because an attempt came to nothing. */
export type Mark = 'waiting' | 'leased' | 'again' | 'done' | 'failed' | 'stopped'

export interface CollectionTally {
  readonly name: string
  readonly documents: readonly string[]
  /** By stage, of those that were opened. */
  readonly marks: Map<string, Mark[]>
  end: 'reported' | 'given up' | null
}

export interface HeldLease {
  readonly what: string
  readonly since: number
  /** That reads the document; null: it did not say so yet. */
  process: number | null
}

export class Tally {
  readonly collections: CollectionTally[] = []
  /** By stage and segment. */
  readonly leases = new Map<string, HeldLease>()
  readonly #byName = new Map<string, CollectionTally>()
  /** Which process reads what. It may say so before the log is heard of. */
  readonly #readers = new Map<string, number>()
  /** Leases that ran out, because their engine was gone. */
  expiries = 0
  /** Leases taken back at once, because the process that ran the handler was gone. */
  revocations = 0
  /** Attempts that were not the first. */
  attemptsAgain = 0
  readsRetried = 0
  /** What people answered at the desk. */
  answers = 0
  isEngineOpen = false
  engineKills = 0
  processKills = 0
  /** Of the newest entry that was told. */
  position = 0

  get kills(): number {
    return this.engineKills + this.processKills
  }

  get underWay(): number {
    return this.collections.filter(({ end }) => end === null).length
  }

  /** Of all documents of the collections that have come, those that are through. */
  get documents(): { readonly come: number; readonly through: number; readonly unusable: number } {
    const marks = this.collections.flatMap((one) => one.marks.get('analyse') ?? [])
    const count = (...of: readonly Mark[]): number => marks.filter((m) => of.includes(m)).length
    return {
      come: this.collections.reduce((sum, { documents }) => sum + documents.length, 0),
      through: count('done', 'failed', 'stopped'),
      unusable: count('failed'),
    }
  }

  get reports(): number {
    return this.collections.filter(({ end }) => end === 'reported').length
  }

  expect({ name, documents }: Collection): void {
    const names = documents.map((document) => document.name)
    const tally = { name, documents: names, marks: new Map<string, Mark[]>(), end: null }
    this.collections.push(tally)
    this.#byName.set(name, tally)
  }

  reading({ collection, segment, process }: ToldReading): void {
    const key = keyOf(collection, 'analyse', segment)
    this.#readers.set(key, process)
    const lease = this.leases.get(key)
    if (lease !== undefined) lease.process = process
  }

  documentOf(collection: string, segment: number): string {
    const tally = this.#byName.get(collection)
    return tally === undefined ? collection : nameOf(tally, 'analyse', segment)
  }

  /** What is worth a line. */
  answer({ position, refund, by }: ToldAnswer): string {
    this.position = position
    this.answers += 1
    return `${refund}: ${by} answered`
  }

  /** What is worth a line; or null. */
  entry(told: ToldEntry): string | null {
    this.position = told.position
    const collection = this.#byName.get(told.collection)
    if (collection === undefined || told.task === null) return null
    const { stage, segment } = told.task
    if (told.what === 'StageOpened') {
      const marks = Array.from({ length: told.segments ?? 0 }, (): Mark => 'waiting')
      collection.marks.set(stage, marks)
      return null
    }
    const what = nameOf(collection, stage, segment)
    const mark = markAfter(told)
    const marks = collection.marks.get(stage)
    if (mark === null || marks === undefined) return null
    marks[segment] = mark
    const key = keyOf(collection.name, stage, segment)
    if (mark === 'leased') {
      this.leases.set(key, { what, since: Date.now(), process: this.#readers.get(key) ?? null })
    } else {
      this.leases.delete(key)
      this.#readers.delete(key)
    }
    this.#count(told)
    if (mark === 'done' && stage === 'report') collection.end = 'reported'
    if (mark === 'done' && stage === 'note') collection.end = 'given up'
    return eventOf(told, what)
  }

  #count({ what, lease, next }: ToldEntry): void {
    if (what === 'LeaseExpired') this.expiries += 1
    if (what === 'LeaseRevoked') this.revocations += 1
    if (what === 'LeaseGranted' && lease !== 1) this.attemptsAgain += 1
    if (what === 'TaskFailed' && next === 'WAITING') this.readsRetried += 1
  }
}

function markAfter({ what, next }: ToldEntry): Mark | null {
  if (what === 'LeaseGranted') return 'leased'
  if (what === 'ExecutionCommitted') return 'done'
  if (what === 'TaskStopped') return 'stopped'
  if (next === null) return null
  return next === 'WAITING' ? 'again' : 'failed'
}

function eventOf({ what, task, lease, next, code }: ToldEntry, name: string): string | null {
  if (what === 'LeaseExpired') return `${name}: its lease ran out`
  if (what === 'LeaseRevoked') return `${name}: its process is gone, its lease taken back`
  if (what === 'TaskFailed') {
    return next === 'WAITING' ? `${name}: not read, tried again` : `${name}: ${code}, for good`
  }
  if (what === 'LeaseGranted' && lease !== 1) return `${name}: taken up again, attempt ${lease}`
  if (what !== 'ExecutionCommitted') return null
  if (task?.stage === 'report') return `${name}: written`
  return task?.stage === 'note' ? `${name}: too much of it cannot be used` : null
}

function nameOf({ name, documents }: CollectionTally, stage: string, segment: number): string {
  return `${name}/${stage === 'analyse' ? documents[segment] : stage}`
}

function keyOf(collection: string, stage: string, segment: number): string {
  return `${collection} ${stage} ${segment}`
}
