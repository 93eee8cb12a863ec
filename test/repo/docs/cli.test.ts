/**
 * `docs/cli.md` shows the commands as they are, every command of the catalogue is among them, and each is run by a test.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { COMMANDS } from '../../../src/cli/commands.ts'
import { OPERATIONS } from '../../../src/protocol/index.ts'
import { readTree, ROOT } from '../tidy/tree.ts'
import { blockNames, rewrite } from './blocks.ts'
import { cliParts } from './cli-parts.ts'

const page = readFileSync(join(ROOT, 'docs', 'cli.md'), 'utf8')

/** What tests run the real program with: the words at the beginning of a list of arguments. */
const RUN = /(?:\[|\(|,) ?((?:'[a-z]+', )*'[a-z]+')/g

function runWords(): Set<string> {
  const files = readTree().filter(({ path }) => path.startsWith('test/scenarios/command-line/'))
  const texts = files.flatMap(({ text }) =>
    Array.from(text.replaceAll(/\s*\n\s*/g, ' ').matchAll(RUN)),
  )
  const words = new Set<string>()
  for (const [, list = ''] of texts) {
    const all = list.split(', ').map((word) => word.slice(1, -1))
    all.forEach((_, i) => words.add(all.slice(0, i + 1).join(' ')))
  }
  return words
}

describe('docs/cli.md', () => {
  it('shows the commands: run `npm run docs` after a change', () => {
    expect(page).toBe(rewrite(page, cliParts()))
    expect(blockNames(page).toSorted()).toEqual(Object.keys(cliParts()).toSorted())
  })
})

describe('the command line', () => {
  it('has a command for each operation of the catalogue that says so', () => {
    const names = new Set(COMMANDS.map(({ name }) => name))
    const missing = Object.values(OPERATIONS).flatMap(({ name, command }) =>
      'none' in command || names.has(command.words) ? [] : [name],
    )
    expect(missing).toEqual([])
  })

  it('has no command that no test runs', () => {
    const run = runWords()
    expect(COMMANDS.map(({ name }) => name).filter((name) => !run.has(name))).toEqual([])
    expect(run.has('quarantine nothing')).toBe(false)
  })
})
