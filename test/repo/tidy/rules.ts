/**
 * The rules of the house, as functions over a set of files.
 *
 * Each rule takes the files and says what is wrong. It never reads the disk, so a test can
 * hand it a small bad example and see it fail.
 */
import { posix } from 'node:path'
import { circlesIn, fileGraph, folderGraph } from './rooms.ts'
import { codeOf, functionBlocks, importsOf, lineOf } from './scan.ts'

export interface SourceFile {
  /** From the root of the repository, with forward slashes. */
  readonly path: string
  readonly text: string
}

export interface Problem {
  readonly rule: string
  /** File and line, then what is wrong and what to do. */
  readonly what: string
}

export type Rule = (files: readonly SourceFile[]) => Problem[]

export const LONGEST_FILE = 700
export const LONGEST_FUNCTION = 75

/**
 * Which room may import from which. A file right
 * under `src/` is the public face and may use everything but the testing kit.
 */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  kernel: [],
  log: ['kernel'],
  protocol: ['kernel'],
  lab: ['kernel'],
  store: ['kernel', 'log', 'protocol'],
  definition: ['kernel'],
  worker: ['kernel', 'store', 'definition'],
  engine: ['kernel', 'log', 'store', 'definition', 'worker'],
  dashboard: ['kernel', 'protocol', 'definition', 'engine'],
  push: [],
  observe: ['kernel', 'store', 'definition', 'worker', 'engine'],
  operations: ['kernel', 'protocol', 'store', 'definition', 'engine'],
  server: [
    'kernel',
    'log',
    'protocol',
    'store',
    'definition',
    'engine',
    'operations',
    'push',
    'worker',
    'dashboard',
    'observe',
  ],
  mcp: ['kernel', 'protocol', 'definition', 'engine', 'operations'],
  conformance: ['kernel', 'store', 'definition', 'engine', 'server'],
  cli: [
    'kernel',
    'lab',
    'log',
    'protocol',
    'store',
    'definition',
    'engine',
    'operations',
    'push',
    'worker',
    'dashboard',
    'observe',
    'server',
    'conformance',
    'mcp',
  ],
  testing: [
    'kernel',
    'lab',
    'log',
    'protocol',
    'store',
    'definition',
    'engine',
    'operations',
    'push',
    'worker',
    'dashboard',
    'observe',
    'server',
    'cli',
  ],
}

/** The only files that may read a clock, wait, or draw a random number. */
export const PORTS: readonly RegExp[] = [
  /\/clock\.ts$/,
  /\/random\.ts$/,
  /\/port\.ts$/,
  /\/[a-z0-9-]+-port\.ts$/,
  /\/port-[a-z0-9-]+\.ts$/,
]

function problem(rule: string, path: string, line: number, what: string): Problem {
  return { rule, what: `${path}:${line}: ${what}` }
}

function isTest(file: SourceFile): boolean {
  return /\.test\.tsx?$/.test(file.path)
}

function isSource(file: SourceFile): boolean {
  return file.path.startsWith('src/') && isTypeScript(file) && !isTest(file)
}

function isTypeScript(file: SourceFile): boolean {
  return /\.tsx?$/.test(file.path)
}

/** `src/kernel/decide.ts` is in the room `kernel`; `src/index.ts` is in none. */
function roomOf(path: string): string | null {
  const [top, room, ...rest] = path.split('/')
  return top === 'src' && room !== undefined && rest.length > 0 ? room : null
}

/** Where a relative import leads, from the root; null for a package. */
function targetOf(path: string, specifier: string): string | null {
  return specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : null
}

export const arrowsPointOneWay: Rule = (files) =>
  files.filter(isSource).flatMap((file) => {
    const room = roomOf(file.path)
    const allowed = room === null ? (ROOMS['testing'] ?? []) : ROOMS[room]
    if (allowed === undefined) {
      return [problem('rooms', file.path, 1, `'${room}' is no room: add it to ROOMS, or move it.`)]
    }
    return importsOf(file.text).flatMap(({ specifier, line }) => {
      const target = targetOf(file.path, specifier)
      const other = target === null ? null : roomOf(target)
      if (other === null || other === room || allowed.includes(other)) return []
      const here = room ?? 'the public face'
      return [problem('rooms', file.path, line, `${here} must not know of ${other}.`)]
    })
  })

/** Of imports between files, types included. */
export const filesHaveNoCircles: Rule = (files) =>
  circlesIn(fileGraph(files.filter(isSource))).map((circle) =>
    problem('circles', circle[0] as string, 1, `imports itself by way of ${circle.join(', ')}.`),
  )

/** Down to the last sub-folder; `rooms.ts` says what the front of a folder is. */
export const foldersHaveNoCircles: Rule = (files) =>
  circlesIn(folderGraph(files.filter(isSource))).map((circle) =>
    problem('circles', circle[0] as string, 1, `a circle between folders: ${circle.join(', ')}.`),
  )

const TYPE_DECLARATION =
  /^(?:export )?(?:declare )?(?:abstract )?(?:class|interface|type|enum)\s+([A-Za-z_$][\w$]*)/gm

export const oneNameForOneType: Rule = (files) => {
  const declared = new Map<string, string>()
  return files.filter(isSource).flatMap((file) => {
    const code = codeOf(file.text)
    return [...code.matchAll(TYPE_DECLARATION)].flatMap((match) => {
      const name = match[1] as string
      const first = declared.get(name)
      declared.set(name, first ?? file.path)
      if (first === undefined || first === file.path) return []
      const line = lineOf(code, match.index)
      return [problem('types', file.path, line, `${name} is a type of ${first}, too: rename one.`)]
    })
  })
}

/** Where a submit begins. */
const SUBMIT_PATH = 'src/engine/client/submitter.ts'

/** Follows every import from the submitter on, types included. */
export const submitPathKnowsNoWorker: Rule = (files) => {
  const texts = new Map(files.filter(isSource).map(({ path, text }) => [path, text]))
  const seen = new Set([SUBMIT_PATH])
  const found: Problem[] = []
  for (const path of seen) {
    for (const { specifier, line } of importsOf(texts.get(path) ?? '')) {
      const target = targetOf(path, specifier)
      if (target === null) continue
      if (roomOf(target) !== 'worker') seen.add(target)
      else found.push(problem('submit', path, line, `a submit would reach '${specifier}'.`))
    }
  }
  return found
}

export const sourcesDoNotKnowTests: Rule = (files) =>
  files.filter(isSource).flatMap((file) =>
    importsOf(file.text).flatMap(({ specifier, line }) => {
      const target = targetOf(file.path, specifier)
      if (target === null || target.startsWith('src/')) {
        return specifier.includes('.test.')
          ? [problem('outside', file.path, line, `imports a test, '${specifier}'.`)]
          : []
      }
      return [problem('outside', file.path, line, `imports '${specifier}', which is outside src/.`)]
    }),
  )

const AMBIENT =
  /\b(?:Date|process|performance|crypto|console|globalThis|setTimeout|setInterval|fetch)\b/g

export const kernelStandsAlone: Rule = (files) =>
  files
    .filter((file) => isSource(file) && roomOf(file.path) === 'kernel')
    .flatMap((file) => {
      const imports = importsOf(file.text)
        .filter(({ specifier }) => {
          const target = targetOf(file.path, specifier)
          return target === null || roomOf(target) !== 'kernel'
        })
        .map(({ specifier, line }) =>
          problem('kernel', file.path, line, `the kernel must not import '${specifier}'.`),
        )
      const code = codeOf(file.text)
      const ambient = [...code.matchAll(AMBIENT)].map((match) =>
        problem(
          'kernel',
          file.path,
          lineOf(code, match.index),
          `the kernel must not use ${match[0]}.`,
        ),
      )
      return imports.concat(ambient)
    })

/** A date made of a given number reads no clock, so only the empty call is refused. */
const CLOCK_OR_CHANCE = new RegExp(
  [
    String.raw`\bDate\s*\.\s*now\b`,
    String.raw`\bnew\s+Date\b(?!\s*\(\s*[^\s)])`,
    String.raw`(?<!new\s)(?<![.\w])Date\s*\(`,
    String.raw`\bperformance\s*\.\s*(?:now|timeOrigin)\b`,
    String.raw`\bprocess\s*\.\s*(?:hrtime|uptime)\b`,
    String.raw`\bMath\s*\.\s*random\b`,
    String.raw`\b(?:randomUUID|randomBytes|randomInt|randomFill|randomFillSync|getRandomValues)\b`,
    String.raw`\b(?:setTimeout|setInterval)\b`,
    String.raw`\bAbortSignal\s*\.\s*timeout\b`,
  ].join('|'),
  'g',
)
const TIMERS = /^(?:node:)?(?:timers(?:\/promises)?|perf_hooks)$/

export const onlyPortsReadClockOrChance: Rule = (files) =>
  files
    .filter((file) => isSource(file) && !PORTS.some((port) => port.test(file.path)))
    .flatMap((file) => {
      const code = codeOf(file.text)
      const uses = [...code.matchAll(CLOCK_OR_CHANCE)].map((match) =>
        problem('clock', file.path, lineOf(code, match.index), `${match[0]} belongs in a port.`),
      )
      const imports = importsOf(file.text)
        .filter(({ specifier }) => TIMERS.test(specifier))
        .map(({ specifier, line }) =>
          problem('clock', file.path, line, `'${specifier}' belongs in a port.`),
        )
      return uses.concat(imports)
    })

export const filesAreShort: Rule = (files) =>
  files.filter(isTypeScript).flatMap((file) => {
    const lines = file.text.trimEnd().split('\n').length
    return lines <= LONGEST_FILE
      ? []
      : [problem('size', file.path, 1, `${lines} lines, more than ${LONGEST_FILE}: split it.`)]
  })

/** Tests are told as one long story inside `describe`, so only sources are measured. */
export const functionsAreShort: Rule = (files) =>
  files
    .filter((file) => isTypeScript(file) && !isTest(file))
    .flatMap((file) =>
      functionBlocks(file.text)
        .filter((block) => block.lines > LONGEST_FUNCTION)
        .map(({ line, lines }) =>
          problem('size', file.path, line, `a function of ${lines} lines: split it.`),
        ),
    )

const VAGUE = new Set(['util', 'utils', 'helper', 'helpers', 'common', 'manager', 'managers'])
const DECLARATION =
  /\b(?:(?:class|interface|enum|type)\s+|export\s+(?:const|let|(?:async\s+)?function\*?)\s+)([A-Za-z_$][\w$]*)/g

/** `leaseManager`, `LEASE_MANAGER` and `lease-manager` are the same two words. */
function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]+/)
    .flatMap((part) => part.split(' '))
    .map((word) => word.toLowerCase())
}

export const namesSaySomething: Rule = (files) =>
  files.filter(isTypeScript).flatMap((file) => {
    const found: Problem[] = []
    for (const word of file.path.split('/').flatMap(wordsOf)) {
      if (VAGUE.has(word)) {
        found.push(
          problem('names', file.path, 1, `'${word}' in a path says nothing: name the concept.`),
        )
      }
    }
    const code = codeOf(file.text)
    for (const match of code.matchAll(DECLARATION)) {
      const name = match[1] as string
      const line = lineOf(code, match.index)
      const vague = wordsOf(name).find((word) => VAGUE.has(word))
      if (vague !== undefined) {
        found.push(problem('names', file.path, line, `'${vague}' in ${name} says nothing.`))
      }
      if (/^(?:interface|type|class)\b/.test(match[0]) && /^I[A-Z][a-z]/.test(name)) {
        found.push(problem('names', file.path, line, `${name} has an I-prefix: drop it.`))
      }
    }
    return found
  })

/** Index files only list; everything else says what it owns before it begins. */
export const sourcesOpenWithAComment: Rule = (files) =>
  files
    .filter((file) => isSource(file) && !file.path.endsWith('/index.ts'))
    .flatMap((file) =>
      /^(?:#!.*\n)?(?:\/\*\*|\/\/)/.test(file.text)
        ? []
        : [problem('comment', file.path, 1, 'does not open with what it owns.')],
    )

export const importsNameTheirFile: Rule = (files) =>
  files.filter(isTypeScript).flatMap((file) =>
    importsOf(file.text)
      .filter(({ specifier }) => specifier.startsWith('.') && !/\.(?:tsx?|json)$/.test(specifier))
      .map(({ specifier, line }) =>
        problem('imports', file.path, line, `'${specifier}' lacks its .ts extension.`),
      ),
  )

// Written so that it does not find itself.
const UNFINISHED = /\b(?:TO[D]O|FIX[M]E|XX[X]|HA[C]K)\b/g

export const nothingIsLeftForLater: Rule = (files) =>
  files.flatMap((file) =>
    [...file.text.matchAll(UNFINISHED)].map((match) =>
      problem(
        'later',
        file.path,
        lineOf(file.text, match.index),
        `${match[0]}: do it, or drop it.`,
      ),
    ),
  )

const EXACT = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/

type Versions = { readonly [name: string]: string | Versions }

/** Peers are the user's choice, so they may be ranges. */
export const versionsArePinned: Rule = (files) =>
  files
    .filter((file) => file.path === 'package.json')
    .flatMap((file) => {
      const manifest = JSON.parse(file.text) as Readonly<Record<string, Versions | undefined>>
      return ['dependencies', 'devDependencies', 'optionalDependencies', 'overrides'].flatMap(
        (group) => loose(file.path, group, manifest[group] ?? {}),
      )
    })

function loose(path: string, group: string, versions: Versions): Problem[] {
  return Object.entries(versions).flatMap(([name, version]) => {
    if (typeof version !== 'string') return loose(path, `${group}.${name}`, version)
    return EXACT.test(version)
      ? []
      : [problem('pinned', path, 1, `${group}: ${name} is '${version}', not an exact version.`)]
  })
}

export const ALL_RULES: Readonly<Record<string, Rule>> = {
  'arrows between rooms point one way': arrowsPointOneWay,
  'no file imports itself by way of others': filesHaveNoCircles,
  'no folder imports itself by way of others': foldersHaveNoCircles,
  'a type name is declared once': oneNameForOneType,
  'a submit passes through no file of the worker': submitPathKnowsNoWorker,
  'sources import nothing outside src/': sourcesDoNotKnowTests,
  'the kernel imports and reads nothing outside itself': kernelStandsAlone,
  'only ports read a clock, wait or draw at random': onlyPortsReadClockOrChance,
  'files are short': filesAreShort,
  'functions are short': functionsAreShort,
  'names say something': namesSaySomething,
  'sources open with what they own': sourcesOpenWithAComment,
  'relative imports name their file': importsNameTheirFile,
  'nothing is left for later': nothingIsLeftForLater,
  'dependencies are pinned exactly': versionsArePinned,
}
