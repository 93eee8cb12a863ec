/**
 * Statements with the schema before every name, for a user's transaction: its search path is the user's,
 * and stays as it is.
 */
import type { Statements } from '../statements.ts'

const TABLE =
  /\b(from|join|into|update)(\s+)(work|events|queues|schedules|limits|group_turns|count_changes|labels|pipelines|questions|tallies|calls|meta)\b/g
const SEQUENCE = /'positions'/g
const FUNCTION = /\bas_expected\(/g
const CURRENT = /\bcurrent_schema\(\)/g

export function qualified(statements: Statements, schema: string): Statements {
  const name = identifier(schema)
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

/** A name as a statement has it. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** For a text inside of single quotes. */
export function quoted(text: string): string {
  return text.replaceAll(`'`, `''`)
}
