/**
 * Every name that a page may mention as code: read from the kernel itself.
 */
import { listGuards, REJECTION_CODES } from '../../../src/kernel/index.ts'
import { SERVER_PROBLEMS } from '../../../src/protocol/index.ts'
import { codeOf } from '../tidy/scan.ts'
import type { SourceFile } from '../tidy/rules.ts'
import {
  COMMANDS,
  EFFECT_STATES,
  ENTRIES,
  EXECUTION_STATES,
  JOB_STATES,
  LIMIT_MEANINGS,
  STAGE_STATES,
  TASK_STATES,
} from './meanings.ts'

/** Files of the directory store. */
const STORE_FILES = ['MARK', 'LOCK', 'OWNER']

/** Codes of failures that nobody threw: see the page of errors. */
const FAILURE_CODES = ['TimedOut', 'ThrownValue', 'ChildDied', 'NotAnswered']

/** What a program is given by its environment. */
const ENVIRONMENT = ['PAWL_URL', 'PAWL_TOKEN']

const EXPORT = /\bexport\s+(?:class|interface|type|const|(?:async\s+)?function)\s+(\w+)/g
const INTERFACE = /\binterface\s+(\w+)(?:\s+extends\s+([\w\s,]+?))?\s*\{\n([\s\S]*?)\n\}/g
const CLASS = /\bclass\s+(\w+)[^{]*\{\n([\s\S]*?)\n\}/g
const METHOD = /^ {2}(?:(?:override|static|async|get) )*\*?(#?\w+)(?:<[^>]*>)?\(/gm
const FIELD = /^ {2}(?:readonly )?(\w+)\??:/gm

/** Entries, commands, states, codes, guards, exported names, `Record.field` and `Class.method`. */
export function knownNames(files: readonly SourceFile[]): ReadonlySet<string> {
  const sources = files
    .filter(({ path }) => path.startsWith('src/') && !path.endsWith('.test.ts'))
    .map(({ text }) => codeOf(text))
  const guards = listGuards().flatMap(({ id }) => [id, id.split('.').at(-1) as string])
  const states = [TASK_STATES, EXECUTION_STATES, EFFECT_STATES, STAGE_STATES, JOB_STATES]
  return new Set<string>([
    ...Object.keys(ENTRIES),
    ...Object.keys(COMMANDS),
    ...Object.keys(LIMIT_MEANINGS),
    ...states.flatMap((table) => Object.keys(table)),
    ...REJECTION_CODES,
    ...STORE_FILES,
    ...FAILURE_CODES,
    ...ENVIRONMENT,
    ...Object.keys(SERVER_PROBLEMS),
    ...guards,
    ...sources.flatMap((code) => [...code.matchAll(EXPORT)].map((match) => match[1] as string)),
    ...fieldsOf(sources.join('\n')),
    ...methodsOf(sources.join('\n')),
  ])
}

/** `LogWriter.append` and the like. */
function methodsOf(code: string): string[] {
  return [...code.matchAll(CLASS)].flatMap(([, name = '', body = '']) =>
    [...body.matchAll(METHOD)].map((match) => `${name}.${match[1]}`),
  )
}

/** `Lease.worker` and the like; fields of extended interfaces count as own. */
function fieldsOf(code: string): string[] {
  const own = new Map<string, { readonly bases: string[]; readonly fields: string[] }>()
  for (const [, name = '', bases = '', body = ''] of code.matchAll(INTERFACE)) {
    const fields = [...body.matchAll(FIELD)].map((match) => match[1] as string)
    own.set(name, { bases: bases.split(',').map((base) => base.trim()), fields })
  }
  const all = (name: string): string[] => {
    const { bases = [], fields = [] } = own.get(name) ?? {}
    return [...fields, ...bases.flatMap(all)]
  }
  return [...own.keys()].flatMap((name) => all(name).map((field) => `${name}.${field}`))
}

/** The names in backticks, as a reader sees them. */
export function quotedNames(markdown: string): string[] {
  return [...markdown.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] as string)
}
