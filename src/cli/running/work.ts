/**
 * `work`: runs the jobs that a module exports, until it is told to stop. Then it takes no more, and lets handlers end.
 */
import type { CliCommand, OptionTerms } from '../command.ts'
import type { CommandCall } from '../command-call.ts'
import { argument, textOption } from '../command-call.ts'
import { durationFrom, wholeFrom } from '../option-values.ts'
import { shownStore } from '../settings.ts'
import { withStore } from '../store-session.ts'
import type { Duration } from '../../definition/index.ts'
import type { WorkerOptions } from '../../worker/index.ts'
import { readDefinitions } from './definition-module.ts'
import { stopSignals } from '../stop-signals.ts'
import { whereToLook } from './where-to-look.ts'

export const WORK_OPTIONS: readonly OptionTerms[] = [
  { flags: '-c, --concurrency <n>', says: 'How many handlers run at once; 10' },
  { flags: '--queue <queue>', says: 'Serve this queue only', isMany: true },
  {
    flags: '--isolation <kind>',
    says: 'Where handlers run',
    choices: ['none', 'thread', 'process'],
  },
  { flags: '--shutdown <time>', says: 'How long handlers may go on after Ctrl-C; 10s' },
  { flags: '--name <name>', says: 'What its leases show; host and process' },
]

/** Signals are the program's own. */
export function workerOptionsOf(call: CommandCall, moduleUrl: string): WorkerOptions {
  const concurrency = textOption(call, 'concurrency')
  const isolation = textOption(call, 'isolation')
  const shutdown = textOption(call, 'shutdown')
  const name = textOption(call, 'name')
  const queues = call.options['queue'] as string[] | undefined
  const isApart = isolation === 'thread' || isolation === 'process'
  return {
    signals: [],
    ...(concurrency === undefined
      ? {}
      : { concurrency: wholeFrom(concurrency, '--concurrency', 1) }),
    ...(isApart ? { isolation, modules: [moduleUrl] } : {}),
    ...(shutdown === undefined
      ? {}
      : { shutdown: durationFrom(shutdown, '--shutdown') as Duration }),
    ...(name === undefined ? {} : { name }),
    ...(queues === undefined ? {} : { queues }),
  }
}

export const WORK: CliCommand = {
  name: 'work',
  group: 'run',
  says: 'Runs the jobs that a module exports, until Ctrl-C',
  details:
    'TypeScript runs where Node strips types by itself (22.18 and later), or where tsx is installed. Ctrl-C, or SIGTERM: it takes no more jobs and lets handlers end; again: it ends at once.',
  arguments: [{ name: 'module', says: 'Exports jobs and pipelines: ./jobs.ts, ./jobs.js' }],
  options: WORK_OPTIONS,
  examples: ['work ./jobs.ts --store postgres://localhost/app', 'work ./jobs.js -c 50 -p live'],
  run: async (call) => {
    const { definitions, url } = await readDefinitions(argument(call, 'module'))
    const options = workerOptionsOf(call, url)
    const stop = stopSignals()
    await withStore(
      call,
      async (pawl) => {
        const worker = pawl.work(definitions, options)
        const jobs = definitions.map(({ name }) => name)
        const place = shownStore(call.settings.store)
        call.printer.note(
          `pawl work\n${whereToLook(call.printer.noteStyles, { store: place, url: null, jobs })}`,
        )
        await stop.asked
        call.printer.note('Takes no more jobs, and lets handlers end. Ctrl-C ends it at once.')
        await worker.stop()
      },
      { isMade: true },
    )
    stop.dispose()
  },
}
