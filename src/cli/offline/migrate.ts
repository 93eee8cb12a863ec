/**
 * `migrate`: the tables of a database, made or brought up to date by a user who may.
 */
import type { CliCommand } from '../command.ts'
import { hasFlag, textOption } from '../command-call.ts'
import { wholeFrom } from '../option-values.ts'

export const MIGRATE: CliCommand = {
  name: 'migrate',
  group: 'store',
  says: 'Makes the tables of a database, or brings them up to date',
  details: 'Twice is fine. Processes can then open it without the right to change tables.',
  options: [
    { flags: '--sql', says: 'Print what it would do on PostgreSQL, and do nothing' },
    { flags: '--from <version>', says: 'With --sql: the version that the tables have' },
  ],
  examples: ['migrate --store postgres://owner@localhost/app', 'migrate --sql --schema jobs'],
  run: async (call) => {
    const { migrate, migrationSql } = await import('../../engine/index.ts')
    const given = textOption(call, 'schema')
    if (hasFlag(call, 'sql')) {
      const from = wholeFrom(textOption(call, 'from') ?? '0', '--from')
      const sql = migrationSql({ from, ...(given === undefined ? {} : { schema: given }) })
      return { report: { value: { sql }, text: () => sql.trimEnd() } }
    }
    const { store, schema } = call.settings
    const migrated = await migrate(store, schema === undefined ? {} : { schema })
    const { from, to } = migrated
    const said =
      from === to ? `The tables are up to date: version ${to}.` : `The tables are at version ${to}`
    return {
      report: {
        value: migrated,
        text: () => (from === to ? said : `${said}; before: ${from === 0 ? 'none' : from}.`),
      },
    }
  },
}
