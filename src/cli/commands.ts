/**
 * All commands, in the order of the help.
 */
import type { CliCommand } from './command.ts'
import { completionCommand } from './completion-command.ts'
import { DOCTOR } from './doctor/doctor.ts'
import { GLOBAL_OPTIONS } from './global-options.ts'
import { BACKUP, COPY } from './offline/copy.ts'
import { DIAGRAM } from './offline/diagram.ts'
import { LAB } from './offline/lab.ts'
import { MIGRATE } from './offline/migrate.ts'
import { AT, DIFF } from './offline/past.ts'
import { EXPORT, IMPORT } from './offline/transfer.ts'
import { REPAIR, VERIFY } from './offline/verify.ts'
import { operationCommands } from './operations/operation-command.ts'
import { CONFORMANCE } from './running/conformance.ts'
import { DEV } from './running/dev.ts'
import { MCP } from './running/mcp.ts'
import { SERVE } from './running/serve.ts'
import { TOKEN } from './running/token.ts'
import { WORK } from './running/work.ts'
import { TOP } from './top/top.ts'

export const COMMANDS: readonly CliCommand[] = [
  DEV,
  SERVE,
  WORK,
  TOP,
  TOKEN,
  MCP,
  ...operationCommands(),
  AT,
  DIFF,
  EXPORT,
  IMPORT,
  COPY,
  BACKUP,
  VERIFY,
  REPAIR,
  MIGRATE,
  DIAGRAM,
  DOCTOR,
  LAB,
  CONFORMANCE,
  completionCommand(() => COMMANDS, GLOBAL_OPTIONS),
]
