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
  /** Of the page that shows the engine at work, if it is free; null: there is no page. */
  readonly port: number | null
  /** Where everything is kept; null: nowhere, it is removed in the end. */
  readonly data: string | null
}

const DEFAULT_PORT = 7_295

export const HELP = `Collections of documents are surveyed, analysed and reported on, while the engine and the
processes that it runs handlers in are killed. In the end every document was counted once.

  npm start -- [options]

It goes on until Ctrl-C, and a page shows it at work: its address is printed. Beside it refunds
come to a desk, and wait for people: answer some in the Inbox of the page.

  --once           no page, no desk, and it ends by itself
  --seconds N      about how long it takes (default 30), or, until Ctrl-C, how long as many take (default 120)
  --collections N  how many collections there are (default 6)
  --documents N    how many documents each of them has (default 20)
  --kills N        how many kills, by SIGKILL, if there is time (default 9)
  --seed N         what the documents are, and when the kills come (default: a random one)
  --port N         where the page is (default 7295, or any that is free)
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
    name: 'seconds' | 'collections' | 'documents' | 'kills' | 'seed' | 'port',
    least: number,
  ): number | null => {
    const text = values[name]
    if (text === undefined) return null
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= least && Number.isSafeInteger(value)) return value
    throw new BadOption(`--${name} must be a whole number from ${least}, not '${text}'.`)
  }
  const isOnce = values.once ?? false
  return {
    seconds: whole('seconds', 1) ?? (isOnce ? 30 : 120),
    collections: whole('collections', 1) ?? 6,
    documents: whole('documents', 1) ?? 20,
    kills: whole('kills', 0) ?? 9,
    seed: whole('seed', 0) ?? Math.floor(Math.random() * 1_000_000),
    isForever: !isOnce,
    port: isOnce ? null : (whole('port', 0) ?? DEFAULT_PORT),
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
        once: { type: 'boolean' },
        port: { type: 'string' },
        data: { type: 'string' },
      },
    })
  } catch (error) {
    throw new BadOption((error as Error).message)
  }
}
