/**
 * `docs/api.md` has everything that a user can import, set or call: every export, every option
 * with its unit and default, every method of the classes. And no option that is not there.
 * The words that a user can meet (why a job waits, why a handler stops) are in the guide.
 */
import { readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { codeOf } from '../tidy/scan.ts'
import { readTree, ROOT } from '../tidy/tree.ts'
import { quotedNames } from './names.ts'

const page = readFileSync(join(ROOT, 'docs', 'api.md'), 'utf8')
const tree = readTree()
const sources = new Map(tree.map(({ path, text }) => [path, codeOf(text)]))
/** With the insides of strings. */
const raw = tree
  .filter(({ path }) => path.startsWith('src/') && !path.endsWith('.test.ts'))
  .map(({ text }) => text)
  .join('\n')
const code = [...sources]
  .filter(([path]) => path.startsWith('src/') && !path.endsWith('.test.ts'))
  .map(([, text]) => text)
  .join('\n')

const LIST = /\bexport (?:type )?\{([^}]*)\}/g
const DECLARED = /\bexport (?:abstract )?(?:class|interface|type|const|function) (\w+)/g

/** What a file exports; `export *` is followed. */
function exportsOf(path: string): string[] {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const lists = [...text.matchAll(LIST)].flatMap(([, names = '']) =>
    names
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  )
  const declared = [...text.matchAll(DECLARED)].map(([, name = '']) => name)
  const stars = [...text.matchAll(/\bexport \* from '([^']+)'/g)].flatMap(([, from = '']) =>
    exportsOf(posix.join(dirname(path), from)),
  )
  return [...lists, ...declared, ...stars]
}

/** The text of an interface between its braces. */
function bodyOf(name: string): string {
  const start = new RegExp(String.raw`\binterface ${name}\b[^{]*\{\n`).exec(code)
  if (start === null) throw new RangeError(`There is no interface ${name} in the sources.`)
  const from = start.index + start[0].length
  return code.slice(from, code.indexOf('\n}', from))
}

function keysOf(name: string): string[] {
  return [...bodyOf(name).matchAll(/^ {2}(?:readonly )?([\w$]+)\??[:(<]/gm)].map(
    ([, key = '']) => key,
  )
}

/** The words that a type is made of: `'a' | 'b'`. */
function wordsOf(name: string): string[] {
  const [, words = ''] = new RegExp(String.raw`\btype ${name} =([\s|\w'-]*?)\n\n`).exec(raw) ?? []
  return [...words.matchAll(/'([\w-]+)'/g)].map(([, word = '']) => word)
}

const MEMBER =
  /^ {2}(?:(?:async|get|readonly|static) )*\*?(\[Symbol\.\w+\]|(?!constructor\b)\w+)\s*[:(<?]/gm

/** Everything of a class that is not private: fields, getters and methods. */
function membersOf(file: string): string[] {
  const text = sources.get(file) ?? ''
  const start = text.search(/^export class /m)
  const body = text.slice(start, text.indexOf('\n}', start))
  return [...new Set([...body.matchAll(MEMBER)].map(([, name = '']) => name))]
}

/** The part of the page under the heading that is this name. */
function section(name: string): string {
  const [, found = ''] = page.split(new RegExp(String.raw`^##+ \`${name}\`$`, 'm'))
  return found.split(/^## |^### /m)[0] as string
}

/** The first cells of the tables of a section; a cell may have several names. */
function rowsOf(name: string): string[] {
  return section(name)
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => quotedNames(line.split(' | ')[0] as string))
}

function isOnPage(name: string): boolean {
  return new RegExp(String.raw`\`${name}\b`).test(page)
}

/** Without what a call takes. */
function namesIn(rows: readonly string[]): string[] {
  return rows.map((row) => row.replace(/\(.*/, '')).toSorted()
}

const OPTIONS = [
  'OpenOptions',
  'JobOptions',
  'ByInputOptions',
  'ListenOptions',
  'PipelineOptions',
  'StageOptions',
  'TaskChoice',
  'Policy',
  'RetryOptions',
  'LimitOptions',
  'StalledOptions',
  'EffectOptions',
  'SubmitOptions',
  'ChildOptions',
  'ListFilter',
  'CountsOptions',
  'BulkOptions',
  'PaceOptions',
  'RetryJobOptions',
  'ForceOptions',
  'RerunOptions',
  'QueueOptions',
  'QuarantineFilter',
  'QuarantineSelection',
  'RedriveOptions',
  'ScheduleOptions',
  'WorkerOptions',
  'WriteOptions',
]

const PARTS = [
  'RunContext',
  'RunWaits',
  'StageContext',
  'FailureContext',
  'SegmentContext',
  'StageInfo',
  'SegmentInfo',
  'JobInfo',
  'JobEvent',
  'HandlerRun',
  'ExecutionInfo',
  'FailureReason',
  'JobListItem',
  'Counts',
  'QueueListItem',
  'Explanation',
  'Reason',
  'QuarantineGroup',
  'QuarantineItem',
  'BulkReport',
  'Health',
  'EngineMetrics',
  'Traffic',
  'Distribution',
  'ScheduleInfo',
  'ArtifactRef',
  'ArtifactDraft',
  'StoredArtifact',
  'ArtifactPlace',
  'UserTransaction',
]

describe('docs/api.md', () => {
  it('has everything that can be imported', () => {
    const names = [...new Set(exportsOf('src/index.ts'))]
    expect(names).toEqual(expect.arrayContaining(['job', 'Pawl', 'Refused', 'Worker', 'PawlError']))
    expect(names.filter((name) => !isOnPage(name))).toEqual([])
  })

  it.each(OPTIONS)('has every option of %s, and no other', (name) => {
    expect(keysOf(name)).not.toEqual([])
    expect(rowsOf(name).toSorted()).toEqual(keysOf(name).toSorted())
  })

  it.each(OPTIONS)('says of every option of %s its unit, its default and what it is', (name) => {
    const rows = section(name)
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) => line.slice(2, -2).split(' | '))
    expect(rows.filter((cells) => cells.length !== 4 || cells.some((cell) => cell === ''))).toEqual(
      [],
    )
  })

  it.each(PARTS)('has every part of %s, and no other', (name) => {
    expect(namesIn(rowsOf(name))).toEqual(keysOf(name).toSorted())
  })

  it.each([
    ['Pawl', 'src/engine/pawl.ts', 'submit'],
    ['Handle', 'src/engine/client/handle.ts', 'result'],
    ['Quarantine', 'src/engine/operator/quarantine.ts', 'redrive'],
    ['StageOutputs', 'src/definition/stage-outputs.ts', 'toArray'],
    ['Worker', 'src/worker/loop/worker.ts', 'stop'],
    ['Artifacts', 'src/engine/artifacts/artifacts.ts', 'check'],
    ['ScheduleHandle', 'src/engine/schedule/schedule-handle.ts', 'pause'],
    ['Snapshot', 'src/engine/client/snapshot.ts', 'counts'],
  ])('has every public member of %s, and no other', (name, file, one) => {
    expect(membersOf(file)).toContain(one)
    expect(namesIn(rowsOf(name))).toEqual(membersOf(file).toSorted())
  })

  it.each([
    ['Obstacle', 'guide/6-asking.md'],
    ['AbortReason', 'guide/2-failures.md'],
    ['Isolation', 'guide/5-workers.md'],
    ['Missed', 'guide/11-schedules.md'],
  ])('has every word of %s in a table of %s', (name, where) => {
    const lines = readFileSync(join(ROOT, 'docs', where), 'utf8').split('\n')
    const rows = lines.filter((line) => line.startsWith("| `'"))
    const cells = new Set(rows.flatMap((line) => quotedNames(line.split(' | ')[0] as string)))
    expect(wordsOf(name).length).toBeGreaterThan(2)
    expect(wordsOf(name).filter((word) => !cells.has(`'${word}'`))).toEqual([])
  })

  it('would be noticed if it lacked a section', () => {
    expect(rowsOf('NoSuchOptions')).toEqual([])
    expect(() => keysOf('NoSuchOptions')).toThrow('no interface NoSuchOptions')
  })
})
