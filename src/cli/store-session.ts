/**
 * The store of a command, open while the command runs.
 */
import type { OpenOptions, Pawl } from '../engine/index.ts'
import type { CommandCall } from './command-call.ts'
import { assertServerAnswers } from './server-check.ts'
import { isServer } from './settings.ts'

/**
 * Opens what the settings name, whatever it is, and closes it afterwards. Notices of other processes' doings are not
 * the command's, so they are not shown.
 */
export async function withStore<T>(
  { settings, printer }: CommandCall,
  task: (pawl: Pawl) => Promise<T>,
  options: OpenOptions & { readonly isMade?: boolean } = {},
): Promise<T> {
  const { isMade = false, ...others } = options
  const { store, openOptions } = settings
  if (!isMade) settings.assertIsThere()
  if (isServer(store)) await assertServerAnswers(store)
  const { open } = await import('../engine/index.ts')
  const onError = (error: Error): void => printer.note(`pawl: ${error.message}`)
  const pawl = await open(store, { onError, ...openOptions, ...others })
  try {
    return await task(pawl)
  } finally {
    await pawl.close()
  }
}
