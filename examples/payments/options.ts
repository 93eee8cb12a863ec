/**
 * What can be said on the command line.
 */
import { parseArgs } from 'node:util'

/** Whether the bank recognises keys, is asked about them, or never hears of one. */
export type Mode = 'recognised' | 'reconciled' | 'without-boundary'

export interface Options {
  readonly seconds: number
  readonly orders: number
  readonly kills: number
  readonly seed: number
  readonly mode: Mode
  /** Handlers and effects run in processes of their own, which are killed as well. */
  readonly isIsolated: boolean
  readonly keep: boolean
}

export const HELP = `Orders are charged while the process that charges them is killed again and again.
In the end every order was charged once, and the log shows why.

  npm run payments -- [options]

  --seconds N         about how long it takes (default 30)
  --orders N          how many orders there are (default 200)
  --kills N           how many kills, by SIGKILL, if there is time (default 12)
  --seed N            when the kills come (default: a random one, which is printed)
  --reconcile         the bank does not recognise keys: it is asked before a charge is repeated
  --without-boundary  the handler charges by itself, before it returns: see what that costs
  --in-process        handlers run in the process of the engine, not in processes of their own
  --keep              keeps the folder with the log and the bank's ledger, and says where it is
  --help              this text
`

export class BadOption extends Error {}

/** Null: only help is wanted. */
export function optionsFrom(args: readonly string[]): Options | null {
  const { values } = parsed(args)
  if (values.help) return null
  if (values.reconcile && values['without-boundary']) {
    throw new BadOption('--reconcile and --without-boundary exclude each other: choose one.')
  }
  const whole = (name: 'seconds' | 'orders' | 'kills' | 'seed', least: number): number | null => {
    const text = values[name]
    if (text === undefined) return null
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= least && Number.isSafeInteger(value)) return value
    throw new BadOption(`--${name} must be a whole number from ${least}, not '${text}'.`)
  }
  return {
    seconds: whole('seconds', 1) ?? 30,
    orders: whole('orders', 1) ?? 200,
    kills: whole('kills', 0) ?? 12,
    seed: whole('seed', 0) ?? Math.floor(Math.random() * 1_000_000),
    mode: values['without-boundary']
      ? 'without-boundary'
      : values.reconcile
        ? 'reconciled'
        : 'recognised',
    isIsolated: !values['in-process'],
    keep: values.keep ?? false,
  }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean' },
        seconds: { type: 'string' },
        orders: { type: 'string' },
        kills: { type: 'string' },
        seed: { type: 'string' },
        reconcile: { type: 'boolean' },
        'without-boundary': { type: 'boolean' },
        'in-process': { type: 'boolean' },
        keep: { type: 'boolean' },
      },
    })
  } catch (error) {
    throw new BadOption((error as Error).message)
  }
}
