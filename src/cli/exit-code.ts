/**
 * What the program says to its caller with its exit code. `docs/cli.md` has this table.
 */
import type { ErrorKind } from '../kernel/index.ts'

export const EXIT_CODES = {
  done: { code: 0, says: 'Done. Of a check: all is well.' },
  no: { code: 1, says: 'Done, and the answer is no: a check found something, or you said no.' },
  usage: { code: 2, says: 'The command line is wrong. Nothing was done.' },
  rejected: { code: 3, says: 'Pawl refused it, and nothing was changed.' },
  retryable: { code: 4, says: 'It cannot be done now: try again later.' },
  unknown_outcome: { code: 5, says: 'Whether it was done is not known: look, or send it again.' },
  corrupt: { code: 6, says: 'Data is damaged.' },
  bug: { code: 70, says: 'A bug, or an error that Pawl does not know.' },
  interrupted: { code: 130, says: 'Ended by Ctrl-C.' },
} as const satisfies Record<
  ErrorKind | 'done' | 'no' | 'usage' | 'interrupted',
  { readonly code: number; readonly says: string }
>

export type ExitCode = keyof typeof EXIT_CODES
