/**
 * A command for each operation of the catalogue that has one: it opens the store, whatever it is, and calls the same
 * function as the server.
 */
import { userInfo } from 'node:os'
import type { BulkReport, Pawl } from '../../engine/index.ts'
import { StoreClosed } from '../../store/index.ts'
import type {
  CallName,
  EventsName,
  OperationContext,
  OperationEvent,
} from '../../operations/index.ts'
import { followOperation, isCall, isEvents, runOperation } from '../../operations/index.ts'
import type { CommandTerms, Operation, OperationInput } from '../../protocol/index.ts'
import { OPERATIONS } from '../../protocol/index.ts'
import type { CliCommand, CommandGroup, CommandResult } from '../command.ts'
import type { CommandCall } from '../command-call.ts'
import type { ExitCode } from '../exit-code.ts'
import { WrongUsage } from '../failure.ts'
import { Progress } from '../progress.ts'
import { withStore } from '../store-session.ts'
import { stopSignals } from '../stop-signals.ts'
import { eventText } from './event-text.ts'
import { commandInput, flagFor, readInput } from './input-options.ts'
import type { OperationAnswer } from './output-text.ts'
import { itemsOf, outputText } from './output-text.ts'
import { callServer, isForServer } from './server-call.ts'

type Input = Readonly<Record<string, unknown>>

/** Of one poll. Ctrl-C is heard between two. */
const WAIT_MS = 2_000
const NO_DEFINITIONS: OperationContext['definitions'] = new Map()

/** Who is on record, where `--by` does not say it. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A container may have no name for its user.
    return 'operator'
  }
}

/** Aborted by Ctrl-C; then what is under way comes to its end. */
async function interruptible<T>(task: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  const stop = stopSignals()
  void stop.asked.then(() => controller.abort())
  try {
    return await task(controller.signal)
  } finally {
    stop.dispose()
  }
}

const WITHIN_STORE = new Set(['past', 'store'])
const OPERATED = new Set(['bulk', 'queues', 'limits', 'schedules', 'workers', 'quarantine'])
const MEASURED = new Set(['health', 'metrics', 'figures'])

function groupOf({ name, changes, roles }: Operation): CommandGroup {
  const kind = name.split('.')[0] as string
  if (name === 'store.watch') return 'jobs'
  if (WITHIN_STORE.has(kind)) return 'store'
  if (OPERATED.has(kind) || MEASURED.has(name)) return 'operate'
  return changes === null || roles.includes('submit') ? 'jobs' : 'operate'
}

export function operationCommands(): CliCommand[] {
  return Object.values(OPERATIONS).flatMap((operation) => {
    const { command } = operation
    return 'none' in command ? [] : [commandOf(operation, command)]
  })
}

function commandOf(operation: Operation, terms: CommandTerms): CliCommand {
  const input = commandInput(operation, terms)
  const { says, changes } = operation
  return {
    name: terms.words,
    group: groupOf(operation),
    says: terms.summary,
    intro: changes === null ? says : `${says} ${changes}`,
    ...input,
    examples: [exampleOf(operation, terms)],
    run: (call) => {
      const given = readInput(operation, terms, call.given, call.options)
      return operation.kind === 'events'
        ? follow(operation, call, given)
        : perform(operation, terms, call, given)
    },
  }
}

/** The catalogue's, as it is typed. */
function exampleOf({ example }: Operation, terms: CommandTerms): string {
  const input = example.input as Input
  const words = terms.positional.flatMap((name) => (name in input ? [typed(input[name])] : []))
  const options = Object.entries(input)
    .filter(([name]) => !terms.positional.includes(name))
    .map(([name, value]) =>
      value === true ? flagFor(terms, name) : `${flagFor(terms, name)} ${typed(value)}`,
    )
  return [terms.words, ...words, ...options].join(' ')
}

function typed(value: unknown): string {
  if (Array.isArray(value) && value.length === 1) return typed(value[0])
  if (typeof value === 'object' && value !== null && 'count' in value && 'per' in value) {
    return `${String(value.count)}/${String(value.per)}`
  }
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return /^[\w./:@-]+$/.test(text) ? text : `'${text}'`
}

function contextFor(pawl: Pawl, signal: AbortSignal): OperationContext {
  return { pawl, by: userName(), definitions: NO_DEFINITIONS, signal }
}

function answer(
  operation: Operation,
  context: OperationContext,
  input: Input,
): Promise<OperationAnswer> {
  const name = operation.name as CallName
  return runOperation(
    name,
    context,
    input as OperationInput<typeof name>,
  ) as Promise<OperationAnswer>
}

async function perform(
  operation: Operation,
  terms: CommandTerms,
  call: CommandCall,
  input: Input,
): Promise<CommandResult> {
  const isAtServer = isForServer(operation, call.settings)
  // BEFORE a store is opened that cannot answer it.
  if (!isAtServer && !isCall(operation.name)) {
    throw new WrongUsage(`${operation.name} is of a server: name its address.`)
  }
  const given = isAtServer
    ? await performAtServer(operation, terms, call, input)
    : await withStore(call, (pawl) => performOn(pawl, operation, terms, call, input), {
        isMade: MAKING.has(operation.name),
      })
  tellMore(call, operation, input, given)
  const items = itemsOf(operation, given)
  return {
    exitCode: exitCodeFor(operation, given),
    report: {
      value: given,
      ...(items === undefined ? {} : { items }),
      text: (styles) => outputText(styles, operation, given),
    },
  }
}

/** These make a store that is not there. */
const MAKING: ReadonlySet<string> = new Set(['jobs.submit', 'schedules.set'])

async function performAtServer(
  operation: Operation,
  terms: CommandTerms,
  call: CommandCall,
  input: Input,
): Promise<OperationAnswer> {
  if (terms.asks) await call.ask(consequence(operation, terms, input))
  const ask = (one: Input): Promise<OperationAnswer> => callServer(operation, call.settings, one)
  const { properties = {} } = operation.input
  // Of counts, `by` is a choice of what they are grouped by.
  const asksWho = 'by' in properties && properties['by']?.enum === undefined
  const isNamed = input['by'] !== undefined || !asksWho
  // A server that knows its callers by their tokens says itself who asks.
  const isKnown = isNamed || call.settings.token !== undefined
  const given = isKnown ? input : { ...input, by: userName() }
  if (operation.kind !== 'poll') return ask(given)
  return interruptible((signal) => waited(ask, given, signal))
}

async function performOn(
  pawl: Pawl,
  operation: Operation,
  terms: CommandTerms,
  call: CommandCall,
  input: Input,
): Promise<OperationAnswer> {
  if (terms.asks && input['dryRun'] !== true) await askBefore(operation, terms, call, pawl, input)
  const run = (signal: AbortSignal): Promise<OperationAnswer> => {
    const context = contextFor(pawl, signal)
    if (operation.kind === 'long') return withReports(operation, terms, context, input)
    const ask = (one: Input): Promise<OperationAnswer> => answer(operation, context, one)
    return operation.kind === 'poll' ? waited(ask, input, signal) : ask(input)
  }
  // Ctrl-C ends what is short at once: a store is safe to be left at any moment.
  return operation.kind === 'call' ? run(new AbortController().signal) : interruptible(run)
}

/** What will be different, in the words of the catalogue. */
function consequence(operation: Operation, terms: CommandTerms, input: Input): string {
  const words = terms.positional.flatMap((name) => (name in input ? [typed(input[name])] : []))
  return `pawl ${[terms.words, ...words].join(' ')}: ${operation.changes ?? ''}`
}

/** Of many jobs, with how many there are. */
function askBefore(
  operation: Operation,
  terms: CommandTerms,
  call: CommandCall,
  pawl: Pawl,
  input: Input,
): Promise<void> {
  const head = consequence(operation, terms, input)
  if (operation.kind !== 'long') return call.ask(head)
  return call.ask(head, async () => {
    const context = contextFor(pawl, new AbortController().signal)
    const { by: _by, reason: _reason, rate: _rate, ...filter } = input
    const preview =
      operation.name === 'bulk.run'
        ? await answer(OPERATIONS['bulk.preview'], context, filter)
        : await answer(operation, context, { ...input, dryRun: true })
    return `It is meant for ${String(preview['matched'])} jobs.`
  })
}

async function withReports(
  operation: Operation,
  terms: CommandTerms,
  context: OperationContext,
  input: Input,
): Promise<OperationAnswer> {
  const progress = new Progress(terms.words)
  const onProgress = ({ done, matched }: BulkReport): void => progress.update(done, matched)
  try {
    return await answer(operation, { ...context, onProgress }, input)
  } finally {
    progress.end()
  }
}

/** Without `--wait-ms`, until there is something to say. */
async function waited(
  ask: (input: Input) => Promise<OperationAnswer>,
  input: Input,
  signal: AbortSignal,
): Promise<OperationAnswer> {
  if (input['waitMs'] !== undefined) return ask(input)
  for (;;) {
    const given = await ask({ ...input, waitMs: WAIT_MS })
    if (given['isOver'] === true || given['state'] === 'QUARANTINED') return given
    if (signal.aborted) return given
  }
}

function exitCodeFor({ name }: Operation, given: OperationAnswer): ExitCode {
  if (name === 'health') return given['isWell'] === true ? 'done' : 'no'
  if (name === 'jobs.result') {
    const { state, isOver } = given
    if (isOver !== true && state !== 'QUARANTINED') return 'retryable'
    return state === 'SUCCEEDED' ? 'done' : 'no'
  }
  return given['isComplete'] === false ? 'interrupted' : 'done'
}

/** A page that is not the last one. */
function tellMore(
  { printer }: CommandCall,
  { name }: Operation,
  { newest }: Input,
  { next }: OperationAnswer,
): void {
  if (printer.format !== 'text' || (typeof next !== 'number' && typeof next !== 'string')) return
  const option = name === 'past.entries' && newest === true ? '--through' : '--after'
  printer.note(`There are more: ${option} ${next}`)
}

/** A value of a stream has its offset in it; an entry has its position beside it. */
function eventValue(name: EventsName, { id, data }: OperationEvent): unknown {
  return name === 'jobs.stream.events' ? data : { position: id, entry: data }
}

/** Until it is over, or Ctrl-C: that is how it is ended, and no failure. */
async function follow(
  operation: Operation,
  call: CommandCall,
  input: Input,
): Promise<CommandResult | void> {
  const name = operation.name as EventsName
  if (!isEvents(name)) throw new WrongUsage(`${operation.name} is of a server: name its address.`)
  await withStore(call, (pawl) =>
    interruptible(async (signal) => {
      // What waits for the next event ends with the store.
      signal.addEventListener('abort', () => void pawl.close().catch(() => undefined))
      try {
        const context = contextFor(pawl, signal)
        const events = await followOperation(name, context, input as OperationInput<typeof name>)
        for await (const event of events) {
          call.printer.printOne(eventValue(name, event), (styles) => eventText(styles, event))
          if (signal.aborted) return
        }
      } catch (error) {
        if (!(signal.aborted && error instanceof StoreClosed)) throw error
      }
    }),
  )
}
