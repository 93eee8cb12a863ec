/**
 * `serve`: a server in front of a store, until it is told to stop.
 */
import type { ServeOptions } from '../../server/index.ts'
import type { CliCommand, OptionTerms } from '../command.ts'
import type { CommandCall } from '../command-call.ts'
import { textOption } from '../command-call.ts'
import { WrongUsage } from '../failure.ts'
import { wholeFrom } from '../option-values.ts'
import { isServer, shownStore } from '../settings.ts'
import { withStore } from '../store-session.ts'
import { readDefinitions } from './definition-module.ts'
import { stopSignals } from '../stop-signals.ts'
import { whereToLook } from './where-to-look.ts'

export const SERVE_OPTIONS: readonly OptionTerms[] = [
  { flags: '--port <n>', says: 'Where it listens; 7295; 0: any that is free' },
  { flags: '--host <address>', says: 'Where it listens; 127.0.0.1. Another one needs tokens' },
  { flags: '--tokens <file>', says: 'A file of tokens, as `pawl token` writes it' },
  { flags: '--tls-cert <file>', says: 'A certificate: it speaks HTTPS' },
  { flags: '--tls-key <file>', says: 'The key of the certificate' },
  { flags: '--path <path>', says: 'Where it is mounted, such as /pawl' },
  { flags: '--origin <origin>', says: 'Another origin whose pages may ask', isMany: true },
  { flags: '--allow-host <name>', says: 'A name that the Host header may have', isMany: true },
]

export function serveOptionsOf(call: CommandCall): ServeOptions {
  const [port, host] = [textOption(call, 'port'), textOption(call, 'host')]
  const [tokens, path] = [textOption(call, 'tokens'), textOption(call, 'path')]
  const [cert, key] = [textOption(call, 'tlsCert'), textOption(call, 'tlsKey')]
  if ((cert === undefined) !== (key === undefined)) {
    throw new WrongUsage('--tls-cert and --tls-key go together: write both.')
  }
  const origins = call.options['origin'] as string[] | undefined
  const hosts = call.options['allowHost'] as string[] | undefined
  return {
    ...(port === undefined ? {} : { port: wholeFrom(port, '--port') }),
    ...(host === undefined ? {} : { host }),
    ...(tokens === undefined ? {} : { tokenFile: tokens }),
    ...(path === undefined ? {} : { path }),
    ...(cert === undefined || key === undefined ? {} : { tls: { cert, key } }),
    ...(origins === undefined ? {} : { origins }),
    ...(hosts === undefined ? {} : { hosts }),
  }
}

export const SERVE: CliCommand = {
  name: 'serve',
  group: 'run',
  says: 'Serves a store over HTTP, until Ctrl-C',
  details:
    'Clients and workers on other machines open its address. Without tokens it listens on this machine alone; the file of tokens is read again when it changes. It runs no jobs. With a module, jobs that are submitted by name get the policies of its definitions.',
  arguments: [{ name: 'module', says: 'Exports definitions: ./jobs.ts', isRequired: false }],
  options: SERVE_OPTIONS,
  examples: ['serve --store ./data', 'serve -s ./data --host 0.0.0.0 --tokens tokens.json'],
  run: async (call) => {
    const { store } = call.settings
    if (isServer(store)) {
      throw new WrongUsage('A server serves a directory or a database, not another server.')
    }
    const { module } = call.given
    const read = module === undefined ? null : await readDefinitions(module)
    const definitions = read?.definitions ?? []
    const options = { ...serveOptionsOf(call), definitions }
    const stop = stopSignals()
    const { serve } = await import('../../server/index.ts')
    await withStore(
      call,
      async (pawl) => {
        const server = await serve(pawl, options)
        const jobs = definitions.map(({ name }) => name)
        const places = { store: shownStore(store), url: server.url, jobs }
        call.printer.note(`pawl serve\n${whereToLook(call.printer.noteStyles, places)}`)
        await stop.asked
        call.printer.note('Takes no more requests. Ctrl-C ends it at once.')
        await server.close()
      },
      { isMade: true },
    )
    stop.dispose()
  },
}
