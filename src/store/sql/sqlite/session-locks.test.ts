import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { SessionLocks } from './session-locks.ts'

let folder: string
let held: SessionLocks[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-locks-'))
  held = []
})

afterEach(async () => {
  for (const one of held) one.release()
  await rm(folder, { recursive: true, force: true })
})

function holding(session: string): SessionLocks {
  const locks = new SessionLocks(folder, session)
  locks.hold()
  held.push(locks)
  return locks
}

/** As a process leaves it that was killed: no lock is held, and the file is there. */
async function leave(session: string): Promise<void> {
  await writeFile(join(folder, `${session}.lock`), '')
}

it('a file is free once no process holds it, and one that is held is not', async () => {
  const a = holding('a')
  holding('b')
  await leave('c')
  expect(a.isFree('b')).toBe(false)
  expect(a.isFree('c')).toBe(true)
  // To ask did not free it.
  expect(a.isFree('b')).toBe(false)
})

it('of a file that is not there nothing is known, however often one asks', () => {
  const a = holding('a')
  expect(a.isFree('gone')).toBe(false)
  expect(a.isFree('gone')).toBe(false)
  expect(a.deadNeighbours()).toEqual([])
})

it('a process never asks about itself', () => {
  const a = holding('a')
  expect(a.isFree('a')).toBe(false)
  expect(a.deadNeighbours()).toEqual([])
})

it('each process finds the dead ones behind it, around the end, up to the first that lives', async () => {
  const b = holding('b')
  const d = holding('d')
  for (const session of ['a', 'c', 'e']) await leave(session)
  expect(b.deadNeighbours()).toEqual(['c'])
  expect(d.deadNeighbours()).toEqual(['e', 'a'])
})

it('a file that is being made is not there for others', async () => {
  const a = holding('a')
  await writeFile(join(folder, 'b.lock.new'), '')
  expect(a.list()).toEqual(['a'])
})

it('one that is closed leaves no file, and nothing is known of it', async () => {
  const a = holding('a')
  const b = holding('b')
  b.release()
  expect(await readdir(folder)).toEqual(['a.lock'])
  expect(a.deadNeighbours()).toEqual([])
})

it('a file that cannot be locked says nothing', async () => {
  const a = holding('a')
  await writeFile(join(folder, 'b.lock'), 'not a lock at all, and long enough to be read as one')
  expect(a.isFree('b')).toBe(false)
})
