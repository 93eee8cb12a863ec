/**
 * What benches are given on the command line.
 */
import { tmpdir } from 'node:os'
import type { ParseArgsConfig } from 'node:util'
import { parseArgs } from 'node:util'

type Known = NonNullable<ParseArgsConfig['options']>

/** The command line makes no sense. */
export class BadOption extends Error {}

/** A figure is not what it must be. */
export class AimMissed extends Error {}

export interface Arguments {
  readonly help: boolean
  /** What stands there without a name. */
  readonly positionals: readonly string[]
  /** Whether a switch is given. */
  has(name: string): boolean
  text(name: string): string | undefined
  /** A whole number above 0. */
  count(name: string, otherwise: number): number
  /** What is chosen of what there is, by commas or one by one; unless something is given, all of it. */
  among<Name extends string>(
    name: string,
    known: readonly Name[],
    otherwise?: readonly Name[],
  ): readonly Name[]
}

export interface BenchOptions extends Arguments {
  /** Everything is made in a new folder in here, and removed afterwards. */
  readonly folder: string
  readonly jobs: number
  /** Which parts are to be run, in their order. */
  readonly parts: readonly string[]
}

/** `jobs`: how many unless said otherwise. `more`: options that only this bench has. */
export function readOptions(
  args: readonly string[],
  parts: readonly string[],
  jobs = 1,
  more: Known = {},
): BenchOptions {
  const read = readArguments(args, {
    only: { type: 'string', multiple: true },
    jobs: { type: 'string' },
    folder: { type: 'string' },
    ...more,
  })
  return {
    ...read,
    folder: read.text('folder') ?? tmpdir(),
    jobs: read.count('jobs', jobs),
    parts: read.among('only', parts),
  }
}

/** `--help` is known always. `most`: of those without a name. */
export function readArguments(args: readonly string[], known: Known, most = 0): Arguments {
  const { values, positionals } = parse(args, { ...known, help: { type: 'boolean', short: 'h' } })
  const extra = positionals[most]
  if (extra !== undefined) {
    throw new BadOption(`'${extra}' is too many: ${whatThereIs(known)}.`)
  }
  return {
    help: values['help'] === true,
    positionals,
    has: (name) => values[name] === true,
    text: (name) => values[name] as string | undefined,
    count: (name, otherwise) => countOf(name, values[name], otherwise),
    among: (name, all, otherwise = all) => {
      const given = values[name] as readonly string[] | undefined
      return given === undefined ? otherwise : chosen(name, given, all)
    },
  }
}

function parse(
  args: readonly string[],
  options: Known,
): { readonly values: Readonly<Record<string, unknown>>; readonly positionals: string[] } {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    const [message = ''] = (error as Error).message.split('. ')
    throw new BadOption(`${message}: ${whatThereIs(options)}.`)
  }
}

function whatThereIs(options: Known): string {
  const names = Object.keys(options).filter((name) => name !== 'help')
  const listed = names.map((name) => `--${name}`).join(', ')
  return `there is ${listed}, and --help, which says what they are for`
}

function countOf(name: string, given: unknown, otherwise: number): number {
  const count = Number(given ?? otherwise)
  if (!Number.isSafeInteger(count) || count < 1) {
    throw new BadOption(`--${name} must be a count, not '${String(given)}'.`)
  }
  return count
}

function chosen<Name extends string>(
  option: string,
  given: readonly string[],
  known: readonly Name[],
): readonly Name[] {
  const names = given.flatMap((text) => text.split(','))
  const unknown = names.find((one) => !known.some((name) => name === one))
  if (unknown !== undefined) {
    throw new BadOption(`There is no '${unknown}' for --${option}; there are: ${known.join(', ')}.`)
  }
  return known.filter((one) => names.includes(one))
}
