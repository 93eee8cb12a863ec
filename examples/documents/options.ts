/**
 * What can be said on the command line.
 */
import { parseArgs } from 'node:util'

export interface Options {
  readonly seconds: number
  readonly collections: number
  /** Of each collection. */
  readonly documents: number
  readonly kills: number
  readonly seed: number
  /** Collections and kills come at the same pace, but without an end. */
  readonly isForever: boolean
  /** Where everything is kept; null: nowhere, it is removed in the end. */
  readonly data: string | null
}

export const HELP = `Collections of documents are surveyed, analysed and reported on, while the engine and the
processes that it runs handlers in are killed. In the end every document was counted once.

  npm start -- [options]

  --seconds N      about how long it takes (default 30)
  --collections N  how many collections there are (default 6)
  --documents N    how many documents each of them has (default 20)
  --kills N        how many kills, by SIGKILL, if there is time (default 9)
  --seed N         what the documents are, and when the kills come (default: a random one)
  --forever        more and more collections, until Ctrl-C
  --data FOLDER    an empty folder, where documents, log and reports are kept
  --help           this text

Ctrl-C finishes what has come, and shows what came of it. Once more ends it at once.
`

export class BadOption extends Error {}

/** Null: only help is wanted. */
export function optionsFrom(args: readonly string[]): Options | null {
  const { values } = parsed(args)
  if (values.help) return null
  const whole = (
    name: 'seconds' | 'collections' | 'documents' | 'kills' | 'seed',
    least: number,
  ): number | null => {
    const text = values[name]
    if (text === undefined) return null
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= least && Number.isSafeInteger(value)) return value
    throw new BadOption(`--${name} must be a whole number from ${least}, not '${text}'.`)
  }
  return {
    seconds: whole('seconds', 1) ?? 30,
    collections: whole('collections', 1) ?? 6,
    documents: whole('documents', 1) ?? 20,
    kills: whole('kills', 0) ?? 9,
    seed: whole('seed', 0) ?? Math.floor(Math.random() * 1_000_000),
    isForever: values.forever ?? false,
    data: values.data ?? null,
  }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean' },
        seconds: { type: 'string' },
        collections: { type: 'string' },
        documents: { type: 'string' },
        kills: { type: 'string' },
        seed: { type: 'string' },
        forever: { type: 'boolean' },
        data: { type: 'string' },
      },
    })
  } catch (error) {
    throw new BadOption((error as Error).message)
  }
}
