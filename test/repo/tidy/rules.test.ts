/**
 * Every rule can fail: a small bad example for each way in which it is broken, and a good one
 * that looks alike and passes.
 */
import { describe, expect, it } from 'vitest'
import { posix } from 'node:path'
import type { Rule, SourceFile } from './rules.ts'
import * as rules from './rules.ts'

interface Example {
  readonly says: string
  readonly rule: Rule
  readonly path: string
  readonly bad: string
  readonly good: string
  readonly goodPath?: string
  /** Other files that are there, too. */
  readonly beside?: readonly SourceFile[]
  readonly goodBeside?: readonly SourceFile[]
}

const OPENING = '/** Owns this. */\n'
/** Put together, so that this file does not break the rule itself. */
const LATER = ['TO', 'DO'].join('')
const long = (lines: number): string => '  step()\n'.repeat(lines)

/** What `path` must say to import `target`. */
function from(path: string, target: string): string {
  const relative = posix.relative(posix.dirname(path), target)
  return `import type { A } from '${relative.startsWith('.') ? relative : `./${relative}`}'`
}

const EXAMPLES: readonly Example[] = [
  {
    says: 'the store is imported by the kernel',
    rule: rules.arrowsPointOneWay,
    path: 'src/kernel/decide.ts',
    bad: `import { x } from '../store/memory.ts'`,
    good: `import { x } from './memory.ts'`,
  },
  {
    says: 'the server is imported by the store',
    rule: rules.arrowsPointOneWay,
    path: 'src/store/http/client.ts',
    bad: `export * from '../../server/routes.ts'`,
    good: `export * from '../../protocol/routes.ts'`,
  },
  {
    says: 'an arrow is turned around by a dynamic import',
    rule: rules.arrowsPointOneWay,
    path: 'src/log/reader.ts',
    bad: `const later = await import('../engine/open.ts')`,
    good: `const later = await import('../kernel/index.ts')`,
  },
  {
    says: 'an arrow is turned around by a type',
    rule: rules.arrowsPointOneWay,
    path: 'src/log/reader.ts',
    bad: `type S = import('../store/store.ts').Store`,
    good: `type S = import('../kernel/index.ts').Entry`,
  },
  {
    says: 'the public face uses the testing kit',
    rule: rules.arrowsPointOneWay,
    path: 'src/index.ts',
    bad: `export * from './testing/index.ts'`,
    good: `export * from './engine/index.ts'`,
  },
  {
    says: 'a room is not on the map',
    rule: rules.arrowsPointOneWay,
    path: 'src/misc/thing.ts',
    bad: 'export const a = 1',
    good: 'export const a = 1',
    goodPath: 'src/engine/thing.ts',
  },
  ...(
    [
      ['two files import each other', rules.filesHaveNoCircles, 'a.ts', 'b.ts', 'c.ts'],
      ['an index is used from within', rules.filesHaveNoCircles, 'index.ts', 'b.ts', 'c.ts'],
      ['two folders do', rules.foldersHaveNoCircles, 'one/a.ts', 'two/b.ts', 'three/c.ts'],
      ['a sub-folder uses the front above', rules.foldersHaveNoCircles, 'a.ts', 'x/b.ts', 'x/c.ts'],
    ] as const
  ).map(([says, rule, a, b, c]) => {
    const others = (target: string): SourceFile[] => [
      { path: `src/store/${b}`, text: from(b, target) },
      { path: `src/store/${c}`, text: '' },
    ]
    return {
      says,
      rule,
      path: `src/store/${a}`,
      bad: from(a, b),
      good: from(a, b),
      beside: others(a),
      goodBeside: others(c),
    }
  }),
  ...['interface', 'class', 'abstract class', 'enum'].map((kind) => ({
    says: `a type of the kernel is declared again, as ${kind}`,
    rule: rules.oneNameForOneType,
    path: 'src/store/a.ts',
    bad: `${kind} Task {}`,
    good: `${kind} TaskRow {} // no class Task {}`,
    beside: [{ path: 'src/kernel/model.ts', text: 'export type Task = 1' }],
  })),
  {
    says: 'the submitter imports the worker',
    rule: rules.submitPathKnowsNoWorker,
    path: 'src/engine/client/submitter.ts',
    bad: `import type { Worker } from '../../worker/index.ts'`,
    good: `import type { Store } from '../../store/index.ts'`,
  },
  {
    says: 'a source uses test support',
    rule: rules.sourcesDoNotKnowTests,
    path: 'src/store/memory.ts',
    bad: `import { plain } from '../../test/support/specs.ts'`,
    good: `import { plain } from '../../test/support/specs.ts'`,
    goodPath: 'src/store/memory.test.ts',
  },
  {
    says: 'a source uses a test that stands beside it',
    rule: rules.sourcesDoNotKnowTests,
    path: 'src/store/memory.ts',
    bad: `import { plain } from './ready.test.ts'`,
    good: `import { plain } from './ready.ts'`,
  },
  {
    says: 'the kernel imports a node module',
    rule: rules.kernelStandsAlone,
    path: 'src/kernel/ids.ts',
    bad: `import { createHash } from 'node:crypto'`,
    good: `// import { createHash } from 'node:crypto'`,
  },
  {
    says: 'the kernel imports a package',
    rule: rules.kernelStandsAlone,
    path: 'src/kernel/ids.ts',
    bad: `import 'left-pad'`,
    good: `const message = "import 'left-pad'"`,
  },
  {
    says: 'the kernel takes the clock by another name',
    rule: rules.kernelStandsAlone,
    path: 'src/kernel/retry.ts',
    bad: 'const { now } = Date',
    good: 'const { now } = reads // not Date',
  },
  ...(
    [
      ['Date.now()', 'clock.now()'],
      ['new Date()', 'new Date(at)'],
      ['new Date', 'new DateRange(a, b)'],
      ['Date()', 'toDate()'],
      ['performance.now()', 'performance.mark'],
      ['process.hrtime.bigint()', 'process.pid'],
      ['Math.random()', 'Math.floor(1)'],
      ['crypto.randomUUID()', 'crypto.createHash'],
      ['randomBytes(8)', 'bytes(8)'],
      ['crypto.getRandomValues(a)', 'crypto.subtle'],
      ['setTimeout(f, 1)', 'wait(f, 1)'],
      ['setInterval(f, 1)', '`setInterval(f, 1)`'],
      ['AbortSignal.timeout(5)', 'AbortSignal.any([])'],
      ['import("node:timers/promises")', 'import("node:path")'],
    ] as const
  ).map(([bad, good]) => ({
    says: `a source that is no port has ${bad}`,
    rule: rules.onlyPortsReadClockOrChance,
    path: 'src/store/report.ts',
    bad: `const a = ${bad}`,
    good: `const a = ${good}`,
  })),
  {
    says: 'the clock is read in a file that only sounds like a port',
    rule: rules.onlyPortsReadClockOrChance,
    path: 'src/store/report.ts',
    bad: 'const a = Date.now()',
    good: 'const a = Date.now()',
    goodPath: 'src/store/disk-port.ts',
  },
  {
    says: 'a file is too long',
    rule: rules.filesAreShort,
    path: 'test/long.test.ts',
    bad: 'a\n'.repeat(701),
    good: 'a\n'.repeat(700),
  },
  ...(
    [
      ['a function', 'function f(a: number): string {\n', '}\n'],
      ['an async generator', 'async function* f() {\n', '}\n'],
      ['a function that returns a type literal', 'function f(): { a: 1 } {\n', '}\n'],
      ['an arrow', 'const f = (a: number) => {\n', '}\n'],
      ['a concise arrow', 'const f = () => (\n', ')\n'],
      ['a method', 'class A extends B {\n  f(): void {\n', '  }\n}\n'],
      ['an accessor', 'class A {\n  get f() {\n', '  }\n}\n'],
    ] as const
  ).map(([what, head, tail]) => ({
    says: `${what} is too long`,
    rule: rules.functionsAreShort,
    path: 'src/store/long.ts',
    bad: `${head}${long(74)}${tail}`,
    good: `${head}${long(73)}${tail}`,
  })),
  {
    says: 'braces in strings, templates and expressions hide the end of a function',
    rule: rules.functionsAreShort,
    path: 'src/store/long.ts',
    bad: `function f() {\n  a('}', /[}/]}/, \`}\${b({})}\`) // }\n${long(73)}}\n`,
    good: `function f() {\n  a('}', /[}/]}/, \`}\${b({})}\`) // }\n${long(72)}}\nconst a = {\n${long(90)}}\n`,
  },
  ...(
    [
      ['src/engine/utils.ts', 'src/engine/units.ts'],
      ['src/helpers/a.ts', 'src/engine/a.ts'],
      ['test/common/a.ts', 'test/support/a.ts'],
      ['src/worker/lease-manager.ts', 'src/worker/lease-keeper.ts'],
    ] as const
  ).map(([path, goodPath]) => ({
    says: `a file is called ${path}`,
    rule: rules.namesSaySomething,
    path,
    bad: 'const a = 1',
    good: 'const a = 1',
    goodPath,
  })),
  ...(
    [
      ['interface IStore {}', 'interface Invariant {}'],
      ['export type IStore = 1', 'export type IO = 1'],
      ['class LeaseManager {}', 'class LeaseKeeper {}'],
      ['export function dateHelper() {}', 'export function dateOf() {}'],
      ['export const COMMON_RULES = 1', 'export const RULES = 1'],
    ] as const
  ).map(([bad, good]) => ({
    says: `a file declares ${bad}`,
    rule: rules.namesSaySomething,
    path: 'src/engine/a.ts',
    bad,
    good: `${good} // no class LeaseManager`,
  })),
  {
    says: 'a source begins without a word',
    rule: rules.sourcesOpenWithAComment,
    path: 'src/engine/a.ts',
    bad: `import { b } from './b.ts'\n/** Too late. */`,
    good: `${OPENING}import { b } from './b.ts'`,
  },
  {
    says: 'an import has no extension',
    rule: rules.importsNameTheirFile,
    path: 'test/a.test.ts',
    bad: `import { b } from '../src/kernel/index'`,
    good: `import { b } from '../src/kernel/index.ts'`,
  },
  {
    says: 'an import has the extension of the built file',
    rule: rules.importsNameTheirFile,
    path: 'src/engine/a.ts',
    bad: `export * from './b.js'`,
    good: `export * from 'fast-check'`,
  },
  {
    says: 'something is left for later in a page',
    rule: rules.nothingIsLeftForLater,
    path: 'docs/page.md',
    bad: `${LATER}: write this`,
    good: 'to do this, write',
  },
  {
    says: 'something is left for later in code',
    rule: rules.nothingIsLeftForLater,
    path: 'src/engine/a.ts',
    bad: `// ${LATER}`,
    good: '// fixed',
  },
  ...['^1.2.3', '~1.2.3', '1.2', 'latest', '>=1.2.3', '1.x'].map((version) => ({
    says: `a dependency is at ${version}`,
    rule: rules.versionsArePinned,
    path: 'package.json',
    bad: JSON.stringify({ devDependencies: { a: version } }),
    good: JSON.stringify({ devDependencies: { a: '1.2.3' }, peerDependencies: { a: version } }),
  })),
  {
    says: 'an override deep down is loose',
    rule: rules.versionsArePinned,
    path: 'package.json',
    bad: JSON.stringify({ overrides: { a: { b: '^1.0.0' } } }),
    good: JSON.stringify({ overrides: { a: { b: '1.0.0-beta.1' } } }),
  },
]

function handleWith(text: string): rules.SourceFile {
  return { path: 'src/engine/client/handle.ts', text }
}

describe('a rule fails when', () => {
  it.each(EXAMPLES)('$says', ({ rule, path, bad, good, goodPath, beside = [], goodBeside }) => {
    expect(rule([...beside, { path, text: bad }])).not.toEqual([])
    expect(rule([...(goodBeside ?? beside), { path: goodPath ?? path, text: good }])).toEqual([])
  })

  it('every rule has an example', () => {
    const shown = new Set(EXAMPLES.map(({ rule }) => rule))
    expect(Object.values(rules.ALL_RULES).filter((rule) => !shown.has(rule))).toEqual([])
  })

  it('a file that the submitter imports brings the worker along', () => {
    const submitter = {
      path: 'src/engine/client/submitter.ts',
      text: `import { Handle } from './handle.ts'`,
    }
    const other = {
      path: 'src/engine/pawl.ts',
      text: `import { Worker } from '../worker/index.ts'`,
    }
    const [found] = rules.submitPathKnowsNoWorker([
      submitter,
      handleWith(`import type { Timing } from '../../worker/clock.ts'`),
    ])
    expect(found?.what).toMatch(/^src\/engine\/client\/handle\.ts:1: /)
    const good = handleWith(`import type { Timing } from '../../store/clock.ts'`)
    expect(rules.submitPathKnowsNoWorker([submitter, good, other])).toEqual([])
  })

  it('says where: file and line', () => {
    const [problem] = rules.importsNameTheirFile([
      { path: 'src/a.ts', text: `${OPENING}\nimport './b'` },
    ])
    expect(problem?.what).toMatch(/^src\/a\.ts:3: /)
  })
})
