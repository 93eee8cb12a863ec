/**
 * `docs/model.md` says what the kernel does: its generated parts are those that the kernel
 * draws, its names exist, and what it says about commands is tried out.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { CommandType } from '../../../src/kernel/index.ts'
import {
  EFFECT_TRANSITIONS,
  EXECUTION_TRANSITIONS,
  RULES,
  TASK_TRANSITIONS,
} from '../../../src/kernel/index.ts'
import { plain } from '../../support/specs.ts'
import { readTree, ROOT } from '../tidy/tree.ts'
import { blockNames, rewrite } from './blocks.ts'
import { walkThrough } from './every-command.ts'
import { modelParts } from './generate.ts'
import { GLOSSARY } from './glossary.ts'
import { COMMANDS, ENTRIES } from './meanings.ts'
import { send } from './model-example.ts'
import { knownNames, quotedNames } from './names.ts'
import { sourceWords } from './source-words.ts'
import { SOURCES } from './sources/index.ts'

const page = readFileSync(join(ROOT, 'docs', 'model.md'), 'utf8')
const known = knownNames(readTree())

describe('docs/model.md', () => {
  it('shows what the kernel draws: run `npm run docs` after a change', () => {
    expect(page).toBe(rewrite(page, modelParts()))
  })

  it('shows every part that is generated', () => {
    expect(blockNames(page).toSorted()).toEqual(Object.keys(modelParts()).toSorted())
  })

  it('fails when a part is changed by hand', () => {
    const changed = page.replace('| `WAITING` | `LEASED` |', '| `WAITING` | `DEAD` |')
    expect(changed).not.toBe(page)
    expect(rewrite(changed, modelParts())).toBe(page)
  })

  it('has a sentence for every noun that a file is named after', () => {
    const words = sourceWords()
    expect(words.length).toBeGreaterThan(100)
    expect(words.filter(({ meaning }) => !/^[^ ].{15,}[.!?]$/.test(meaning))).toEqual([])
  })

  it('names a part that nobody generates', () => {
    expect(() => rewrite('<!-- generated: nonsense -->\n<!-- end -->', {})).toThrow(/nonsense/)
  })
})

describe('the example of docs/model.md', () => {
  it('is the one that is run here', () => {
    const file = readFileSync(join(ROOT, 'test', 'repo', 'docs', 'model-example.ts'), 'utf8')
    const [, ...code] = file.replaceAll('../../../src/kernel/index.ts', 'pawl/kernel').split('\n')
    expect(page).toContain(`\`\`\`ts\n${code.join('\n')}\`\`\``)
  })

  it('is right that a command may be sent again', () => {
    const command = { type: 'SubmitJob', job: 'a', spec: plain() } as const
    expect(send(command, 1).entry?.type).toBe('JobSubmitted')
    expect(send(command, 2)).toEqual({
      verdict: 'committed',
      entry: null,
      value: 'a',
      rejection: null,
    })
  })
})

describe('the names in the tables exist', () => {
  it('in the glossary', () => {
    expect(GLOSSARY.flatMap(([, , names]) => unknown(names))).toEqual([])
  })

  it.each(SOURCES)('for the names of $title', ({ names }) => {
    expect(names.flatMap(([, , here]) => unknown(here))).toEqual([])
  })

  it('and a name that does not exist is noticed', () => {
    expect(unknown('`TaskCompleted`, `Task.nonsense`, `LEASED`, `Task.attempt`')).toEqual([
      'TaskCompleted',
      'Task.nonsense',
    ])
  })

  it('and every word of the glossary is explained once, in order', () => {
    const words = GLOSSARY.map(([word]) => word)
    expect(words).toEqual([...new Set(words)].toSorted())
  })
})

describe('the table of commands', () => {
  const walked = walkThrough()

  it('has every command that the kernel has a rule for', () => {
    expect(Object.keys(COMMANDS)).toEqual(Object.keys(RULES.table))
  })

  it.each(Object.keys(COMMANDS) as CommandType[])('is right about %s', (command) => {
    const steps = walked.filter(({ type }) => type === command)
    expect(steps).not.toEqual([])
    for (const { first, again } of steps) {
      expect(first.entry?.type).toBe(COMMANDS[command].entry)
      expect(again).toEqual({ ...first, entry: null })
    }
  })

  it('names who may ask: of each client and operator, who and why is kept, but of a submit', () => {
    const byPeople = Object.entries(COMMANDS).flatMap(([command, { sender }]) =>
      /client|operator/.test(sender) ? [command] : [],
    )
    // What tells of a callee's end is a message as well, and says so: no person sends it.
    const kept = walked.flatMap(({ type, first: { entry } }) =>
      entry !== null && 'by' in entry && entry.by !== 'callee' ? [type] : [],
    )
    expect([...new Set(kept), 'SubmitJob'].toSorted()).toEqual(byPeople.toSorted())
  })

  it('has every entry that a transition names, and only entries that some command leads to', () => {
    const led = new Set<string>(Object.values(COMMANDS).map(({ entry }) => entry))
    const moved = [TASK_TRANSITIONS, EXECUTION_TRANSITIONS, EFFECT_TRANSITIONS]
      .flatMap((table) => Object.values(table))
      .flatMap((targets: object) => Object.values(targets).flat() as string[])
    expect(moved.filter((entry) => !(entry in ENTRIES))).toEqual([])
    // A refusal is the one entry that no command asks for; a message has two, by whether its stage is open.
    expect(Object.keys(ENTRIES).filter((entry) => !led.has(entry))).toEqual([
      'MessageKept',
      'ReportRefused',
    ])
  })
})

function unknown(markdown: string): string[] {
  return quotedNames(markdown).filter((name) => !known.has(name))
}
