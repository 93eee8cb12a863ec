/**
 * Options that every command has.
 */
import type { OptionTerms } from './command.ts'
import { FORMATS } from './report.ts'

export const GLOBAL_OPTIONS: readonly OptionTerms[] = [
  { flags: '-s, --store <place>', says: 'The store, or the address of its server (PAWL_STORE)' },
  { flags: '--schema <name>', says: 'The schema of a PostgreSQL store' },
  { flags: '-p, --profile <name>', says: 'A profile of the config file (PAWL_PROFILE)' },
  { flags: '--config <file>', says: 'The config file (PAWL_CONFIG)' },
  { flags: '--token-file <file>', says: "A file with the server's token (PAWL_TOKEN)" },
  { flags: '-o, --output <format>', says: 'How results are printed', choices: FORMATS },
  { flags: '--color', says: 'Colours, also into a file' },
  { flags: '--no-color', says: 'No colours (NO_COLOR)' },
  { flags: '-y, --yes', says: 'Ask nothing before what cannot be taken back' },
]
