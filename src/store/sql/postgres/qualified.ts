/**
 * The statements with the schema before every name, for connections whose search path is not ours to
 * set: a transaction of the user's goes on looking for names where it did.
 */
import type { Statements } from '../statements.ts'

const TABLE =
  /\b(from|join|into|update)(\s+)(work|events|queues|schedules|limits|shares|looks|meta)\b/g
const SEQUENCE = /'positions'/g
const FUNCTION = /\bas_expected\(/g
const CURRENT = /\bcurrent_schema\(\)/g

export function qualified(statements: Statements, schema: string): Statements {
  const name = `"${schema.replaceAll('"', '""')}"`
  const within = (text: string): string =>
    text
      .replaceAll(
        TABLE,
        (_, word: string, space: string, table: string) => `${word}${space}${name}.${table}`,
      )
      .replaceAll(SEQUENCE, () => `'${quoted(name)}.positions'`)
      .replaceAll(FUNCTION, () => `${name}.as_expected(`)
      .replaceAll(CURRENT, () => `'${quoted(schema)}'`)
  const all = Object.entries(statements as unknown as Record<string, string>)
  return Object.fromEntries(all.map(([key, text]) => [key, within(text)])) as unknown as Statements
}

/** Inside of quotes. */
export function quoted(text: string): string {
  return text.replaceAll(`'`, `''`)
}
