/**
 * `docs/errors.md` lists everything that Pawl throws: each class that the sources have, with its
 * kind, and no other. And nothing else is thrown that the page does not explain.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ErrorKind } from '../../../src/kernel/index.ts'
import { REJECTION_CODES } from '../../../src/kernel/index.ts'
import type { SourceFile } from '../tidy/rules.ts'
import { readTree, ROOT } from '../tidy/tree.ts'
import { quotedNames } from './names.ts'
import { tableOf } from './page-tables.ts'

const page = readFileSync(join(ROOT, 'docs', 'errors.md'), 'utf8')
const model = readFileSync(join(ROOT, 'docs', 'model.md'), 'utf8')
const sources = readTree().filter(
  ({ path }) => path.startsWith('src/') && path.endsWith('.ts') && !path.endsWith('.test.ts'),
)

interface Thrown {
  readonly name: string
  readonly code: string
  readonly kind: string
}

const CLASS = /\bexport class (\w+) extends (\w*Error)\b/g
/**
 * The first two arguments of the constructor of the base: its code, and its kind or a choice of them.
 * A class that passes on a rejection has the code of that: it is listed by its own name.
 */
const CODE_AND_KIND = /\bsuper\(\s*(?:'(\w+)'|code),\s*([^,]+),/
const KINDS = [
  'rejected',
  'retryable',
  'unknown_outcome',
  'corrupt',
  'bug',
] as const satisfies readonly ErrorKind[]

/** `'bug'`, or `a === b ? 'bug' : 'corrupt'`, which is listed as "bug or corrupt". */
function kindsIn(argument: string): string {
  const named = [...argument.matchAll(/'(\w+)'/g)].map(([, word]) => word as ErrorKind)
  return named.filter((word) => KINDS.includes(word)).join(' or ')
}

/** Where a failure is made that nobody threw: `code: 'TimedOut'`, or the last choice of one. */
const FAILURE_CODE = /\bcode: (?:'(\w+)'|[^\n]* : '(\w+)')/g

function codeIn([, own, other]: RegExpMatchArray): string {
  return own ?? other ?? ''
}

/** Every class of errors that a file gives away; what is not a `PawlError` has no code. */
function classesIn({ text }: SourceFile): (Thrown & { readonly base: string })[] {
  return [...text.matchAll(CLASS)].map((match) => {
    const [, name = '', base = ''] = match
    const [, code = name, kind = ''] = CODE_AND_KIND.exec(text.slice(match.index)) ?? []
    return base === 'PawlError'
      ? { name, base, code, kind: kindsIn(kind) }
      : { name, base, code: '', kind: '' }
  })
}

function differences(
  catalogue: readonly (readonly string[])[],
  thrown: readonly Thrown[],
): string[] {
  const listed = new Map(catalogue.map(([code = '', kind = '']) => [code, kind]))
  const existing = new Set(thrown.map(({ code }) => code))
  return [
    ...thrown.filter(({ code }) => !listed.has(code)).map(({ code }) => `${code} is not listed`),
    ...thrown
      .filter(({ code, kind }) => listed.has(code) && listed.get(code) !== kind)
      .map(({ code, kind }) => `${code} is ${kind}`),
    ...[...listed.keys()]
      .filter((code) => !existing.has(code))
      .map((code) => `there is no ${code}`),
  ]
}

describe('docs/errors.md', () => {
  const catalogue = tableOf(page, 'The catalogue', 'Code').rows
  const all = sources.flatMap(classesIn)
  const thrown = all.filter(({ base }) => base === 'PawlError')

  it('lists every error that the sources have, with its kind, and no other', () => {
    expect(thrown.length).toBeGreaterThan(10)
    expect(differences(catalogue, thrown)).toEqual([])
  })

  it('would be noticed if it lacked one, had one too many, or had another kind', () => {
    const file = {
      path: 'src/a.ts',
      text:
        `export class Gone extends PawlError {\n  constructor() {\n    super(\n      'Gone',\n      'bug',\n` +
        `      'It is gone.',\n    )\n  }\n}\nexport class Odd extends PawlError {\n  constructor() {\n` +
        `    super('Odd', 'rejected', 'odd')\n  }\n}\nexport class Either extends PawlError {\n` +
        `  constructor(a: string) {\n    super('Either', a === 'b' ? 'bug' : 'corrupt', 'c')\n  }\n}`,
    }
    expect(
      differences(
        [
          ['Either', 'bug'],
          ['Odd', 'corrupt'],
          ['Old', 'bug'],
        ],
        classesIn(file),
      ),
    ).toEqual([
      'Gone is not listed',
      'Odd is rejected',
      'Either is bug or corrupt',
      'there is no Old',
    ])
  })

  it('is right that the code of an error is its name', () => {
    expect(thrown.filter(({ name, code }) => name !== code)).toEqual([])
  })

  it('is in order, says of each when it comes and what to do, and of no kind that is not explained', () => {
    const codes = catalogue.map(([code]) => code)
    expect(codes).toEqual([...codes].toSorted((a = '', b = '') => (a < b ? -1 : 1)))
    expect(catalogue.filter((row) => row.length !== 4 || row.includes(''))).toEqual([])
    const kinds = tableOf(page, 'What an error carries', 'Kind').rows.map(([kind]) => kind)
    expect(kinds).toEqual(KINDS)
    const isKnown = (kind: string) => kind.split(' or ').every((one) => kinds.includes(one))
    expect(catalogue.filter(([, kind = '']) => !isKnown(kind))).toEqual([])
  })

  it('explains every other class of errors', () => {
    const others = all.filter(({ base, name }) => base !== 'PawlError' && name !== 'PawlError')
    const [, section = ''] = page.split('## What is not on this list')
    const explained = new Set(quotedNames(section))
    expect(others.map(({ name }) => name).filter((name) => !explained.has(name))).toEqual([])
  })

  it('has the codes of failures that no class stands for', () => {
    const rooms = sources.filter(({ path }) => path.startsWith('src/worker/'))
    const given = rooms.flatMap(({ text }) => [...text.matchAll(FAILURE_CODE)].map(codeIn))
    expect(given.toSorted()).toEqual(['ChildDied', 'NotAnswered', 'ThrownValue', 'TimedOut'])
    expect(given.filter((code) => !page.includes(`\`${code}\``))).toEqual([])
  })

  it('leaves the codes of rejections to the model, which has them all', () => {
    expect(page).toContain('(model.md#rejections)')
    expect(REJECTION_CODES.filter((code) => !model.includes(`| \`${code}\` |`))).toEqual([])
  })
})

/**
 * Errors without a class of their own. Each stands for a bug, or for a caller who is part of the
 * same program; whoever adds one says here why nobody outside can meet it.
 */
const BARE: Readonly<Record<string, string>> = {
  'src/lab/authority.ts': 'a story of the lab sends what it should not: only tests write stories',
  'src/kernel/rules/index.ts': 'a guard is left out that does not exist: only tests leave one out',
  'src/log/disk/crc32.ts': 'Node.js is too old, when Pawl is imported: none of it is there yet',
  'src/log/format/bytes.ts': 'a value that cannot be written: commands are checked before',
  'src/log/checkpoint/checkpoint.ts':
    'a checkpoint without its marker: told by the notice of its failure',
  'src/log/checkpoint/checkpoint-runner.ts': 'the thread of a checkpoint ended: told by the notice',
  'src/log/checkpoint/backup.ts': 'a backup without a segment: an open store has one',
  'src/store/sql/postgres/client.ts': 'something that is no error: the cause of SqlFailed',
  'src/store/sql/postgres/connection.ts': 'the connection ended: the cause of SqlFailed',
  'src/store/sql/postgres/statement-batch.ts':
    'a transaction that had failed is committed: the cause of SqlFailed',
  'src/store/sql/failures.ts':
    'something that is no error, thrown by a library: the cause of TransactionFailed',
  'src/store/sql/postgres/wire-values.ts': 'a value that cannot be sent: the cause of SqlFailed',
  'src/store/sql/sqlite/connection.ts': 'what the thread says, or its end: the cause of SqlFailed',
  'src/store/sql/sqlite/sqlite-file.ts':
    'rows that are not as they were, which become a conflict, or it was closed here: causes of SqlFailed',
  'src/store/sql/sqlite/stall-timer.ts':
    'a stalled transaction that was rolled back: the connection makes a conflict of it',
  'src/store/http/transport.ts':
    'a connection that ended, or was ended: the cause of ServerUnreachable',
  'src/push/receive.ts': 'no keys: a mistake at the receiving end, which imports nothing of Pawl',
  'src/server/push-job.ts':
    'a function that did not answer well: it becomes the failure of the attempt',
  'src/store/directory/directory-state.ts':
    'something is written to a folder that is only read: nothing is',
  'src/worker/handler/failure.ts':
    'a rejection of a report, on its way to become the failure on record',
  'src/worker/isolation/child-host.ts': 'a child without its modules: it is told them first',
  'src/worker/isolation/child-pool.ts': 'an effect records a step: it has no way to',
  'src/worker/isolation/protocol.ts': 'an error of the worker, as it is told to a child',
}

describe('an error without a class', () => {
  it('is thrown only where it is explained', () => {
    const bare = sources
      .filter(({ text }) => /\bnew (?:Error|TypeError|RangeError|SyntaxError)\(/.test(text))
      .map(({ path }) => path)
    expect(bare.toSorted()).toEqual(Object.keys(BARE).toSorted())
  })
})
