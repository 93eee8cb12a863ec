/**
 * A connection for questions about what users name. A text that cannot be written (it has U+0000 in it,
 * or half of a character) is the name of nothing, but some databases refuse it, and others take it
 * for another one. So something else is looked for that nothing is called.
 */
import { isWritable } from '../../../kernel/wellformed.ts'
import type { ChannelName } from '../../claim-request.ts'
import type { Statement, Connection, Row, Value } from '../connection.ts'

/** Every name has a character. */
const NOBODY = ''

export function withSafeNames(connection: Connection): Connection {
  return {
    run: (asks) => connection.run(asks.map(sought)),
    close: () => connection.close(),
  }
}

function sought(ask: Statement): Statement {
  return 'rows' in ask
    ? { ...ask, rows: ask.rows.map(writable) }
    : { ...ask, values: writable(ask.values) }
}

function writable(row: Row): Row {
  return row.every(canBeWritten) ? row : row.map((value) => (canBeWritten(value) ? value : NOBODY))
}

function canBeWritten(value: Value): boolean {
  return typeof value !== 'string' || isWritable(value)
}

/** A copy of those that something may wait in. */
export function channelsOfAny(channels: readonly ChannelName[]): ChannelName[] {
  return channels.flatMap(({ queue, type, stage }) => {
    return [queue, type, stage].every(canBeWritten) ? { queue, type, stage } : []
  })
}
