import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { deferred } from '../../../../test/support/engines.ts'
import type { Place } from '../../../../test/support/postgres.ts'
import { freshSchema } from '../../../../test/support/postgres.ts'
import type { Connection, Row } from '../connection.ts'
import { openPostgres } from '../open-sql.ts'
import type { ConnectedClient } from './client.ts'
import { connect } from './client.ts'
import { postgresDialect } from './dialect.ts'
import { GRACE_MS, PostgresPresence, RECONNECT_MS } from './presence.ts'

let place: Place
let connection: Connection

beforeEach(async () => {
  place = await freshSchema()
  // It makes the tables.
  await (await openPostgres(place)).close()
  connection = await postgresDialect(place).connect()
  onTestFinished(() => connection.close())
})

/** `before`: what the nth statement that it has run waits for. */
function presence(
  before: (run: number) => Promise<void> = async () => undefined,
  now = () => Date.now(),
): PostgresPresence {
  let runs = 0
  const made = new PostgresPresence(place.schema, {
    run: async (work) => {
      await before(++runs)
      return work(connection)
    },
    now,
    listen: () => undefined,
    onNotice: () => undefined,
  })
  onTestFinished(() => made.close())
  return made
}

async function client(): Promise<ConnectedClient> {
  const made = (await connect({ url: place.url, schema: place.schema })).client
  onTestFinished(() => made.end().catch(() => undefined))
  return made
}

async function rows(sql: string): Promise<readonly Row[]> {
  const [found] = await connection.run([{ sql, values: [] }])
  return found?.rows ?? []
}

const LONG_AGO = `(extract(epoch from clock_timestamp()) * 1000)::int8 - 3600000`

it('what was forgotten about a job is not said again by another process, and a later job of its id is', async () => {
  const [a, b] = [presence(), presence()]
  await a.say('one', [{ job: 'j', saidAt: 5, text: 'secret' }])
  await b.forgetReport('j', 9)
  await a.say('one', [{ job: 'j', saidAt: 8, text: 'secret' }])
  expect(await b.reportOf('j')).toEqual({ job: 'j', saidAt: 9, text: '' })
  await a.say('one', [{ job: 'j', saidAt: 10, text: 'another' }])
  expect(await b.reportOf('j')).toEqual({ job: 'j', saidAt: 10, text: 'another' })
})

it('a session is judged though no process was up for an hour, and what was never judged goes', async () => {
  await rows(`
    insert into processes (name, heard_at, is_judged, text)
    values ('dead', ${LONG_AGO}, true, '{}'), ('unknown', ${LONG_AGO}, false, '{}')`)
  const here = presence()
  await here.connected(await client())
  await here.say('here', [])
  expect(await rows('select name from processes order by name')).toEqual(
    ['dead', here.name].toSorted().map((name) => [name]),
  )
  const judged = { timeout: 4 * (GRACE_MS + RECONNECT_MS), interval: 200 }
  let dead = await here.dead()
  await expect
    .poll(async () => (dead = await here.dead())?.isDead('dead') ?? false, judged)
    .toBe(true)
  await dead?.bury()
  expect(await rows('select name from processes')).toEqual([[here.name]])
})

it('a connection that was lost before its session could be judged is not the current one', async () => {
  const reached = deferred()
  const pass = deferred()
  // The second is what it says of itself, once the notification came back and the lock is held.
  const here = presence(async (run) => {
    if (run !== 2) return
    reached.resolve()
    await pass.promise
  })
  const [first, second] = [await client(), await client()]
  const late = here.connected(first)
  await reached.promise
  here.lost()
  await first.end()
  expect(here.session).toBe('')
  await here.connected(second)
  expect(here.session).toBe(here.name)
  pass.resolve()
  await late
  // It asks on the connection that is there: on the other one it could not.
  expect(await here.dead()).toBeNull()
  here.lost()
  expect(here.session).toBe('')
})

it('nor is one that was lost while none followed', async () => {
  const reached = deferred()
  const pass = deferred()
  const here = presence(async (run) => {
    if (run !== 2) return
    reached.resolve()
    await pass.promise
  })
  const late = here.connected(await client())
  await reached.promise
  here.lost()
  pass.resolve()
  await late
  expect(here.session).toBe('')
})

it('a session can be judged by others from its first claim on, whatever it says at the same time', async () => {
  const reached = deferred()
  const pass = deferred()
  const here = presence(async (run) => {
    if (run !== 1) return
    reached.resolve()
    await pass.promise
  })
  // It begins to speak BEFORE its session can be judged, and is heard after that.
  const early = here.say('early', [])
  await reached.promise
  await here.connected(await client())
  expect(await rows('select is_judged, text from processes')).toEqual([[true, '']])
  pass.resolve()
  await early
  expect(await rows('select is_judged, text from processes')).toEqual([[true, 'early']])
})

it('sixteen processes take turns to look for sessions that are missing, one each 250 ms', async () => {
  let nowMs = 1_000_000
  const looks: { readonly who: number; readonly atMs: number }[] = []
  const all = await Promise.all(
    Array.from({ length: 16 }, async (_, who) => {
      const one = presence(undefined, () => nowMs)
      const listening = await client()
      await one.connected(listening)
      const query = listening.query.bind(listening) as (...given: unknown[]) => unknown
      listening.query = ((...given: unknown[]) => {
        looks.push({ who, atMs: nowMs })
        return query(...given)
      }) as typeof listening.query
      return one
    }),
  )
  /** Each asks every 125 ms, for so many rounds. */
  const ask = async (asking: readonly PostgresPresence[], rounds: number): Promise<void> => {
    looks.length = 0
    for (const endMs = nowMs + rounds * 4_000; nowMs < endMs;) {
      nowMs += 125
      await Promise.all(asking.map((one) => one.dead()))
    }
  }
  // Each sees how many they are, and where it stands.
  await ask(all, 1)
  await ask(all, 2)
  expect(looks).toHaveLength(32)
  expect(new Set(looks.map(({ who }) => who)).size).toBe(16)
  const gaps = looks.slice(1).map(({ atMs }, i) => atMs - (looks[i]?.atMs ?? 0))
  expect(new Set(gaps)).toEqual(new Set([250]))
  // Those that miss a session look at each call, until they can judge.
  await rows(`insert into processes (name, heard_at, is_judged, text) values ('gone', 0, true, '')`)
  await ask(all, 1)
  expect(looks.length).toBeGreaterThan(100)
})

it('what is asked of a worker is read by its process with what it says, and with its look for dead ones', async () => {
  let now = 1_000_000
  const [here, there] = [presence(undefined, () => now), presence()]
  await here.connected(await client())
  await here.say('here', [])
  expect([...here.asked]).toEqual([])
  expect(await there.ask(here.name, 'mill', 'drain')).toBe(true)
  expect(await there.ask('another process', 'mill', 'drain')).toBe(false)
  now += 10_000
  await here.dead()
  const { asked } = here
  expect([...asked]).toEqual([['mill', 'drain']])
  await here.say('here', [])
  expect(here.asked).toBe(asked)
  await there.ask(here.name, 'press', 'drain')
  await there.ask(here.name, 'mill', 'resume')
  await here.say('here', [])
  expect(Object.fromEntries(here.asked)).toEqual({ mill: 'resume', press: 'drain' })
})
