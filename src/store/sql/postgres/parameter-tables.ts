/**
 * Tables of parameters, and the types of their columns.
 */
const TYPES: Readonly<Record<string, string>> = {
  job: 'text',
  stage: 'int4',
  segment: 'int4',
  type: 'text',
  queue: 'text',
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
  spot: 'tid',
}

/** `unnest($1::text[], $2::int8[]) as given (job, position)`. */
export function given(columns: readonly string[], types: readonly string[] = []): string {
  const arrays = columns.map((column, i) => `$${i + 1}::${types[i] ?? typeOf(column)}[]`)
  return `unnest(${arrays.join(', ')}) as given (${columns.join(', ')})`
}

export function typeOf(column: string): string {
  return TYPES[column] ?? 'int8'
}

/** The rows `w` of work that are given. */
export const addressed = `w.job = given.job and w.stage = given.stage and w.segment = given.segment`
