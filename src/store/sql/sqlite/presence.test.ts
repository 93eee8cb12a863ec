import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { freshFile } from '../../../../test/support/sqlite.ts'
import type { StoreNotice } from '../../notice.ts'
import { HEARD_WITHIN_MS } from '../../presence.ts'
import { SqlitePresence } from './presence.ts'

let folder: string
let notices: StoreNotice[]
let opened: SqlitePresence[]
let now: number

beforeEach(async () => {
  folder = `${await freshFile()}-presence`
  notices = []
  opened = []
  now = 1_000_000
})

afterEach(async () => {
  for (const one of opened) await one.close()
})

function presence(): SqlitePresence {
  const made = new SqlitePresence(folder, {
    run: () => Promise.reject(new Error('not used')),
    now: () => now,
    listen: () => undefined,
    onNotice: (notice) => notices.push(notice),
  })
  opened.push(made)
  return made
}

it('what one says is heard by the others, and the newest report of a job counts', async () => {
  const [a, b] = [presence(), presence()]
  await a.say('one', [{ job: 'j', saidAt: 5, text: 'new' }])
  await b.say('two', [{ job: 'j', saidAt: 4, text: 'old' }])
  expect((await b.heard(true)).map(({ text }) => text).toSorted()).toEqual(['one', 'two'])
  expect(await b.reportOf('j')).toEqual({ job: 'j', saidAt: 5, text: 'new' })
  expect(await b.reportOf('k')).toBe(null)
  await a.close()
  expect((await b.heard(false)).map(({ text }) => text)).toEqual(['two'])
})

it('what was forgotten about a job is not said again by another process, and a later job of its id is', async () => {
  const [a, b] = [presence(), presence()]
  await a.say('one', [{ job: 'j', saidAt: 5, text: 'secret' }])
  await b.forgetReport('j', 9)
  await a.say('one', [{ job: 'j', saidAt: 8, text: 'secret' }])
  expect(await b.reportOf('j')).toEqual({ job: 'j', saidAt: 9, text: '' })
  await a.say('one', [{ job: 'j', saidAt: 10, text: 'another' }])
  expect(await b.reportOf('j')).toEqual({ job: 'j', saidAt: 10, text: 'another' })
})

it('one that was not heard for long is not shown', async () => {
  const [a, b] = [presence(), presence()]
  await a.say('one', [])
  now += HEARD_WITHIN_MS + 1
  expect(await b.heard(false)).toEqual([])
})

it('a file that is no database is begun anew', async () => {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'presence.db'), 'this is no database at all, but a text'.repeat(100))
  const a = presence()
  await expect(a.say('one', [])).rejects.toThrow()
  await a.say('two', [])
  expect((await a.heard(false)).map(({ text }) => text)).toEqual(['two'])
})

it('a process whose folder cannot be made has no session, and says so', async () => {
  await writeFile(folder, 'a file in its place')
  const a = presence()
  await a.begin()
  expect(a.session).toBe('')
  expect(notices).toMatchObject([{ kind: 'no-presence' }])
  expect(await a.dead()).toBe(null)
})

it('a session is there once its file is locked', async () => {
  const a = presence()
  expect(a.session).toBe('')
  await a.begin()
  expect(a.session).toBe(a.name)
  expect(existsSync(join(folder, `${a.name}.lock`))).toBe(true)
})

it('what is asked of a worker is read by its process along with the look for dead ones, while it lives', async () => {
  const [a, b] = [presence(), presence()]
  await a.begin()
  await a.say('one', [])
  expect(await b.ask(a.name, 'mill', 'drain')).toBe(true)
  expect(await b.ask('another process', 'mill', 'drain')).toBe(false)
  await a.dead()
  const { asked } = a
  expect([...asked]).toEqual([['mill', 'drain']])
  await b.say('two', [])
  await a.dead()
  expect(a.asked).toBe(asked)
  expect(await b.ask(a.name, 'mill', 'resume')).toBe(true)
  await a.dead()
  expect([...a.asked]).toEqual([['mill', 'resume']])
  await a.close()
  expect(await b.ask(a.name, 'mill', 'drain')).toBe(false)
})

it('its statements name no parameters by number: the SQLite of Node 22 does not know them', async () => {
  const text = await readFile(new URL('presence.ts', import.meta.url), 'utf8')
  expect(text).not.toMatch(/\?\d/)
})
