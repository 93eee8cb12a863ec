/**
 * Observes an engine: gives what it is measured by, as families of plain data or as Prometheus text. Nothing is done
 * between two questions, but for a timer that measures the event loop, until it is closed.
 */
import { InvalidDefinition, KnownOptions, shown } from '../../definition/index.ts'
import { accessTo } from '../../engine/engine-access.ts'
import type { EngineAccess } from '../../engine/engine-access.ts'
import type { Pawl } from '../../engine/index.ts'
import { familiesOf, readStore } from './engine-families.ts'
import type { StoreReading } from './engine-families.ts'
import { EventLoopDelays } from './event-loop-port.ts'
import { LabelBound } from './label-bound.ts'
import type { MetricFamily } from './metric-family.ts'
import { prometheusText } from './prometheus-text.ts'

export interface MeterOptions {
  /**
   * How many pairs of queue and type keep their names, and how many queues; those that come later are counted together,
   * as '(others)'. Default 100.
   */
  readonly mostNames?: number
}

export interface EngineMeter {
  families(): Promise<readonly MetricFamily[]>
  /** In the text format of Prometheus, version 0.0.4. */
  text(): Promise<string>
  close(): void
}

const METER_OPTIONS = new KnownOptions<MeterOptions>({ mostNames: true })
const DEFAULT_NAMES = 100
const MOST_NAMES = 10_000

export function observe(pawl: Pawl, options: MeterOptions = {}): EngineMeter {
  const access = typeof pawl === 'object' && pawl !== null ? accessTo(pawl) : undefined
  if (access === undefined) {
    throw new InvalidDefinition('observe() takes an engine: give it what open() gives.')
  }
  METER_OPTIONS.assert(options, 'observe()', 'observe(pawl, { mostNames: 100 })')
  const { mostNames = DEFAULT_NAMES } = options
  if (!(Number.isSafeInteger(mostNames) && mostNames >= 1 && mostNames <= MOST_NAMES)) {
    throw new InvalidDefinition(
      `\`mostNames\` is a whole number from 1 to ${MOST_NAMES}, not ${shown(mostNames)}.`,
    )
  }
  const delays = new EventLoopDelays()
  const bounds = { pairs: new LabelBound(mostNames), queues: new LabelBound(mostNames) }
  const families = async (): Promise<readonly MetricFamily[]> => {
    const store = await readStoreUnlessAway(pawl, access)
    return familiesOf({ store, health: access.knownHealth(), delays: delays.take(), bounds })
  }
  return {
    families,
    text: async () => prometheusText(await families()),
    close: () => delays.close(),
  }
}

/** Null: its server cannot be reached. What is asked then would wait for it. */
async function readStoreUnlessAway(pawl: Pawl, access: EngineAccess): Promise<StoreReading | null> {
  const { availability } = access.store
  if (availability === undefined) return readStore(pawl)
  if (availability.outage !== null) return null
  const read = readStore(pawl)
  // It may fail AFTER nothing waits for it any more.
  read.catch(() => undefined)
  return Promise.race([read, availability.whenAway().then(() => null)])
}
