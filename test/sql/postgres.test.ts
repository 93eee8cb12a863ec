/**
 * What only a connection to PostgreSQL can meet: a network, a server that ends it, and what the
 * server says by its codes.
 */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openConnection } from '../../src/store/sql/postgres/connection.ts'
import type { Connection } from '../../src/store/sql/connection.ts'
import type { SqlFailureReason } from '../../src/store/sql/failures.ts'
import type { Place } from '../support/postgres.ts'
import { freshSchema } from '../support/postgres.ts'
import { ask, reasonOf } from './databases.ts'

let place: Place
let owner: Connection
const open = new Set<Connection>()

async function opened(of: Place = place): Promise<Connection> {
  const connection = await openConnection(of)
  open.add(connection)
  return connection
}

async function valueOf(connection: Connection, sql: string, ...values: string[]): Promise<unknown> {
  const [answer] = await connection.run([ask(sql, ...values)])
  return answer?.rows[0]?.[0]
}

const terminate = (pid: unknown) =>
  owner.run([ask('select pg_terminate_backend($1::int4)', pid as number)])
const pidOf = (connection: Connection) => valueOf(connection, 'select pg_backend_pid()')

/** Waits until this backend waits for something of this kind. */
async function waitsFor(pid: unknown, event: string): Promise<void> {
  const sql = 'select wait_event from pg_stat_activity where pid::text = $1'
  while ((await valueOf(owner, sql, String(pid))) !== event) continue
}

beforeEach(async () => {
  place = await freshSchema()
  owner = await opened({ ...place, schema: 'public' })
  await owner.run([ask(`create schema ${place.schema}`)])
})

afterEach(async () => {
  await owner.run([ask(`drop schema ${place.schema} cascade`)])
  await Promise.all([...open].map((one) => one.close()))
  open.clear()
})

/** Passes on what both sides say, and counts how often the client speaks after the server did. */
class Relay {
  turns = 0
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  static async to(port: number): Promise<Relay> {
    const server = createServer()
    const relay = new Relay(server)
    server.on('connection', (near: Socket) => {
      const far = connect(port, '127.0.0.1')
      let hasServerSpoken = true
      near.on('data', (bytes) => {
        if (hasServerSpoken) relay.turns++
        hasServerSpoken = false
        far.write(bytes)
      })
      far.on('data', (bytes) => {
        hasServerSpoken = true
        near.write(bytes)
      })
      near.on('close', () => far.destroy())
      far.on('close', () => near.destroy())
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return relay
  }

  through(url: string): string {
    const moved = new URL(url)
    moved.port = String((this.#server.address() as AddressInfo).port)
    return moved.href
  }

  close(): void {
    this.#server.close()
  }
}

describe('what is sent', () => {
  it('takes one round trip, however many statements there are', async () => {
    const relay = await Relay.to(Number(new URL(place.url).port))
    const connection = await opened({ ...place, url: relay.through(place.url) })
    const asks = Array.from({ length: 50 }, (_, at) => ask(`select $1::int8 + ${at % 5}`, at))
    for (const round of [1, 2, 3]) {
      relay.turns = 0
      expect(await connection.run(asks)).toHaveLength(50)
      expect([round, relay.turns]).toEqual([round, 1])
    }
    await connection.close()
    relay.close()
  })

  it('is prepared once', async () => {
    const connection = await opened()
    for (let round = 0; round < 3; round++) {
      await connection.run([ask('select $1::text', 'a'), ask('select $1::text', 'b')])
    }
    const seen = await valueOf(
      connection,
      `select string_agg(statement, '|') from pg_prepared_statements`,
    )
    expect(
      String(seen)
        .split('|')
        .filter((sql) => sql === 'select $1::text'),
    ).toHaveLength(1)
  })

  it('is refused whole if a value does not fit to its column', async () => {
    const connection = await opened()
    await connection.run([ask('create table t (n int8)')])
    const many = 'insert into t select * from unnest($1::int8[])'
    for (const value of ['1', 2 ** 53, 0.5, true, Uint8Array.of(1)]) {
      const rows = [[1], [value]]
      const refused = connection.run([ask('insert into t values (1)'), { sql: many, rows }])
      expect([value, await reasonOf(refused)]).toEqual([value, 'broken'])
    }
    const uncast = connection.run([{ sql: 'insert into t select unnest($1)', rows: [[1]] }])
    expect(await reasonOf(uncast)).toBe('broken')
    expect(await valueOf(connection, 'select count(*) from t')).toBe(0)
  })

  it('goes to the schema that was named, whatever its name', async () => {
    const schema = `${place.schema} "Odd", name`
    await owner.run([ask(`create schema "${schema.replaceAll('"', '""')}"`)])
    const connection = await opened({ ...place, schema })
    expect(await valueOf(connection, 'select current_schema()')).toBe(schema)
    expect(await valueOf(connection, 'show application_name')).toBe('pawl')
    await owner.run([ask(`drop schema "${schema.replaceAll('"', '""')}"`)])
  })

  it('is prepared anew when a table was altered', async () => {
    const connection = await opened()
    const read = ask('select n from t')
    await connection.run([ask('create table t (n int8)'), ask('insert into t values (7)')])
    expect((await connection.run([read]))[0]?.rows).toEqual([[7]])
    await connection.run([ask('alter table t alter n type text')])
    expect(await reasonOf(connection.run([read]))).toBe('conflict')
    expect((await connection.run([read]))[0]?.rows).toEqual([['7']])
  })

  it('is not said to be committed if its transaction had failed', async () => {
    const connection = await opened()
    expect(await reasonOf(connection.run([ask('begin'), ask('select 1/0')]))).toBe('broken')
    expect(await reasonOf(connection.run([ask('commit')]))).toBe('broken')
    expect(await valueOf(connection, 'select 1')).toBe(1)
  })
})

describe('a connection that ends', () => {
  it('is lost when its backend is terminated in the middle of a statement', async () => {
    const connection = await opened()
    const pid = await pidOf(connection)
    const busy = reasonOf(connection.run([ask('select pg_sleep(600)')]))
    const behind = reasonOf(connection.run([ask('select 1')]))
    await waitsFor(pid, 'PgSleep')
    await terminate(pid)
    expect(await busy).toBe('lost')
    expect(await behind).toBe('lost')
    await expect(connection.run([ask('select 1')])).rejects.toThrow(
      /terminating connection due to administrator command/,
    )
    await connection.close()
  })

  it('is lost when its backend is terminated while it is idle', async () => {
    const connection = await opened()
    await terminate(await pidOf(connection))
    while ((await reasonOf(connection.run([ask('select 1')]))) === 'none') continue
    expect(await reasonOf(connection.run([ask('select 1')]))).toBe('lost')
    await connection.close()
  })

  it('is lost when the network ends', async () => {
    const sockets = new Set<Socket>()
    const relay = createServer((near) => {
      const far = connect(Number(new URL(place.url).port), '127.0.0.1')
      sockets.add(near)
      near.pipe(far).pipe(near)
      near.on('error', () => far.destroy())
      near.on('close', () => far.destroy())
    })
    relay.listen(0, '127.0.0.1')
    await once(relay, 'listening')
    const url = new URL(place.url)
    url.port = String((relay.address() as AddressInfo).port)
    const connection = await opened({ ...place, url: url.href })
    const busy = reasonOf(connection.run([ask('select pg_sleep(600)')]))
    for (const socket of sockets) socket.resetAndDestroy()
    expect(await busy).toBe('lost')
    expect(await reasonOf(connection.run([ask('select 1')]))).toBe('lost')
    relay.close()
  })

  it('keeps a process alive while something is under way, and no longer', async () => {
    const file = new URL('postgres-idle.ts', import.meta.url).pathname
    const printed = await new Promise<string>((resolve, reject) => {
      execFile(
        process.execPath,
        ['--import', 'tsx', file, place.url],
        { timeout: 60_000 },
        (error, stdout) => (error === null ? resolve(stdout) : reject(error)),
      )
    })
    expect(printed).toBe('listening\nslept\n')
  })
})

describe('a listener that is closed', () => {
  it('keeps its process alive until all that it was given is sent', async () => {
    const file = new URL('postgres-closing.ts', import.meta.url).pathname
    const printed = await new Promise<string>((resolve, reject) => {
      execFile(
        process.execPath,
        ['--import', 'tsx', file, place.url],
        { timeout: 60_000 },
        (error, stdout) => (error === null ? resolve(stdout) : reject(error)),
      )
    })
    expect(printed).toBe('closed\n')
  })
})

/** Opens the place with something else in its address. */
function withUrl(change: (url: URL) => void): Promise<unknown> {
  const url = new URL(place.url)
  change(url)
  return openConnection({ url: url.href, connectMs: 500 })
}

describe('opening', () => {
  it('is denied with a wrong password, and names the server without it', async () => {
    const denied = withUrl((url) => (url.password = 'wrong'))
    expect(await reasonOf(denied)).toBe('denied')
    await expect(denied).rejects.toThrow(/^PostgreSQL at 127\.0\.0\.1:\d+\/postgres: /)
    await expect(denied).rejects.not.toThrow(/wrong/)
  })

  it('finds no such database', async () => {
    expect(await reasonOf(withUrl((url) => (url.pathname = '/nowhere')))).toBe('missing')
  })

  it('reaches nothing where no server listens, and where none answers', async () => {
    const silent = createServer((socket) => socket.resume())
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const port = String((silent.address() as AddressInfo).port)
    expect(await reasonOf(withUrl((url) => (url.port = port)))).toBe('unreachable')
    silent.close()
    await once(silent, 'close')
    expect(await reasonOf(withUrl((url) => (url.port = port)))).toBe('unreachable')
  })

  it('is unusable where the address is none', async () => {
    expect(await reasonOf(openConnection({ url: 'postgres://[' }))).toBe('unusable')
  })
})

describe('what the server says', () => {
  const SAID: readonly (readonly [string, SqlFailureReason])[] = [
    ['40001', 'conflict'],
    ['40P01', 'conflict'],
    ['55P03', 'conflict'],
    ['23505', 'conflict'],
    ['57014', 'conflict'],
    ['08006', 'lost'],
    ['57P01', 'lost'],
    ['57P02', 'lost'],
    ['57P03', 'lost'],
    ['53300', 'lost'],
    ['53100', 'full'],
    ['53200', 'full'],
    ['53400', 'full'],
    ['25006', 'read-only'],
    ['42P01', 'missing'],
    ['42703', 'missing'],
    ['3F000', 'missing'],
    ['28000', 'denied'],
    ['42501', 'denied'],
    ['23502', 'broken'],
    ['42601', 'broken'],
    ['22012', 'broken'],
  ]

  it.each(SAID)('by the code %s is %s', async (code, reason) => {
    const connection = await opened()
    const raised = `do $$ begin raise exception 'as said' using errcode = '${code}'; end $$`
    expect(await reasonOf(connection.run([ask(raised)]))).toBe(reason)
  })

  it.each(['XX001', 'XX002'])('by the code %s is damage', async (code) => {
    const connection = await opened()
    const raised = `do $$ begin raise exception 'as said' using errcode = '${code}'; end $$`
    await expect(connection.run([ask(raised)])).rejects.toMatchObject({ code: 'DatabaseDamaged' })
  })

  it('of two that wait for each other is a conflict for one', async () => {
    const [one, two] = [await opened(), await opened()]
    await one.run([
      ask('create table t (id text primary key, n int8)'),
      ask(`insert into t values ('a', 0), ('b', 0)`),
    ])
    const more = 'update t set n = n + 1 where id = $1'
    const raise = (id: string) => ask(more, id)
    await one.run([ask('begin'), raise('a')])
    await two.run([ask('begin'), raise('b')])
    const both = [one.run([raise('b'), ask('commit')]), two.run([raise('a'), ask('commit')])]
    const ends = await Promise.all(both.map(reasonOf))
    expect(ends.toSorted()).toEqual(['conflict', 'none'])
    expect(await valueOf(owner, `select sum(n) from ${place.schema}.t`)).toBe(2)
  })
})
