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
const HOLD_UP_AIM_MS = 20

export async function benchGrowth(
  scratch: Scratch,
  say: (line: string) => void,
): Promise<string[]> {
  say(`lives for ${(5 * FIFTH_MS) / 1e3} s …`)
  logTraffic()
  const folder = scratch.fresh('growth')
  let made = 0
  const store = await openStore(folder, {
    onNotice({ kind }) {
      if (kind === 'checkpoint-made') made += 1
    },
  })
  const callers = new Callers(store)
  await callers.run(LOAD, [WARM_UP_MS])
  made = 0
  const holdUps = new HoldUps()
  const readings = await callers.run(LOAD, [0, FIFTH_MS, FIFTH_MS, FIFTH_MS, FIFTH_MS, FIFTH_MS])
  const held = holdUps.stop()
  await store.close()
  scratch.drop(folder)
  return [...growthLines(readings), ...holdUpLines(held, made)]
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

function holdUpLines(held: readonly HoldUp[], checkpoints: number): string[] {
  const inside = held.filter(({ inCheckpoint }) => inCheckpoint)
  const outside = held.filter(({ inCheckpoint }) => !inCheckpoint)
  const row = (name: string, some: readonly HoldUp[]): string[] => [
    name,
    whole(some.length),
    ...[
      longest(some, ({ ms }) => ms),
      longest(some, ({ gcMs }) => gcMs),
      longest(some, ({ ownMs }) => ownMs),
      longest(some, ({ waitedMs }) => waitedMs),
      longest(some, ({ blockedMs }) => blockedMs),
    ].map((ms) => ms.toFixed(1)),
  ]
  return [
    '',
    `Hold-ups of the event loop of 2 ms and more in the same run, ${checkpoints} checkpoints in it`,
    ...table(
      ['', 'hold-ups', 'longest ms', 'longest gc', 'own', 'waiting', 'blocked'],
      [row('while a checkpoint is made', inside), row('otherwise', outside)],
    ),
    'each column its own longest. own: work on a core; waiting: others had the cores; blocked: the rest',
    ...(checkpoints === 0
      ? ['no checkpoint was made']
      : [
          atMost(
            'longest hold-up while a checkpoint is made, ms',
            longest(inside, ({ ms }) => ms),
            HOLD_UP_AIM_MS,
          ),
          atMost(
            'longest own work within one, ms',
            longest(inside, ({ ownMs }) => ownMs),
            HOLD_UP_AIM_MS,
          ),
        ]),
  ]
}

function longest(some: readonly HoldUp[], of: (one: HoldUp) => number): number {
  return some.reduce((most, one) => Math.max(most, of(one)), 0)
}
