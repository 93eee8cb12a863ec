/**
 * The README is short and in order, every page names only commands that exist, and every figure
 * names the command that prints it. (That the README's example runs is held with the examples.)
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readTree, ROOT } from '../tidy/tree.ts'
import { tablesOf } from './page-tables.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const readme = read('README.md')
const { scripts } = JSON.parse(read('package.json')) as {
  readonly scripts: Readonly<Record<string, string>>
}
const pages = readTree().filter(({ path }) => path.endsWith('.md') && !path.startsWith('test/'))

/** Commands of npm itself, which no script stands for. */
const OF_NPM = new Set(['ci', 'install', 'pack'])

/** The scripts in commands that stand in backticks or in a block of code. */
function scriptsIn(text: string): string[] {
  return [...text.matchAll(/(?:`|^)npm (?:run )?([a-z:]+)/gm)]
    .map((match) => match[1] as string)
    .filter((name) => !OF_NPM.has(name))
}

/** Why a command cannot be run: its script is missing, or the files of its tests. */
function faultOf(command: string): string | null {
  const [, script] = /^npm (?:run )?([a-z:]+)/.exec(command) ?? []
  const [, tests] = /^npx vitest run (\S+)$/.exec(command) ?? []
  if (script !== undefined) return script in scripts ? null : `there is no script ${script}`
  if (tests !== undefined) return existsSync(join(ROOT, tests)) ? null : `there is no ${tests}`
  return `${command} is no command`
}

describe('the README', () => {
  it('has at most 120 lines', () => {
    expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(120)
  })

  it('goes from what it is to where to read on', () => {
    expect([...readme.matchAll(/^#+ (.+)$/gm)].map((match) => match[1])).toEqual([
      'Pawl',
      'Install',
      'Two commands',
      'Five promises',
      'Stores',
      'Beside others',
      'What is not there',
      'Read on',
    ])
  })
})

describe('a command of npm', () => {
  it.each(pages)('that $path names exists', ({ text }) => {
    expect(scriptsIn(text).filter((name) => !(name in scripts))).toEqual([])
  })

  it('is looked for in prose and in blocks', () => {
    expect(scriptsIn('`npm test`\n```\nnpm run gone -- -x\n```\n`npm ci`')).toEqual([
      'test',
      'gone',
    ])
  })

  it('is explained in docs/contributing.md, if it is a script that people run', () => {
    const explained = new Set(scriptsIn(read('docs/contributing.md')))
    const run = Object.keys(scripts).filter((name) => !name.startsWith('pre'))
    expect(run.filter((name) => !explained.has(name))).toEqual([])
  })
})

describe('a figure of docs/performance.md', () => {
  const figures = tablesOf(read('docs/performance.md')).flatMap(({ head, rows }) =>
    head.at(-1) === 'Printed by' ? rows : [],
  )

  it('names the command that prints it, and the command exists', () => {
    expect(figures.length).toBeGreaterThan(20)
    expect(figures.filter((row) => row.length !== 3 || row.includes(''))).toEqual([])
    const faults = figures.map((row) => faultOf(row.at(-1) ?? ''))
    expect(faults.filter((fault) => fault !== null)).toEqual([])
  })

  it('without a command, or with one that does not exist, would be noticed', () => {
    expect(faultOf('npm run gone')).toBe('there is no script gone')
    expect(faultOf('npx vitest run test/gone')).toBe('there is no test/gone')
    expect(faultOf('by hand')).toBe('by hand is no command')
    expect(faultOf('npm test')).toBeNull()
  })
})
