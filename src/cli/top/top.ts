/**
 * `top`: what goes on in a store, live on the terminal, until `q` or Ctrl-C.
 */
import { EventEmitter, once } from 'node:events'
import type { Pawl } from '../../engine/index.ts'
import { followOperation } from '../../operations/index.ts'
import { repeatEvery, systemClock } from '../../store/clock.ts'
import type { CliCommand, CommandResult } from '../command.ts'
import type { CommandCall } from '../command-call.ts'
import { hasFlag } from '../command-call.ts'
import { WrongUsage } from '../failure.ts'
import { shownStore } from '../settings.ts'
import { stopSignals } from '../stop-signals.ts'
import { withStore } from '../store-session.ts'
import { Screen } from './screen.ts'
import { frameLines } from './top-frame.ts'
import type { TopState } from './top-state.ts'
import { RateHistory, readTopState } from './top-state.ts'

const SECOND_MS = 1_000
const ONCE_SIZE = { columns: 80, rows: 40 }

export const TOP: CliCommand = {
  name: 'top',
  group: 'run',
  says: 'What goes on, live: rates, queues, workers, and what needs a person',
  details: '`q` or Ctrl-C ends it. Rates count what happens while it runs.',
  options: [{ flags: '--once', says: 'Print it once, also without a terminal' }],
  examples: ['top -s http://127.0.0.1:7295', 'top -s postgres://localhost/app', 'top --once'],
  run: async (call) => {
    const isLive = !hasFlag(call, 'once') && call.printer.format === 'text'
    if (isLive && !Screen.isThere) {
      throw new WrongUsage('`pawl top` draws on a terminal, and there is none: write --once.')
    }
    return withStore<CommandResult | void>(call, (pawl) =>
      isLive ? live(call, pawl) : printOnce(call, pawl),
    )
  },
}

function read(call: CommandCall, pawl: Pawl): Promise<TopState> {
  const at = new Date(systemClock.now())
  return readTopState(pawl, shownStore(call.settings.store), at)
}

async function printOnce(call: CommandCall, pawl: Pawl): Promise<CommandResult> {
  const state = await read(call, pawl)
  return {
    report: {
      value: state,
      text: (styles) =>
        frameLines(styles, state, new RateHistory(), ONCE_SIZE)
          .map((line) => line.trimEnd())
          .join('\n'),
    },
  }
}

async function live(call: CommandCall, pawl: Pawl): Promise<void> {
  const rates = new RateHistory()
  const keys = new EventEmitter<{ end: [] }>()
  const quit = once(keys, 'end')
  const stop = stopSignals()
  const view = new LiveView(call, pawl, rates, (key) => {
    if (Screen.isEnd(key)) keys.emit('end')
  })
  const over = new AbortController()
  const watching = countEntries(pawl, rates, over.signal, (why) => view.fail(why))
  await view.begin()
  await Promise.race([quit, stop.asked])
  view.end()
  stop.dispose()
  over.abort()
  // What waits for the next entry ends with the store.
  await pawl.close()
  await watching
}

/** Until it is over: at the next entry, or when the store is closed. */
async function countEntries(
  pawl: Pawl,
  rates: RateHistory,
  signal: AbortSignal,
  onError: (why: string) => void,
): Promise<void> {
  const context = { pawl, by: '', definitions: new Map(), signal }
  try {
    for await (const { data } of await followOperation('store.watch', context, { new: true })) {
      if (signal.aborted) return
      rates.count((data as { type: string }).type)
    }
  } catch (error) {
    onError(`no rates: ${(error as Error).message}`)
  }
}

/** Reads once a second, unless the last read is still under way, and draws what it has. */
class LiveView {
  readonly #call: CommandCall
  readonly #pawl: Pawl
  readonly #rates: RateHistory
  readonly #screen: Screen
  readonly #redraw = (): void => this.#draw()
  #state: TopState | null = null
  #trouble: string | null = null
  #noRates: string | null = null
  #isReading = false
  #stopTimer: () => void = () => undefined

  constructor(call: CommandCall, pawl: Pawl, rates: RateHistory, onKey: (key: string) => void) {
    this.#call = call
    this.#pawl = pawl
    this.#rates = rates
    this.#screen = new Screen(onKey)
  }

  /** Rates are not counted any more. */
  fail(why: string): void {
    this.#noRates = why
  }

  async begin(): Promise<void> {
    // What cannot be read at all is told before anything is drawn.
    this.#state = await read(this.#call, this.#pawl)
    this.#screen.enter()
    process.stdout.on('resize', this.#redraw)
    this.#draw()
    const timer = repeatEvery(SECOND_MS, () => {
      this.#rates.next()
      void this.#read()
      this.#draw()
    })
    timer.keep(true)
    this.#stopTimer = () => timer.stop()
  }

  end(): void {
    this.#stopTimer()
    process.stdout.off('resize', this.#redraw)
    this.#screen.leave()
  }

  async #read(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    try {
      this.#state = await read(this.#call, this.#pawl)
      this.#trouble = null
    } catch (error) {
      this.#trouble = error instanceof Error ? error.message : String(error)
    } finally {
      this.#isReading = false
    }
    this.#draw()
  }

  #draw(): void {
    if (this.#state === null) return
    const { styles } = this.#call.printer
    const { size } = this.#screen
    const trouble = this.#trouble ?? this.#noRates
    this.#screen.draw(frameLines(styles, this.#state, this.#rates, size, trouble))
  }
}
