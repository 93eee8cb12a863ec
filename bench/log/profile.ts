/**
 * Where the time goes: the CPU profiler of V8 over the first case of `lives`, its samples
 * added up by room, by file and by function.
 */
import { Session } from 'node:inspector/promises'
import type { Profiler } from 'node:inspector'
import { table, whole } from '../table.ts'
import { Callers, rateBetween } from './callers.ts'
import type { Reading } from './callers.ts'
import { HEADLINE } from './durable-lives.ts'
import type { Scratch } from './scratch.ts'
import { openStore } from './store.ts'

const WARM_UP_MS = 3_000
const PROFILE_MS = 6_000
const SAMPLE_US = 250
/** The inspector's own entry: starting and stopping the profiler, which no life pays for. */
const INSPECTOR = 'dispatch'
const MOST_FILES = 20
const MOST_FUNCTIONS = 30

export async function profileLives(
  scratch: Scratch,
  say: (line: string) => void,
): Promise<string[]> {
  say('durable lives under the profiler …')
  const folder = scratch.fresh('profile')
  const store = await openStore(folder)
  const callers = new Callers(store)
  const session = new Session()
  session.connect()
  await callers.run(HEADLINE, [WARM_UP_MS])
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_US })
  await session.post('Profiler.start')
  const readings = await callers.run(HEADLINE, [0, PROFILE_MS])
  const { profile } = await session.post('Profiler.stop')
  session.disconnect()
  await store.close()
  scratch.drop(folder)
  return report(profile, readings as [Reading, Reading])
}

interface Spent {
  readonly room: string
  readonly file: string
  readonly name: string
  readonly us: number
}

function report(profile: Profiler.Profile, [from, to]: [Reading, Reading]): string[] {
  const spent = spentBy(profile)
  const lives = to.lives - from.lives
  const all = spent.reduce((sum, { us }) => sum + us, 0)
  const part = (what: string, of: (one: Spent) => string, most: number): string[] =>
    table(
      [what, '%', 'ns/life'],
      sums(spent, of)
        .slice(0, most)
        .map(([name, us]) => [name, ((us / all) * 100).toFixed(1), whole((us * 1e3) / lives)]),
    )
  return [
    '',
    `Where the time goes: ${HEADLINE.callers} callers with batches of ${HEADLINE.batch}, ${whole(rateBetween(from, to).perSecond)} lives/s under the profiler`,
    ...part('room', ({ room }) => room, Infinity),
    '',
    ...part('file', ({ file }) => file, MOST_FILES),
    '',
    ...part('function', ({ name, file }) => `${name}  ${file}`, MOST_FUNCTIONS),
  ]
}

/** Each node of the tree with its own time: that of the samples that fell on it. */
function spentBy(profile: Profiler.Profile): Spent[] {
  const us = new Map<number, number>()
  const { samples = [], timeDeltas = [] } = profile
  samples.forEach((node, i) => us.set(node, (us.get(node) ?? 0) + (timeDeltas[i] ?? 0)))
  const others = profile.nodes.filter(({ callFrame }) => callFrame.functionName !== INSPECTOR)
  return others.map(({ id, callFrame }) => {
    const name = callFrame.functionName || '(anonymous)'
    const file = fileOf(callFrame.url)
    return { room: roomOf(file, name), file, name, us: us.get(id) ?? 0 }
  })
}

function sums(spent: readonly Spent[], of: (one: Spent) => string): [string, number][] {
  const all = new Map<string, number>()
  for (const one of spent) {
    if (one.us > 0) all.set(of(one), (all.get(of(one)) ?? 0) + one.us)
  }
  return [...all].toSorted(([, a], [, b]) => b - a)
}

/** From `src` or `bench` on. */
function fileOf(url: string): string {
  if (url === '') return '(engine)'
  return /\/((?:src|bench)\/.*)$/.exec(url)?.[1] ?? url
}

/** The files of the log that turn entries into bytes. */
const CODEC = /^src\/log\/format\/(?:bytes|[a-z]+-codec|[a-z]+-entries|interning)\.ts$/

function roomOf(file: string, name: string): string {
  if (name === '(garbage collector)') return 'garbage collection'
  if (name === '(idle)') return 'idle'
  if (name === '(program)') return 'engine and system calls'
  if (name === 'crc32' || name === 'checksumOf') return 'checksum'
  if (CODEC.test(file)) return 'log codec'
  const room = /^(?:src\/)?(kernel|log|store|bench)\//.exec(file)?.[1]
  if (room === 'log') return 'log, the rest'
  if (room === 'bench') return 'callers of the bench'
  if (room !== undefined) return room
  return file.startsWith('node:') ? 'node itself' : 'engine built-ins'
}
