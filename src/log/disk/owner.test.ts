import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Reply, Request } from '../../../test/faults/crash/owner-child.ts'
import { buildFiles, removeBuilt } from '../../../test/support/built.ts'
import type { Owner } from './owner.ts'
import { DirectoryInUse, DirectoryNotUsable, takeOwnership } from './owner.ts'
import { openSqlite, withoutSqliteNotice } from './sqlite-driver.ts'

const SINCE = Date.UTC(2026, 0, 2, 3, 4, 5)
const ME = { pid: process.pid, host: hostname(), since: SINCE }

/** A process that takes folders on request. */
class Other {
  readonly #process: ChildProcess
  readonly ready: Promise<unknown>
  /** It is not as it was at the start, and must not serve another test. */
  spoiled = false
  #errors = ''

  constructor() {
    this.#process = fork(join(built, 'owner-child.js'), {
      execArgv: ['--expose-gc'],
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    })
    this.#process.stderr?.on('data', (bytes: Buffer) => {
      this.#errors += bytes.toString()
    })
    this.ready = once(this.#process, 'message')
  }

  get pid(): number {
    return this.#process.pid as number
  }

  async ask(request: Request): Promise<Reply> {
    if (request.ask === 'take and forget' || request.ask === 'become nobody') this.spoiled = true
    this.#process.send(request)
    const [reply] = (await once(this.#process, 'message')) as [Reply]
    return reply
  }

  take(folder: string): Promise<Reply> {
    return this.ask({ ask: 'take', folder })
  }

  /** Until it is gone. Nothing was ever printed as an error. */
  async end(signal: NodeJS.Signals): Promise<void> {
    this.#process.kill(signal)
    await once(this.#process, 'close')
    expect(this.#errors).toBe('')
  }
}

let built: string
let folder: string
let owners: Owner[]
/** Those that take part in the test, and those that wait for one: starting them takes time. */
let busy: Other[] = []
const idle: Other[] = []

beforeAll(async () => {
  built = await buildFiles({
    'owner-child': 'test/faults/crash/owner-child.ts',
    owner: 'src/log/disk/owner.ts',
  })
})

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-owner-'))
  owners = []
})

afterEach(async () => {
  for (const other of busy) {
    if (other.spoiled) await other.end('SIGTERM')
    else {
      await other.ask({ ask: 'release' })
      idle.push(other)
    }
  }
  busy = []
  await Promise.all(owners.map((owner) => owner.release()))
  await rm(folder, { recursive: true, force: true })
})

afterAll(async () => {
  await Promise.all(busy.concat(idle).map((other) => other.end('SIGTERM')))
  await removeBuilt(built)
})

async function another(): Promise<Other> {
  const other = idle.pop() ?? new Other()
  busy.push(other)
  await other.ready
  return other
}

async function endOf(other: Other, signal: NodeJS.Signals): Promise<void> {
  busy = busy.filter((one) => one !== other)
  await other.end(signal)
}

async function take(note = ME): Promise<Owner> {
  const owner = await takeOwnership(folder, note)
  owners.push(owner)
  return owner
}

async function refusal(): Promise<unknown> {
  return take().then(
    () => 'taken',
    (error: unknown) => error,
  )
}

describe('a folder that is held', () => {
  it('is refused a second time in the same process, which does not loosen the first', async () => {
    await take()
    const error = (await refusal()) as DirectoryInUse
    expect(error).toBeInstanceOf(DirectoryInUse)
    expect(error).toMatchObject({ code: 'DirectoryInUse', kind: 'rejected' })
    expect(error.details).toEqual({ folder, ...ME })
    expect(error.message).toContain(folder)
    expect(error.message).toContain(
      `process ${process.pid} on host ${hostname()} since 2026-01-02T03:04:05.000Z`,
    )
    expect(error.message).toContain('close it there, or end that process')

    const other = await another()
    expect(await other.take(folder)).toMatchObject({ ok: false, code: 'DirectoryInUse' })
  })

  it('is refused in another process, at once, by the name of its owner', async () => {
    const [first, second] = await Promise.all([another(), another()])
    expect(await first.take(folder)).toEqual({ ok: true })
    const before = performance.now()
    const reply = await second.take(folder)
    expect(performance.now() - before).toBeLessThan(1000)
    expect(reply).toMatchObject({
      ok: false,
      code: 'DirectoryInUse',
      details: { pid: first.pid, host: hostname() },
    })
    expect((reply as { message: string }).message).toContain(
      `process ${first.pid} on host ${hostname()} since 20`,
    )
  })

  it.each([
    ['missing', null],
    ['cut off', '{"pid":1,"ho'],
    ['not an object', 'null'],
    ['of other types', '{"pid":"1","host":2,"since":null}'],
    ['without a real date', '{"pid":1,"host":"a","since":1e300}'],
  ])('is refused when OWNER is %s: the owner is unknown', async (_, text) => {
    await take()
    await (text === null ? rm(join(folder, 'OWNER')) : writeFile(join(folder, 'OWNER'), text))
    const error = (await refusal()) as DirectoryInUse
    expect(error).toBeInstanceOf(DirectoryInUse)
    expect(error.details).toEqual({ folder, pid: null, host: null, since: null })
    expect(error.message).toContain('unknown owner')
  })

  it('stays held when a thread of its owner ends, even one that tried to take it', async () => {
    const [first, second] = await Promise.all([another(), another()])
    expect(await first.take(folder)).toEqual({ ok: true })
    expect(await first.ask({ ask: 'take in a thread', folder })).toMatchObject({
      ok: false,
      code: 'DirectoryInUse',
    })
    expect(await second.take(folder)).toMatchObject({ ok: false, code: 'DirectoryInUse' })
  })

  it('stays held when a child of its owner ends, even one that tried to take it', async () => {
    await take()
    const [child, second] = await Promise.all([another(), another()])
    expect(await child.take(folder)).toMatchObject({ ok: false, code: 'DirectoryInUse' })
    await endOf(child, 'SIGTERM')
    expect(await second.take(folder)).toMatchObject({ ok: false, code: 'DirectoryInUse' })
  })

  it('stays held when its owner lists it and reads the note', async () => {
    await take()
    expect(await readdir(folder, { withFileTypes: true })).toHaveLength(2)
    expect(JSON.parse(await readFile(join(folder, 'OWNER'), 'utf8'))).toEqual(ME)
    const other = await another()
    expect(await other.take(folder)).toMatchObject({ ok: false, code: 'DirectoryInUse' })
  })

  it('stays held when nothing in its owner refers to the lock any more', async () => {
    const [first, second] = await Promise.all([another(), another()])
    expect(await first.ask({ ask: 'take and forget', folder })).toEqual({ ok: true })
    expect(await second.take(folder)).toMatchObject({ ok: false, code: 'DirectoryInUse' })
  })

  it('has only two files more than before, and one of them after the release', async () => {
    const owner = await take()
    expect((await readdir(folder)).toSorted()).toEqual(['LOCK', 'OWNER'])
    await owner.release()
    expect(await readdir(folder)).toEqual(['LOCK'])
    expect(await readFile(join(folder, 'LOCK'), 'utf8')).toBe('')
  })
})

describe('a folder that is free', () => {
  it('can be taken by any process after the release, which can be asked for twice', async () => {
    const owner = await take()
    await Promise.all([owner.release(), owner.release()])
    const other = await another()
    expect(await other.take(folder)).toEqual({ ok: true })
    // It must not touch what is another's by now.
    await owner.release()
    expect(await refusal()).toMatchObject({ details: { pid: other.pid } })
    expect(await other.ask({ ask: 'release' })).toEqual({ ok: true })
    await take()
  })

  it('can be taken at once when its owner was killed, twenty times in a row', async () => {
    // Some are started ahead, to save time.
    const ahead = [another(), another(), another()]
    for (let round = 0; round < 20; round++) {
      if (round + ahead.length < 20) ahead.push(another())
      const other = (await ahead.shift()) as Other
      expect(await other.take(folder)).toEqual({ ok: true })
      await endOf(other, 'SIGKILL')
      // What the dead one left; its number now belongs to no process, or to another one.
      expect(JSON.parse(await readFile(join(folder, 'OWNER'), 'utf8'))).toMatchObject({
        pid: other.pid,
      })
      expect((await readdir(folder)).toSorted()).toEqual(['LOCK', 'OWNER'])
      const owner = await take()
      await owner.release()
    }
  })

  it.each([
    ['a living process', { pid: 1, host: hostname(), since: SINCE }],
    ['this very process', ME],
    ['another host', { pid: process.pid, host: 'elsewhere.example', since: SINCE }],
    ['the future', { pid: 1, host: hostname(), since: 8e15 }],
  ])('can be taken although OWNER names %s', async (_, note) => {
    await writeFile(join(folder, 'LOCK'), '')
    await writeFile(join(folder, 'OWNER'), JSON.stringify(note))
    await writeFile(join(folder, 'OWNER.new'), 'left by a crash')
    await take({ ...ME, since: 7 })
    expect(JSON.parse(await readFile(join(folder, 'OWNER'), 'utf8'))).toEqual({ ...ME, since: 7 })
  })

  it('can be taken while another is on its way to the lock but has not got it', async () => {
    const late = openSqlite(join(folder, 'LOCK'))
    try {
      late.exec('BEGIN; SELECT * FROM sqlite_schema')
      const other = await another()
      expect(await other.take(folder)).toEqual({ ok: true })
    } finally {
      late.close()
    }
  })

  it('can be taken by a path that looks like an address', async () => {
    const back = process.cwd()
    await mkdir(join(folder, 'file:x'))
    process.chdir(folder)
    try {
      owners.push(await takeOwnership('file:x', ME))
      expect((await readdir('file:x')).toSorted()).toEqual(['LOCK', 'OWNER'])
    } finally {
      process.chdir(back)
    }
  })

  it('has exactly one winner when two come at the same time, fifty times', async () => {
    const racers = await Promise.all([another(), another()])
    for (let round = 0; round < 50; round++) {
      // A new folder every other time, so that creating LOCK is part of the race.
      const goal = join(folder, `goal-${round - (round % 2)}`)
      await mkdir(goal, { recursive: true })
      const at = Date.now() + 5
      const replies = await Promise.all(
        racers.map((racer) => racer.ask({ ask: 'take', folder: goal, at })),
      )
      expect(replies.filter((reply) => reply.ok)).toHaveLength(1)
      expect(replies.find((reply) => !reply.ok)).toMatchObject({ code: 'DirectoryInUse' })
      const winner = racers[replies[0]?.ok === true ? 0 : 1]
      expect(await winner?.ask({ ask: 'release' })).toEqual({ ok: true })
    }
  })
})

describe('a folder that cannot be used', () => {
  it('is refused if it does not exist', async () => {
    await rm(folder, { recursive: true })
    const error = (await refusal()) as DirectoryNotUsable
    expect(error).toBeInstanceOf(DirectoryNotUsable)
    expect(error).toMatchObject({ code: 'DirectoryNotUsable', kind: 'rejected' })
    expect(error.message).toBe(
      `The folder ${folder} cannot be used: it does not exist. Create it first.`,
    )
    expect(error.cause).toMatchObject({ code: 'ENOENT' })
  })

  it('is refused if it is a file', async () => {
    await rm(folder, { recursive: true })
    await writeFile(folder, '')
    expect(await refusal()).toMatchObject({
      code: 'DirectoryNotUsable',
      message: expect.stringContaining('it is not a folder') as string,
    })
  })

  it('is refused if it, or its LOCK, may not be written to', async () => {
    const other = await another()
    expect(await other.ask({ ask: 'become nobody' })).toEqual({ ok: true })
    await chmod(folder, 0o555)
    expect(await other.take(folder)).toMatchObject({ code: 'DirectoryNotUsable', cause: 'EACCES' })
    await writeFile(join(folder, 'LOCK'), '', { mode: 0o444 })
    await chmod(folder, 0o777)
    expect(await other.take(folder)).toMatchObject({
      code: 'DirectoryNotUsable',
      cause: 'ERR_SQLITE_ERROR',
    })
  })

  it.each([
    ['foreign bytes', 'not a lock'],
    ['a whole page of them', 'x'.repeat(4096)],
  ])('is refused if LOCK holds %s, which stay', async (_, text) => {
    await writeFile(join(folder, 'LOCK'), text)
    expect(await refusal()).toMatchObject({
      code: 'DirectoryNotUsable',
      message: expect.stringContaining('then remove LOCK and open the folder again') as string,
    })
    expect(await readFile(join(folder, 'LOCK'), 'utf8')).toBe(text)
    await rm(join(folder, 'LOCK'))
    await take()
  })

  it('is refused if LOCK is a folder', async () => {
    await mkdir(join(folder, 'LOCK'))
    expect(await refusal()).toMatchObject({
      code: 'DirectoryNotUsable',
      message: expect.stringContaining('its LOCK is not a file') as string,
    })
  })

  it.skipIf(!existsSync('/dev/full'))(
    'is refused, and left free, if the disk is full',
    async () => {
      await symlink('/dev/full', join(folder, 'OWNER.new'))
      expect(await refusal()).toMatchObject({
        code: 'DirectoryNotUsable',
        message: expect.stringContaining('OWNER cannot be written') as string,
        cause: { code: 'ENOSPC' },
      })
      await rm(join(folder, 'OWNER.new'))
      const other = await another()
      expect(await other.take(folder)).toEqual({ ok: true })
    },
  )
})

describe('the SQLite driver', () => {
  it('is loaded without its notice, but with all other warnings', () => {
    const emit = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    try {
      const result = withoutSqliteNotice(() => {
        process.emitWarning('SQLite is an experimental feature', 'ExperimentalWarning')
        process.emitWarning('another experiment', 'ExperimentalWarning')
        process.emitWarning('SQLite is old', 'DeprecationWarning')
        return 7
      })
      expect(result).toBe(7)
      process.emitWarning('SQLite is an experiment again', 'ExperimentalWarning')
      expect(emit.mock.calls).toEqual([
        ['another experiment', 'ExperimentalWarning'],
        ['SQLite is old', 'DeprecationWarning'],
        ['SQLite is an experiment again', 'ExperimentalWarning'],
      ])
    } finally {
      emit.mockRestore()
    }
  })
})
