/**
 * The commands that the dashboard shows, for every operation that has one: a real shell takes them apart, and the real parser
 * reads what the page meant.
 */
import { execFileSync } from 'node:child_process'
import type { Command } from 'commander'
import { expect, it } from 'vitest'
import { readInput } from '../../../src/cli/operations/input-options.ts'
import { buildProgram } from '../../../src/cli/program.ts'
import { commandLine } from '../../../src/dashboard/page/command-line.ts'
import type { CommandTerms, JsonSchema, Operation } from '../../../src/protocol/index.ts'
import { isNullable, OPERATIONS, typedKind, withoutNull } from '../../../src/protocol/index.ts'

type Input = Readonly<Record<string, unknown>>

interface Case {
  readonly operation: Operation
  readonly terms: CommandTerms
  readonly input: Input
}

/** What a name, a reason or a value of JSON may be. */
const TEXTS = [
  'mail',
  '-x',
  '--yes',
  '17',
  'true',
  "o'hara",
  'two words',
  '$HOME `id`',
  'a=b;*',
  'ü\n#',
]

function valueOf(schema: JsonSchema, text: string, isNull: boolean): unknown {
  if (isNull && isNullable(schema)) return null
  const { enum: values, minimum = 1, type } = withoutNull(schema)
  switch (typedKind(schema)) {
    case 'choice':
      return values?.[0]
    case 'whole':
      return type === 'integer' ? minimum : 1
    case 'time':
      return 1_763_500_000_000
    case 'duration':
      return text === 'mail' ? '5m' : 1_500
    case 'flag':
      return true
    case 'list':
      return [text, 'small']
    case 'rate':
      return { count: 10, per: '1s' }
    case 'json':
      return type === 'object' ? {} : type === 'array' ? [] : text
    default:
      return text
  }
}

function casesOf(operation: Operation): readonly Case[] {
  const { command: terms } = operation
  if ('none' in terms) return []
  const properties = Object.entries(operation.input.properties ?? {})
  return TEXTS.flatMap((text) =>
    [false, true].map((isNull) => {
      const input = Object.fromEntries(
        properties.map(([name, schema]) => [name, valueOf(schema, text, isNull)]),
      )
      return { operation, terms, input }
    }),
  )
}

/** The words that each command line comes to, as `sh` gives them to a program. */
function wordsOf(lines: readonly string[]): readonly (readonly string[])[] {
  const script = ['pawl() { printf \'%s\\0\' "$#" "$@"; }', ...lines].join('\n')
  const all = execFileSync('/bin/sh', { input: script, encoding: 'utf8' }).split('\0')
  return lines.map(() => all.splice(0, Number(all.shift())))
}

/** What the command of the operation is given. */
async function readBy({ operation, terms }: Case, words: readonly string[]): Promise<unknown> {
  const program = buildProgram()
  const command = terms.words
    .split(' ')
    .reduce(
      (at: Command, word) => at.commands.find((one) => one.name() === word) as Command,
      program,
    )
  let read: unknown = null
  command.action((...values: unknown[]) => {
    const given = Object.fromEntries(terms.positional.map((name, i) => [name, values[i]]))
    read = readInput(operation, terms, given as Record<string, string>, command.optsWithGlobals())
    expect(command.optsWithGlobals()['yes']).toBe(terms.asks ? true : undefined)
  })
  await program.parseAsync(words, { from: 'user' })
  return read
}

it('are read by the command line as the page meant them, whatever is in them', async () => {
  const cases = (Object.values(OPERATIONS) as readonly Operation[]).flatMap(casesOf)
  expect(cases.length).toBeGreaterThan(500)
  const lines = cases.map(
    ({ operation, input }) => commandLine(operation.name as never, input) ?? '',
  )
  const words = wordsOf(lines)
  for (const [i, one] of cases.entries()) {
    const read = await readBy(one, words[i] ?? []).catch((error: unknown) => String(error))
    expect(read, lines[i]).toEqual(one.input)
  }
})
