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
): PostgresPresence {
  let runs = 0
  const made = new PostgresPresence(place.schema, {
    run: async (work) => {
      await before(++runs)
      return work(connection)
    },
    now: () => Date.now(),
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
