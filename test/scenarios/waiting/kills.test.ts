/**
 * Processes that are killed at every point of suspending, sending, delivering and resuming, on every store:
 * nothing is lost, nothing is taken twice, and no callee runs twice.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { open } from '../../../src/index.ts'
import { buildFiles, removeBuilt, THREADS } from '../../support/built.ts'
import { temporaryFolder } from '../../support/engines.ts'
import type { SharedPlace } from '../shared/places.ts'
import { SHARED } from '../shared/places.ts'
import type { KillPoint, WaitingTask } from './program.ts'

let built: string
beforeAll(async () => {
  built = await buildFiles({ program: 'test/scenarios/waiting/program.ts', ...THREADS })
})
afterAll(() => removeBuilt(built))

/** What it said; null: it was killed. */
async function run(task: WaitingTask): Promise<string | null> {
  const child = spawn(process.execPath, [join(built, 'program.js'), JSON.stringify(task)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [said, [, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return signal === 'SIGKILL' ? null : said.trim()
}

const PLACES: Readonly<Record<string, () => Promise<SharedPlace>>> = {
  'a directory': async () => ({ location: await temporaryFolder(), options: {} }),
  ...SHARED,
}

const at = (command: KillPoint['command'], nth: number): readonly KillPoint[] => [
  { command, when: 'before', nth },
  { command, when: 'after', nth },
]

/** The second suspension is for the callee; the first commit is the callee's, the second the caller's. */
const POINTS: readonly (readonly [string, KillPoint, boolean])[] = [
  ...at('SuspendExecution', 1).map((one) => ['a suspension', one, false] as const),
  ...at('SendMessage', 1).map((one) => ['a send', one, false] as const),
  ...at('EndWait', 1).map((one) => ['the end of a wait in place', one, true] as const),
  ...at('SuspendExecution', 2).map((one) => ['a call', one, false] as const),
  ...at('CommitExecution', 1).map((one) => ["the callee's commit", one, false] as const),
  ...at('AnswerCall', 1).map((one) => ['a delivery', one, false] as const),
  ...at('CommitExecution', 2).map((one) => ['the end of the resumed run', one, false] as const),
]

/** Each takes a moment, most of which is waiting. */
const AT_ONCE = 4

/** What is wrong once another process has done the rest; nothing: all is well. */
async function leftover(place: SharedPlace, kill: KillPoint, isEarly: boolean): Promise<unknown> {
  const killed = await run({ ...place, kill, isEarly })
  const said = await run({ ...place, kill: null, isEarly })
  const pawl = await open(place.location, place.options)
  try {
    const entries = (await pawl.history('job')).flatMap(({ entry }) => entry ?? [])
    const messages = entries.filter(({ type }) => type === 'MessageSent')
    const { jobs } = await pawl.list({ type: 'double' })
    const callee = await pawl.history(jobs[0]?.id ?? '')
    return {
      killed,
      said,
      taken: messages.filter((one) => 'id' in one && one.id === 'm1').length,
      told: messages.filter((one) => 'by' in one && one.by === 'callee').length,
      callees: jobs.length,
      commits: callee.filter(({ type }) => type === 'ExecutionCommitted').length,
    }
  } finally {
    await pawl.close()
  }
}

const ALL_IS_WELL = { killed: null, said: '[1,21,42]', taken: 1, told: 1, callees: 1, commits: 1 }

describe.each(Object.entries(PLACES))('a process on %s', (_name, fresh) => {
  it('that is killed at any point of a wait leaves all to the next', async () => {
    const left = [...POINTS]
    const found: [string, unknown][] = []
    const next = async (): Promise<void> => {
      for (let point = left.shift(); point !== undefined; point = left.shift()) {
        const [what, kill, isEarly] = point
        found.push([`${kill.when} ${what}`, await leftover(await fresh(), kill, isEarly)])
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, next))
    const expected = POINTS.map(([what, { when }]) => [`${when} ${what}`, ALL_IS_WELL] as const)
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected))
  })
})
