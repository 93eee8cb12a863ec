/**
 * A server that says nothing any more, while its machine still takes what is sent: behind a proxy that
 * passes nothing on. And one that only takes long, which is waited for.
 */
import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openConnection } from '../../src/store/sql/postgres/connection.ts'
import { PostgresListener } from '../../src/store/sql/postgres/notifier.ts'
import { postgresDialect } from '../../src/store/sql/postgres/dialect.ts'
import type { Dialect } from '../../src/store/sql/dialect.ts'
import { openSql } from '../../src/store/sql/open-sql.ts'
import { SilenceWatch } from '../../src/store/sql/postgres/silence-watch.ts'
import type { Place } from '../support/postgres.ts'
import { freshSchema } from '../support/postgres.ts'
import { plain } from '../support/specs.ts'
import { ask, reasonOf } from './databases.ts'

/** Passes on what both sides say, or takes it and passes on nothing. */
class Proxy {
  readonly #server: Server
  readonly #muted = new Set<Socket>()
  readonly #near = new Set<Socket>()
  #isMute = false
  /** Connections that were made to it. */
  count = 0

  private constructor(port: number) {
    this.#server = createServer((near) => {
      this.count += 1
      const far = connect(port, '127.0.0.1')
      this.#near.add(near)
      if (this.#isMute) this.#muted.add(near)
      const passes = (): boolean => !this.#muted.has(near)
      near.on('data', (bytes) => passes() && far.write(bytes))
      far.on('data', (bytes) => passes() && near.write(bytes))
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        one.on('error', nothing)
        one.on('close', () => other.destroy())
      }
    })
  }

  static async to(url: string): Promise<Proxy> {
    const proxy = new Proxy(Number(new URL(url).port))
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  through(url: string): string {
    const moved = new URL(url)
    moved.port = String((this.#server.address() as AddressInfo).port)
    return moved.href
  }

  /** Those that are there pass nothing on any more; and new ones, if so. */
  mute(isForNew: boolean): void {
    this.#isMute = isForNew
    for (const near of this.#near) this.#muted.add(near)
  }

  close(): void {
    this.#server.close()
    for (const near of this.#near) near.destroy()
  }
}

const LIMITS = { silentMs: 50, answerMs: 500 }

let place: Place
let proxy: Proxy

beforeEach(async () => {
  place = await freshSchema()
  proxy = await Proxy.to(place.url)
})

afterEach(() => proxy.close())

const opened = () => openConnection({ url: proxy.through(place.url), ...LIMITS })

function dialect(): Dialect {
  const options = { url: proxy.through(place.url), schema: place.schema }
  const limits = { ...LIMITS, connectMs: 500 }
  return { ...postgresDialect(options, limits), mostAwayMs: 500 }
}

const nothing = (): void => undefined
const submit = (job: string) => ({ type: 'SubmitJob', job, spec: plain() }) as const

describe('a connection to a server that says nothing any more', () => {
  it('is lost, and so is what was sent behind', async () => {
    const connection = await opened()
    proxy.mute(true)
    const runs = [connection.run([ask('select 1')]), connection.run([ask('select 2')])]
    expect(await Promise.all(runs.map(reasonOf))).toEqual(['lost', 'lost'])
    await expect(connection.run([ask('select 1')])).rejects.toThrow(/does not answer any more/)
    await connection.close()
  })

  it('is lost, if the server answers to others, and knows nothing of what was sent', async () => {
    const connection = await opened()
    proxy.mute(false)
    expect(await reasonOf(connection.run([ask('select 1')]))).toBe('lost')
    await connection.close()
  })

  it('can be closed', async () => {
    const connection = await opened()
    proxy.mute(true)
    await connection.close()
    const busy = await openConnection({ url: place.url, ...LIMITS })
    const running = busy.run([ask('select pg_sleep(0.7)')])
    await busy.close()
    expect(await running).toHaveLength(1)
  })

  it('is opened in vain', async () => {
    proxy.mute(true)
    const url = proxy.through(place.url)
    expect(await reasonOf(openConnection({ url, connectMs: 200 }))).toBe('unreachable')
  })
})

describe('a server that takes long', () => {
  it('is waited for, while it is at work for the connection', async () => {
    const connection = await opened()
    proxy.count = 0
    expect(await connection.run([ask('select pg_sleep(1)')])).toHaveLength(1)
    // It was asked.
    expect(proxy.count).toBeGreaterThan(2)
    await connection.close()
  })

  it('is waited for, while somebody else has the lock', async () => {
    const [owner, other] = [await openConnection({ url: place.url }), await opened()]
    const lock = 'select pg_advisory_xact_lock(hashtextextended($1, 0))'
    await owner.run([ask('begin'), ask(lock, place.schema)])
    proxy.count = 0
    const waiting = other.run([ask('begin'), ask(lock, place.schema), ask('commit')])
    await expect.poll(() => proxy.count, { timeout: 10_000 }).toBeGreaterThan(4)
    await owner.run([ask('commit')])
    expect(await waiting).toHaveLength(3)
    await Promise.all([owner.close(), other.close()])
  })

  it('is waited for, if it has no room to be asked', async () => {
    const owner = await openConnection({ url: place.url })
    const role = `narrow_${place.schema}`
    await owner.run([ask(`create role ${role} login password 'p' connection limit 1`)])
    const url = new URL(proxy.through(place.url))
    url.username = role
    url.password = 'p'
    const connection = await openConnection({ url: url.href, ...LIMITS })
    expect(await connection.run([ask('select pg_sleep(1)')])).toHaveLength(1)
    await connection.close()
    await owner.run([ask(`drop role ${role}`)])
    await owner.close()
  })
})

describe('a store on a server that says nothing any more', () => {
  it('sends what was under way again, on another connection', async () => {
    const store = await openSql(dialect())
    await store.execute([submit('a')])
    proxy.mute(false)
    const [answer] = await store.execute([submit('b')])
    expect(answer?.verdict).toBe('committed')
    await store.close()
  })

  it('tells whoever waits when its time is over, and can be closed', async () => {
    const store = await openSql(dialect())
    await store.execute([submit('a')])
    store.onNews(nothing)
    proxy.mute(true)
    // It may be sent on the connection that is there, or wait for another one in vain.
    expect(await reasonOf(store.execute([submit('b')]))).toMatch(/^(?:lost|unreachable)$/)
    await store.close()
  })
})

describe('a listener of a server that says nothing any more', () => {
  it('hears again, on another connection, when it has found out by ringing', async () => {
    let onGap = nothing
    const gap = new Promise<void>((resolve) => (onGap = resolve))
    const url = proxy.through(place.url)
    const options = { url, channel: place.schema, answerMs: 100 }
    const listener = new PostgresListener({ ...options, onNotification: nothing, onGap })
    await listener.listen()
    proxy.mute(false)
    listener.notify('a')
    await gap
    proxy.mute(true)
    await listener.close()
  })
})

describe('a silence', () => {
  it('is not over because the server was found at work for others once, or once more later', async () => {
    const answers = [false, true, false]
    let asked = 0
    let isOver = false
    const silence = new SilenceWatch({
      silentMs: 1,
      traffic: () => '',
      isAtWork: () => Promise.resolve(answers[asked++] ?? true),
      onOver: () => (isOver = true),
    })
    silence.begin()
    await expect.poll(() => asked).toBeGreaterThan(answers.length)
    silence.end()
    expect(isOver).toBe(false)
  })

  it('begins anew with each byte', async () => {
    let bytes = 0
    let asked = 0
    const silence = new SilenceWatch({
      silentMs: 1,
      traffic: () => String((bytes += 1)),
      isAtWork: () => Promise.resolve((asked += 1) < 0),
      onOver: () => expect.fail('it was not silent'),
    })
    silence.begin()
    await expect.poll(() => bytes).toBeGreaterThan(20)
    silence.end()
    expect(asked).toBe(0)
  })
})
