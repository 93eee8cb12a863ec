/**
 * The options that benches have in common, as they are given on the command line.
 */
import { tmpdir } from 'node:os'
import type { ParseArgsConfig } from 'node:util'
import { parseArgs } from 'node:util'

type More = NonNullable<ParseArgsConfig['options']>

/** The command line makes no sense. */
export class BadOption extends Error {}

export interface BenchOptions {
  readonly help: boolean
  /** Everything is made in a new folder in here, and removed afterwards. */
  readonly folder: string
  readonly jobs: number
  /** Which parts are to be run, in their order. */
  readonly parts: readonly string[]
  /** Whether a switch is given. */
  has(name: string): boolean
  /** What is chosen of what there is; all of it unless something is given. */
  among(name: string, known: readonly string[]): readonly string[]
}

/** `jobs`: how many unless said otherwise. `more`: options that only this bench has. */
export function readOptions(
  args: readonly string[],
  parts: readonly string[],
  jobs = 1,
  more: More = {},
): BenchOptions {
  const values = parse(args, more)
  const count = Number(values['jobs'] ?? jobs)
  if (!Number.isSafeInteger(count) || count < 1) {
    throw new BadOption(`--jobs must be a count, not '${String(values['jobs'])}'.`)
  }
  const among = (name: string, known: readonly string[]): readonly string[] => {
    const given = (values[name] ?? []) as readonly string[]
    const unknown = given.find((one) => !known.includes(one))
    if (unknown !== undefined) {
      throw new BadOption(`There is no '${unknown}' for --${name}; there are: ${known.join(', ')}.`)
    }
    return given.length === 0 ? known : known.filter((one) => given.includes(one))
  }
  return {
    help: values['help'] === true,
    folder: (values['folder'] as string | undefined) ?? tmpdir(),
    jobs: count,
    parts: among('only', parts),
    has: (name) => values[name] === true,
    among,
  }
}

function parse(args: readonly string[], more: More): Readonly<Record<string, unknown>> {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        only: { type: 'string', multiple: true },
        jobs: { type: 'string' },
        folder: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
        ...more,
      },
    })
    return values
  } catch (error) {
    throw new BadOption(`${(error as Error).message} (--help tells the options)`)
  }
}
