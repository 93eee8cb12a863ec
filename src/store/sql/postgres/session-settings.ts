/**
 * What statements need to be set where they run: the schema that names are looked up in, and how plans are made.
 *
 * - On a session of our own it is set once, when the connection is opened.
 * - Behind a pooler the next transaction may have another session, which others use as well. So each transaction
 *   sets it for itself, in the same batch: `set_config(…, true)` ends with the transaction. A batch without a
 *   `begin` is a transaction, too, because it has one Sync.
 */
import type { Statement } from '../connection.ts'
import type { PostgresAddress } from './address.ts'

/** Null: nothing is to be set. */
export function settingStatement(
  { schema, settings = [] }: Pick<PostgresAddress, 'schema' | 'settings'>,
  isOfTransaction: boolean,
): Statement | null {
  const path = schema === undefined ? [] : [['search_path', `"${schema.replaceAll('"', '""')}"`]]
  const all = [...path, ...settings]
  if (all.length === 0) return null
  const calls = all.map((_, i) => {
    return `set_config($${2 * i + 1}::text, $${2 * i + 2}::text, ${isOfTransaction})`
  })
  return { sql: `select ${calls.join(', ')}`, values: all.flat() }
}

const BEGINS = /^\s*begin\b/i
const ENDS = /^\s*(?:commit|rollback(?!\s+to))\b/i
const ROLLS_BACK = /^\s*rollback\b/i
/** Not in a transaction: it has the schema before its names. */
const ALONE = /^\s*vacuum\b/i

/** Puts the settings into the transactions of one connection. */
export class TransactionSettings {
  readonly #setting: Statement
  /** A transaction is open, as far as it was sent. */
  #isOpen = false

  constructor(setting: Statement) {
    this.#setting = setting
  }

  /** What is sent, and where the settings stand in it; -1: they are not in it. */
  within(statements: readonly Statement[]): {
    readonly sent: readonly Statement[]
    readonly at: number
  } {
    const first = statements[0]?.sql ?? ''
    const wasOpen = this.#isOpen
    const begins = BEGINS.test(first)
    this.#isOpen = (wasOpen || begins) && !ENDS.test(statements.at(-1)?.sql ?? '')
    // In a transaction that has failed the server takes nothing else before a rollback.
    const isSet = (wasOpen && !begins) || ROLLS_BACK.test(first) || ALONE.test(first)
    if (isSet || statements.length === 0) return { sent: statements, at: -1 }
    const at = begins ? 1 : 0
    return { sent: statements.toSpliced(at, 0, this.#setting), at }
  }
}
