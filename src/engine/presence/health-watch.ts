/**
 * What watches over the health of an engine: by its store, and by what the workers of all processes say.
 */
import type { Duration } from '../../definition/index.ts'
import type { Timing } from '../../store/clock.ts'
import type { Store } from '../../store/index.ts'
import type { Unserved } from '../inspect/health.ts'
import { HealthWatch } from '../inspect/health.ts'
import { servesChannel } from '../inspect/worker-info.ts'
import type { PresenceLoop } from './presence-loop.ts'

interface HealthSources {
  readonly store: Store
  readonly timing: Timing
  readonly unservedAfter?: Duration | undefined
  readonly onError: (error: Error) => void
}

export function newHealthWatch(
  { store, timing, onError, unservedAfter }: HealthSources,
  presence: PresenceLoop,
  onUnserved: (unserved: Unserved) => void,
): HealthWatch {
  return new HealthWatch(
    {
      store,
      now: () => timing.now(),
      isServed: (...channel) => {
        // One that a person drained takes nothing, perhaps for ever: the person may forget it.
        return presence.knownWorkers().some((one) => {
          return one.drained === null && servesChannel(one, ...channel)
        })
      },
      stalled: () => presence.knownStalled(),
      refresh: () => presence.refresh(),
      onUnserved,
      onError,
    },
    unservedAfter,
  )
}
