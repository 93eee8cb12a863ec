/**
 * A reader of directories that was written from `docs/log-format.md` alone, as a stranger would
 * write it: it takes every offset, constant and field from the tables of the page.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { Cursor, Special, Values } from './page-layout.ts'
import { count, hold, integer, PageLayout } from './page-layout.ts'
import { tableOf } from './page-tables.ts'

export interface ReadRecord {
  readonly position: number
  readonly code: number
  readonly version: number
  readonly body: Buffer
}

export interface ReadEntry {
  readonly position: number
  readonly before: number
  readonly entry: Values
}

/** What a manifest says, and the jobs of its files. */
export interface ReadCheckpoint {
  readonly manifest: Values
  readonly live: ReadFile
  readonly finishedFiles: readonly (Omit<ReadFile, 'rest'> & {
    readonly about: FinishedFileNote
    readonly cells: readonly Values[]
  })[]
}

interface ReadFile {
  readonly jobs: readonly ReadJob[]
  readonly columns: Columns
  /** Behind the columns. */
  readonly rest: Buffer
}

export interface ReadJob {
  readonly job: Values
  readonly stages: unknown
  readonly offset: number
}

export type Columns = Record<string, readonly number[]>

interface FileNote {
  readonly name: string
  readonly records: number
  readonly end: number
  readonly link: number
}

interface FinishedFileNote extends FileNote {
  readonly index: number
  readonly cellBytes: number
  readonly kinds: readonly { type: string; retainMs: number | null; rows: number }[]
}

export class PageReader {
  readonly layout: PageLayout
  readonly #sizes: ReadonlyMap<string, number>
  readonly #numbers: ReadonlyMap<number, string>
  readonly #versions: ReadonlyMap<string, number>

  constructor(page: string) {
    this.layout = new PageLayout(page, { 'plain task': plainTask, 'stage tasks': stageTasks })
    const sizes = tableOf(page, 'Sizes').rows
    this.#sizes = new Map(
      sizes.map(([what = '', bytes = '']) => [what, Number(bytes.replaceAll(',', ''))]),
    )
    const entries = tableOf(page, 'Entries', 'Number').rows
    this.#numbers = new Map(entries.map(([number, name = '']) => [Number(number), name]))
    const versions = tableOf(page, 'Versions', 'What', 'Version', 'Where it stands').rows
    this.#versions = new Map(versions.map(([what = '', version]) => [what, Number(version)]))
  }

  /** The version of something that the page describes. */
  version(what: string): number {
    const version = this.#versions.get(what)
    if (version === undefined) throw new RangeError(`The page has no version of '${what}'.`)
    return version
  }

  size(what: string): number {
    const size = this.#sizes.get(what)
    if (size === undefined) throw new RangeError(`The page does not say the size of '${what}'.`)
    return size
  }

  /** The records of one group; it stands at `at`. The place behind it, and the last checksum. */
  group(
    bytes: Buffer,
    at: number,
    position: number,
    link: number,
  ): { records: ReadRecord[]; end: number; link: number } {
    const head = this.layout.fixed('group head', bytes, at)
    const [length, used] = [head['bytes'] as number, head['used'] as number]
    hold(head['position'] === position, 'a group stands where it says')
    hold(length === up(used + this.size('trailer'), this.size('group alignment')), 'bytes fit used')
    this.layout.fixed('trailer', bytes, at + length - this.size('trailer'))
    const records: ReadRecord[] = []
    let last = link
    for (let record = at + this.size('group head'); record < at + used;) {
      const found = this.#record(bytes, record, last)
      const unit = this.size('unit of a position')
      records.push({ ...found, position: position + (record - at) / unit })
      last = found.checksum
      record = found.end
    }
    const entries = records.filter(({ code }) => code < 0x80)
    hold(entries.length === head['entries'], 'the head counts entries')
    hold(this.#blanks(bytes, at, length) === head['blanks'], 'the head counts blank sectors')
    return { records, end: at + length, link: last }
  }

  #record(
    bytes: Buffer,
    at: number,
    link: number,
  ): { code: number; version: number; body: Buffer; checksum: number; end: number } {
    const start = at + this.size('record head')
    const length = bytes.readUInt32LE(at + 4)
    const head = this.layout.fixed('record head', bytes, at, start + length)
    hold(head['link'] === link, 'a record is linked to the one before')
    return {
      code: head['code'] as number,
      version: head['version'] as number,
      checksum: head['checksum'] as number,
      body: bytes.subarray(start, start + length),
      end: up(start + length, this.size('unit of a position')),
    }
  }

  #blanks(bytes: Buffer, at: number, length: number): number {
    const sector = this.size('sector')
    let blanks = 0
    for (let from = at; from < at + length;) {
      const to = Math.min(at + length, (Math.floor(from / sector) + 1) * sector)
      if (bytes.subarray(from, to).every((byte) => byte === 0)) blanks += 1
      from = to
    }
    return blanks
  }

  /** Every record of the log in a folder, up to the first that is not whole. */
  records(folder: string): ReadRecord[] {
    const names = readdirSync(folder).filter((name) => name.startsWith('log-'))
    const records: ReadRecord[] = []
    let position = 0
    let link = 0
    for (const name of names.toSorted()) {
      const bytes = readFileSync(join(folder, name))
      const head = this.layout.fixed('segment head', bytes, 0)
      hold(head['base'] === Number.parseInt(name.slice(4), 16), 'a segment is named by its base')
      hold(head['base'] === position && head['link'] === link, 'segments follow each other')
      hold(head['size'] === bytes.length, 'a segment has the size that it was made with')
      let at = this.size('segment head')
      while (at < bytes.length && bytes.readUInt32LE(at) !== 0) {
        const group = this.group(bytes, at, position, link)
        records.push(...group.records)
        position += (group.end - at) / this.size('unit of a position')
        link = group.link
        at = group.end
      }
      hold(
        bytes.subarray(at).every((byte) => byte === 0),
        'zeros follow the last group',
      )
    }
    return records
  }

  entry({ body, code, position, version }: ReadRecord): ReadEntry {
    const type = this.#numbers.get(code)
    if (type === undefined) throw new RangeError(`The page has no entry ${code}.`)
    hold(version === this.version('entry'), `${type} is in the version of the page`)
    const cursor: Cursor = { bytes: body, at: 0 }
    const back = count(cursor)
    const entry = { type, ...this.layout.structure(type, cursor) }
    hold(cursor.at === body.length, `${type} is read to its end`)
    return { position, before: back === 0 ? 0 : position - back, entry }
  }

  entries(folder: string): ReadEntry[] {
    return this.records(folder)
      .filter(({ code }) => code < 0x80)
      .map((record) => this.entry(record))
  }

  markers(folder: string): { position: number; marker: Values }[] {
    return this.records(folder)
      .filter(({ code }) => code === 0x80)
      .map(({ position, body }) => {
        const cursor: Cursor = { bytes: body, at: 0 }
        return { position, marker: this.layout.structure('marker', cursor) }
      })
  }

  mark(folder: string): Values {
    const bytes = readFileSync(join(folder, 'MARK'))
    hold(bytes.length === this.size('mark file'), 'the mark has its size')
    const slots = [0, 4_096].map((offset) => this.layout.fixed('mark slot', bytes, offset))
    return slots.toSorted((a, b) => Number(b['position']) - Number(a['position']))[0] as Values
  }

  checkpoint(folder: string, name: string): ReadCheckpoint {
    const bytes = readFileSync(join(folder, name))
    const head = this.layout.fixed('manifest head', bytes, 0)
    hold(head['format'] === this.version('checkpoint'), 'a manifest is in the format of the page')
    const cursor: Cursor = { bytes, at: this.size('manifest head') }
    const manifest = this.layout.structure('manifest', cursor)
    hold(cursor.at === bytes.length, 'a manifest is read to its end')
    const live = manifest['live'] as FileNote & { index: number }
    const finishedFiles = manifest['finishedFiles'] as FinishedFileNote[]
    return {
      manifest,
      live: this.#file(folder, live, 'live index', live.index),
      finishedFiles: finishedFiles.map((about) => {
        const { jobs, columns, rest } = this.#file(folder, about, 'finished index', about.index)
        const behind: Cursor = { bytes: rest, at: 0 }
        const { list: cells } = this.layout.structure('cells', behind)
        hold(behind.at === rest.length && rest.length === about.cellBytes, 'it ends with its cells')
        return { about, jobs, columns, cells: cells as Values[] }
      }),
    }
  }

  #file(folder: string, about: FileNote, index: string, checksum: number): ReadFile {
    const bytes = readFileSync(join(folder, about.name))
    hold(crc32(bytes.subarray(about.end)) === checksum, `the ${index} checks`)
    const { columns, end } = this.#columns(bytes, about, index)
    return { jobs: this.#jobs(bytes, about), columns, rest: bytes.subarray(end) }
  }

  #jobs(bytes: Buffer, about: FileNote): ReadJob[] {
    const head = this.layout.fixed('record file head', bytes, 0)
    hold(head['name'] === about.name, 'a file knows its name')
    const jobs: ReadJob[] = []
    let link = 0
    let at = this.size('record file head')
    while (at < about.end) {
      const { body, checksum, code, version, end } = this.#record(bytes, at, link)
      hold(code === 0x90, 'a record of a checkpoint has its code')
      hold(version === this.version('job'), 'a job is in the version of the page')
      const cursor: Cursor = { bytes: body, at: 0 }
      const { stages, nextStage: _next, ...job } = this.layout.structure('job', cursor)
      hold(cursor.at === body.length, 'a job is read to its end')
      jobs.push({ job: withDeadline(job), stages, offset: at })
      link = checksum
      at = end
    }
    hold(at === about.end && link === about.link && jobs.length === about.records, 'all are there')
    return jobs
  }

  #columns(
    bytes: Buffer,
    { records: n, end }: FileNote,
    index: string,
  ): { columns: Columns; end: number } {
    let slots = 8
    while (slots < 2 * n) slots *= 2
    const columns: Columns = {}
    let at = end
    for (const [column = '', type, length = ''] of tableOf(this.layout.page, index).rows) {
      const rows = length.startsWith('n') ? n : slots
      columns[column] = Array.from({ length: rows }, (_, i) =>
        type === 'f64' ? bytes.readDoubleLE(at + i * 8) : bytes.readUInt32LE(at + i * 4),
      )
      const size = rows * (type === 'f64' ? 8 : 4)
      at += length.includes('padded') ? up(size, 8) : size
    }
    return { columns, end: at }
  }
}

/** The earlier of the two that its spec may name. */
export function withDeadline(job: Values): Values {
  const { spec, submittedAt } = job as Values & { spec: Values; submittedAt: number }
  const { deadlineMs, deadlineAt } = spec as Record<string, number | null>
  const since = (job['replaced'] as { at: number } | null)?.at ?? submittedAt
  const times = [deadlineAt, deadlineMs == null ? null : since + deadlineMs]
  const known = times.filter((time) => time != null)
  return { ...job, deadlineAt: known.length === 0 ? null : Math.min(...known) }
}

function up(value: number, to: number): number {
  return Math.ceil(value / to) * to
}

interface Scope extends Values {
  readonly id: string
  readonly submittedAt: number
  readonly dueAt: number
  readonly spec: { readonly policy: Values; readonly stages: readonly { policy: Values }[] }
}

function task(
  cursor: Cursor,
  job: Scope,
  layout: PageLayout,
  where: { created: number; policy: Values; stage: number; segment: number },
): Values {
  const { created, policy, stage, segment } = where
  const firstDueAt = Math.max(job.dueAt, created)
  const { spec } = job
  const scope = { created, policy, firstDueAt, spec }
  const { queue, ...fields } = layout.structure('task', cursor, scope)
  return { job: job.id, stage, segment, policy: { ...policy, queue }, ...fields }
}

const plainTask: Special = (cursor, scope, layout) => {
  const job = scope as Scope
  const where = { created: job.submittedAt, policy: job.spec.policy, stage: 0, segment: 0 }
  return task(cursor, job, layout, where)
}

/** The page does not say which stage a list of tasks is of, but that lists stand in order. */
const stageTasks: Special = (cursor, scope, layout) => {
  const job = scope as Scope
  const number = (scope['nextStage'] as number | undefined) ?? 0
  scope['nextStage'] = number + 1
  const length = count(cursor) - 1
  if (length < 0) return null
  if (length === 0) return []
  const created = job.submittedAt + integer(cursor)
  const policy = job.spec.stages[number]?.policy as Values
  return Array.from({ length }, (_, segment) =>
    task(cursor, job, layout, { created, policy, stage: number, segment }),
  )
}
