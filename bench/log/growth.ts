/**
 * Part `growth`: whether a life costs more as history grows, and how long the event loop is
 * held up meanwhile, above all while a checkpoint is made.
 */
import { table, whole } from '../table.ts'
import { atMost, figure } from './aim.ts'
import type { LifeRate, Load, Reading } from './callers.ts'
import { Callers, rateBetween } from './callers.ts'
import type { HoldUp } from './hold-ups.ts'
import { HoldUps } from './hold-ups.ts'
import { logTraffic } from './log-traffic.ts'
import type { Scratch } from './scratch.ts'
import { openStore } from './store.ts'

const LOAD: Load = { batch: 64, callers: 16 }
const WARM_UP_MS = 2_000
const FIFTH_MS = 7_000
const FIFTHS_MS = [FIFTH_MS, FIFTH_MS, FIFTH_MS, FIFTH_MS, FIFTH_MS]
const HOLD_UP_AIM_MS = 20

export async function benchGrowth(
  scratch: Scratch,
  say: (line: string) => void,
): Promise<string[]> {
  say(`lives for ${(5 * FIFTH_MS) / 1e3} s …`)
  const grown = await measure(scratch, LOAD, {}, FIFTHS_MS)
  const { perSecond } = rateBetween(grown.readings[0] as Reading, grown.readings.at(-1) as Reading)
  say(`for as long at half of that, ${whole(perSecond / 2)} lives/s …`)
  const half = await measure(scratch, { ...LOAD, perSecond: perSecond / 2 }, {}, FIFTHS_MS)
  say(`and for ${FIFTH_MS / 1e3} s without checkpoints …`)
  const plain = await measure(scratch, LOAD, { checkpointBytes: Infinity }, [FIFTH_MS])
  return [...growthLines(grown.readings), ...holdUpLines(grown, half, plain)]
}

interface Grown {
  readonly readings: readonly Reading[]
  readonly held: readonly HoldUp[]
  readonly checkpoints: number
}

async function measure(
  scratch: Scratch,
  load: Load,
  options: { checkpointBytes?: number },
  stretchesMs: readonly number[],
): Promise<Grown> {
  logTraffic()
  const folder = scratch.fresh('growth')
  let checkpoints = 0
  const store = await openStore(folder, {
    ...options,
    onNotice({ kind }) {
      if (kind === 'checkpoint-made') checkpoints += 1
    },
  })
  const callers = new Callers(store)
  await callers.run(load, [WARM_UP_MS])
  checkpoints = 0
  const holdUps = new HoldUps()
  const readings = await callers.run(load, [0, ...stretchesMs])
  const held = holdUps.stop()
  await store.close()
  scratch.drop(folder)
  globalThis.gc?.()
  return { readings, held, checkpoints }
}

function growthLines(readings: readonly Reading[]): string[] {
  const fifths = readings.slice(1).map((to, i) => rateBetween(readings[i] as Reading, to))
  const first = fifths[0] as LifeRate
  const last = fifths.at(-1) as LifeRate
  const wall = figure(last.wallNsPerLife / first.wallNsPerLife)
  const cpu = figure(last.cpuNsPerLife / first.cpuNsPerLife)
  return [
    '',
    `Growth: lives with ${LOAD.callers} callers and batches of ${LOAD.batch}, for ${(5 * FIFTH_MS) / 1e3} s`,
    ...table(
      ['fifth', 'lives before', 'lives/s', 'ns/life', 'cpu ns/life', 'gc ns/life'],
      fifths.map((rate, i) => [
        `${i + 1}`,
        whole(readings[i]?.lives ?? 0),
        whole(rate.perSecond),
        whole(rate.wallNsPerLife),
        whole(rate.cpuNsPerLife),
        whole(rate.gcNsPerLife),
      ]),
    ),
    `A life in the last fifth costs ${wall} times one in the first in wall time, ${cpu} times in cpu time.`,
  ]
}

function holdUpLines(grown: Grown, half: Grown, plain: Grown): string[] {
  const row = (name: string, { held }: Grown): string[] => [
    name,
    whole(held.length),
    ...[
      longest(held, ({ ms }) => ms),
      longest(held, ({ gcMs }) => gcMs),
      longest(held, ({ ownMs }) => ownMs),
      longest(held, ({ waitedMs }) => waitedMs),
      longest(held, ({ blockedMs }) => blockedMs),
    ].map((ms) => ms.toFixed(1)),
  ]
  return [
    '',
    `Hold-ups of the event loop of 2 ms and more`,
    ...table(
      ['', 'hold-ups', 'longest ms', 'longest gc', 'own', 'waiting', 'blocked'],
      [
        row(`full speed, ${grown.checkpoints} checkpoints in ${(5 * FIFTH_MS) / 1e3} s`, grown),
        row(`half of it, ${half.checkpoints} checkpoints in ${(5 * FIFTH_MS) / 1e3} s`, half),
        row(`full speed without any, in ${FIFTH_MS / 1e3} s`, plain),
      ],
    ),
    'each column its own longest. own: work on a core, and collections that V8 does not report;',
    'waiting: others had the cores; blocked: the rest',
    ...aims(grown, 'at full speed'),
    ...aims(half, 'at half of it'),
  ]
}

function aims({ checkpoints, held }: Grown, when: string): string[] {
  if (checkpoints === 0) return [`no checkpoint was made ${when}`]
  const ms = longest(held, (one) => one.ms)
  return [atMost(`longest hold-up ${when}, ms`, ms, HOLD_UP_AIM_MS)]
}

function longest(some: readonly HoldUp[], of: (one: HoldUp) => number): number {
  return some.reduce((most, one) => Math.max(most, of(one)), 0)
}
