/**
 * `copy` and `backup`: a store with everything that is in it, somewhere else.
 */
import type { CliCommand } from '../command.ts'
import { argument, textOption } from '../command-call.ts'
import { withProgress } from '../progress.ts'
import { shownStore } from '../settings.ts'
import { withStore } from '../store-session.ts'

export const COPY: CliCommand = {
  name: 'copy',
  group: 'store',
  says: 'Copies a directory into a database, or a database into a directory or another database',
  details:
    'The target must be empty, and does not open until the copy is whole. A directory must be closed; a database is copied as it is at one moment. Files of artifacts are not copied.',
  arguments: [
    { name: 'from', says: 'A folder, sqlite:jobs.db or postgres://…' },
    { name: 'to', says: 'Likewise' },
  ],
  options: [
    { flags: '--from-schema <name>', says: 'Of a source on PostgreSQL' },
    { flags: '--to-schema <name>', says: 'Of a target on PostgreSQL' },
  ],
  examples: ['copy ./data sqlite:jobs.db', 'copy ./data postgres://localhost/app'],
  run: async (call) => {
    const [from, to] = [argument(call, 'from'), argument(call, 'to')]
    const fromSchema = textOption(call, 'fromSchema')
    const toSchema = textOption(call, 'toSchema')
    const { copyStore } = await import('../../store/index.ts')
    const copied = await withProgress('copying', (onProgress) =>
      copyStore(from, to, {
        onProgress,
        ...(fromSchema === undefined ? {} : { fromSchema }),
        ...(toSchema === undefined ? {} : { toSchema }),
      }),
    )
    const { jobs, events } = copied
    const text = `Copied ${jobs} jobs with ${events} events to ${shownStore(to)}.`
    return { report: { value: copied, text: () => text } }
  },
}

export const BACKUP: CliCommand = {
  name: 'backup',
  group: 'store',
  says: 'Copies a directory, with its artifacts, into an empty folder',
  details:
    'The directory must be closed; a program that has it open calls `pawl.backup(folder)` while work goes on. A database is backed up by its own means.',
  arguments: [{ name: 'folder', says: 'Where the copy goes: empty, or not there yet' }],
  examples: ['backup /backups/jobs-1 --store ./data'],
  run: async (call) => {
    const folder = argument(call, 'folder')
    const made = await withStore(call, (pawl) =>
      withProgress('copying', async () => pawl.backup(folder)),
    )
    const text = `Copied ${made.files} files and ${made.artifacts} of artifacts to ${folder}: everything before position ${made.position}.`
    return { report: { value: made, text: () => text } }
  },
}
