/**
 * Places that cannot be opened: what the message says is wrong, and what to do. No message has a password.
 */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { SqlFailureReason } from '../../../src/store/sql/failures.ts'
import { open } from '../../../src/index.ts'
import { sharedPostgres } from '../../support/postgres.ts'

let folder = ''
let url = ''

beforeAll(async () => {
  url = await sharedPostgres()
  folder = mkdtempSync(join(tmpdir(), 'pawl-places-'))
  writeFileSync(join(folder, 'text.db'), 'something else '.repeat(100))
  mkdirSync(join(folder, 'photos'))
  for (const name of ['a.jpg', 'b.jpg', 'c.jpg', 'd.jpg']) {
    writeFileSync(join(folder, 'photos', name), '')
  }
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The URL of a server that is there, with something else in it. */
function changed(change: (url: URL) => void): () => string {
  return () => {
    const other = new URL(url)
    change(other)
    return other.href
  }
}

type Wrong = readonly [
  what: string,
  reason: SqlFailureReason,
  message: readonly string[],
  place: () => string,
]

const SECRET = 's3cret'

const SERVERS: readonly Wrong[] = [
  [
    'a port at which nothing listens',
    'unreachable',
    ['127.0.0.1:1/', 'ECONNREFUSED', 'the host and the port', 'waitFor'],
    changed((at) => (at.port = '1')),
  ],
  [
    'a host that does not exist',
    'unreachable',
    ['nowhere.invalid', 'the host and the port'],
    changed((at) => (at.hostname = 'nowhere.invalid')),
  ],
  [
    'a database that does not exist',
    'missing',
    ['"nowhere" does not exist', 'Create it', 'behind the last `/`'],
    changed((at) => (at.pathname = '/nowhere')),
  ],
  [
    'a wrong password',
    'denied',
    ['password authentication failed', '%40'],
    changed((at) => (at.password = SECRET)),
  ],
  [
    'TLS, of a server that has none',
    'denied',
    ['does not support SSL', '`?sslmode=disable`'],
    changed((at) => (at.search = '?sslmode=verify-full')),
  ],
  [
    'a misspelt sslmode',
    'unusable',
    ['`sslmode=requre`', 'verify-full'],
    changed((at) => (at.search = '?sslmode=requre')),
  ],
  [
    'a file of certificates that is not there',
    'denied',
    ['nowhere.pem', '`sslrootcert`'],
    changed((at) => (at.search = '?sslrootcert=/nowhere.pem')),
  ],
  [
    'a port that is none',
    'unusable',
    ['cannot be read', 'postgres://user:password@host:5432/database'],
    () => `postgres://app:${SECRET}@localhost:99999/db`,
  ],
  [
    'an `@` and a `/` in the password',
    'unusable',
    ['%40 for `@`', '%2F for `/`'],
    () => `postgres://app:a@${SECRET}/@localhost:5432/db`,
  ],
  [
    'a `#` in the password',
    'unusable',
    ['%23 for `#`'],
    () => `postgres://app:1#${SECRET}@localhost:5432/db`,
  ],
]

const FILES: readonly Wrong[] = [
  [
    'a file that is no database',
    'unusable',
    ['no SQLite database', 'Nothing was changed', 'another file'],
    () => `sqlite:${join(folder, 'text.db')}`,
  ],
  [
    'a folder that does not exist',
    'unusable',
    ['does not exist', 'Make it first'],
    () => `sqlite:${join(folder, 'no', 'jobs.db')}`,
  ],
  [
    'a folder',
    'unusable',
    ['it is a folder', 'photos/jobs.db', "without 'sqlite:'"],
    () => `sqlite:${join(folder, 'photos')}`,
  ],
  [
    'a path through a file',
    'unusable',
    ['text.db is no folder'],
    () => `sqlite:${join(folder, 'text.db', 'jobs.db')}`,
  ],
]

describe('a database', () => {
  it.each([...SERVERS, ...FILES])('%s: it says so', async (_, reason, message, place) => {
    const opening = open(place())
    const kind = reason === 'unreachable' ? 'retryable' : 'rejected'
    await expect(opening).rejects.toMatchObject({ code: 'SqlFailed', reason, kind })
    for (const part of message) await expect(opening).rejects.toThrow(part)
    await expect(opening).rejects.not.toThrow(SECRET)
    await expect(opening).rejects.not.toThrow(new URL(url).password)
    await expect(opening).rejects.not.toThrow(/commit arrived|tables are not there|a bug/)
  })

  it('that may not be written to says so', async () => {
    const place = join(folder, 'private')
    mkdirSync(place)
    await asNobody(place, async () => {
      const opening = open(`sqlite:${join(place, 'jobs.db')}`)
      await expect(opening).rejects.toMatchObject({ code: 'SqlFailed', reason: 'denied' })
      await expect(opening).rejects.toThrow('may not read and write it')
    })
  })
})

describe('a directory', () => {
  it.each([
    ['a file', ['it is a file', "'sqlite:…'"], () => join(folder, 'text.db')],
    ['a path through a file', ['is a file, and not a folder'], () => join(folder, 'text.db', 'x')],
    ['a name that is too long', ['too long'], () => join(folder, 'x'.repeat(300))],
    [
      'a folder of something else',
      ['a.jpg, b.jpg, c.jpg, and 1 more', 'no store', 'an empty folder'],
      () => join(folder, 'photos'),
    ],
  ])('that is %s is refused, and says so', async (_, message, place) => {
    const opening = open(place())
    await expect(opening).rejects.toMatchObject({ code: 'DirectoryNotUsable' })
    for (const part of message) await expect(opening).rejects.toThrow(part)
    expect(readdirSync(join(folder, 'photos'))).toEqual(['a.jpg', 'b.jpg', 'c.jpg', 'd.jpg'])
  })

  it('that may not be made, or written to, says so', async () => {
    const place = join(folder, 'locked')
    mkdirSync(place)
    await asNobody(place, async () => {
      for (const at of [place, join(place, 'data')]) {
        const opening = open(at)
        await expect(opening).rejects.toMatchObject({ code: 'DirectoryNotUsable' })
        await expect(opening).rejects.toThrow(/this process may (?:not make it|write to it)/)
      }
    })
  })

  it('with what a system leaves in a folder is taken', async () => {
    const place = join(folder, 'volume')
    mkdirSync(join(place, 'lost+found'), { recursive: true })
    writeFileSync(join(place, '.gitkeep'), '')
    await (await open(place)).close()
  })
})

/** Runs it as a user who may only read the place. */
async function asNobody(place: string, run: () => Promise<void>): Promise<void> {
  chmodSync(folder, 0o755)
  chmodSync(place, 0o555)
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(65_534)
  onTestFinished(() => {
    if (isRoot) process.seteuid?.(0)
    chmodSync(place, 0o755)
  })
  await run()
}
