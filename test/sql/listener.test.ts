/**
 * A listener passes notifications on, and listens again by itself when its connection or the whole server
 * was gone.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openConnection } from '../../src/store/sql/postgres/connection.ts'
import { PostgresListener } from '../../src/store/sql/postgres/notifier.ts'
import { PostgresServer } from '../support/postgres-server.ts'
import { ask, reasonOf } from './databases.ts'

/** Odd, so that it must be quoted. */
const CHANNEL = 'Pawl "odd"'

let server: PostgresServer
let listener: PostgresListener | null = null

beforeAll(async () => {
  server = await PostgresServer.start()
})

afterAll(async () => {
  await server.stop('immediate')
  await server.remove()
})

afterEach(() => listener?.close())

const nothing = (): void => undefined

/** What is heard, to be waited for. */
class Heard {
  readonly #words: string[] = []
  #wake: () => void = nothing

  say(word: string): void {
    this.#words.push(word)
    this.#wake()
  }

  async next(): Promise<string> {
    while (this.#words.length === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return this.#words.shift() as string
  }
}

async function listening(): Promise<Heard> {
  const heard = new Heard()
  listener = new PostgresListener({
    url: server.url,
    channel: CHANNEL,
    onNotification: (payload) => heard.say(`heard ${payload}`),
    onGap: () => heard.say('gap'),
  })
  await listener.listen()
  return heard
}

async function notify(payload: string): Promise<void> {
  const connection = await openConnection({ url: server.url })
  await connection.run([ask('select pg_notify($1, $2)', CHANNEL, payload)])
  await connection.close()
}

async function terminateAllOthers(): Promise<number> {
  const connection = await openConnection({ url: server.url })
  const others = `select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'pawl' and pid <> pg_backend_pid()`
  const [answer] = await connection.run([ask(others)])
  await connection.close()
  return answer?.rows.length ?? 0
}

describe('a listener', () => {
  it('passes notifications on, in order', async () => {
    const heard = await listening()
    await notify('one')
    await notify('')
    expect([await heard.next(), await heard.next()]).toEqual(['heard one', 'heard '])
  })

  it('says that there was a gap when its backend was terminated, and listens again', async () => {
    const heard = await listening()
    for (const round of ['first', 'second']) {
      expect(await terminateAllOthers()).toBe(1)
      expect(await heard.next()).toBe('gap')
      await notify(round)
      expect(await heard.next()).toBe(`heard ${round}`)
    }
  })

  it('comes back when the server does', async () => {
    const heard = await listening()
    await server.stop('immediate')
    expect(await reasonOf(notify('nobody'))).toBe('unreachable')
    await server.restart()
    expect(await heard.next()).toBe('gap')
    await notify('again')
    expect(await heard.next()).toBe('heard again')
  })

  it('is quiet once it is closed, also while it waits for the server', async () => {
    const heard = await listening()
    await server.stop('immediate')
    await listener?.close()
    await server.restart()
    const other = await listening()
    await notify('open')
    expect(await other.next()).toBe('heard open')
    expect(await terminateAllOthers()).toBe(1)
    expect(await other.next()).toBe('gap')
    heard.say('nothing before')
    expect(await heard.next()).toBe('nothing before')
  })

  it('throws if the server was never there', async () => {
    const nowhere = {
      url: 'postgres://127.0.0.1:1/x',
      channel: 'x',
      onNotification: nothing,
      onGap: nothing,
    }
    expect(await reasonOf(new PostgresListener(nowhere).listen())).toBe('unreachable')
  })
})
