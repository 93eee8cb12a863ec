/**
 * How often jobs were forgotten: a sequence, because its numbers are seen by all at once.
 */
import type { ForgetCount } from '../dialect.ts'

const count = `coalesce(pg_sequence_last_value('forgets'::regclass), 0)`

export const FORGET_COUNT: ForgetCount = {
  read: `select ${count}`,
  assertSame: `select as_expected(${count}, $1::int8)`,
  increment: `select nextval('forgets')`,
}
