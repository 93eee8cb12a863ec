/**
 * Tables of parameters on PostgreSQL: an array for each column.
 */

/** The types of columns in a table of parameters; the others are `int8`. */
const TYPES: Readonly<Record<string, string>> = {
  job: 'text',
  stage: 'int4',
  segment: 'int4',
  type: 'text',
  queue: 'text',
  key: 'text',
  key_held: 'text',
  grp: 'text',
  state: 'text',
  record: 'bytea',
  channel: 'text',
  priority: 'int4',
  level: 'int4',
  parked: 'text',
  worker: 'text',
  committed: 'bool',
  attempt: 'int4',
  kind: 'text',
  name: 'text',
  to_check: 'bool',
  is_suspended: 'bool',
  tags: 'text',
}

/** `unnest($1::text[], $2::int8[]) as given (job, position)`. */
export function given(columns: readonly string[], types: readonly string[] = []): string {
  const arrays = columns.map((column, i) => `$${i + 1}::${types[i] ?? typeOf(column)}[]`)
  return `unnest(${arrays.join(', ')}) as given (${columns.join(', ')})`
}

export function typeOf(column: string): string {
  return TYPES[column] ?? 'int8'
}
