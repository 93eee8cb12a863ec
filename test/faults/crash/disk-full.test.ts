/**
 * A full disk refuses new work and nothing else: once on a simulated disk, and once on a small
 * real one, where one can be mounted.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Command } from '../../../src/kernel/index.ts'
import { DiskFull, realDisk } from '../../../src/log/index.ts'
import type { DirectoryStore } from '../../../src/store/directory/directory-store.ts'
import type { DirectoryOptions } from '../../../src/store/directory/open-directory.ts'
import { openDirectory } from '../../../src/store/directory/open-directory.ts'
import type { Claimed } from '../../../src/store/store.ts'
import { SimDisk } from '../sim/sim-disk.ts'
import { plain } from '../../support/specs.ts'
import { SmallDisk } from './small-disk.ts'

/** A disk that can be filled. */
interface Ground {
  readonly folder: string
  readonly options: DirectoryOptions
  fill(): Promise<void>
  makeRoom(): Promise<void>
  /** Names of all files of the store. */
  names(): Promise<string[]>
  /** Names and bytes of the log and its mark. */
  logFiles(): Promise<Map<string, string>>
}

const SIZES = { segmentBytes: 128 * 1_024, reserveBytes: 32 * 1_024 }
const LOG_FILE = /^(?:log-.*|MARK)$/
const CHANNELS = [{ queue: 'default', type: 'test', stage: null }]
const WORKER = 'worker'
const NO_ROOM = /no space left|no room/i

function simulated(): Ground {
  const disk = new SimDisk()
  return {
    folder: '/store',
    options: { ...SIZES, disk, own: async () => ({ release: async () => undefined }) },
    async fill() {
      disk.capacity = disk.used
    },
    async makeRoom() {
      disk.capacity = Infinity
    },
    async names() {
      return disk.list('/store')
    },
    async logFiles() {
      const paths = disk.paths().filter((path) => LOG_FILE.test(path.slice('/store/'.length)))
      return new Map(paths.map((path) => [path, disk.bytesOf(path).toString('latin1')]))
    },
  }
}

let stories = 0

function real(disk: SmallDisk): Ground {
  stories += 1
  const folder = join(disk.path, `store-${stories}`)
  return {
    folder,
    options: SIZES,
    fill: () => disk.fill(),
    makeRoom: () => disk.makeRoom(),
    names: () => readdir(folder),
    async logFiles() {
      const names = (await readdir(folder)).filter((name) => LOG_FILE.test(name))
      const bytes = names.map(
        async (name) => [name, await readFile(join(folder, name), 'latin1')] as const,
      )
      return new Map(await Promise.all(bytes))
    },
  }
}

/** A store, and everything that it acknowledged. */
class Story {
  readonly ground: Ground
  store!: DirectoryStore
  readonly submitted: string[] = []
  readonly refused: string[] = []
  readonly committed = new Map<string, string>()

  constructor(ground: Ground) {
    this.ground = ground
  }

  async open(): Promise<void> {
    this.store = await openDirectory(this.ground.folder, this.ground.options)
  }

  async submit(job: string, chars = 1_000): Promise<void> {
    const spec = plain({ input: JSON.stringify('.'.repeat(chars)) })
    try {
      const [answer] = await this.store.execute([{ type: 'SubmitJob', job, spec }])
      expect(answer?.verdict).toBe('committed')
      this.submitted.push(job)
    } catch (error) {
      this.refused.push(job)
      throw error
    }
  }

  /** One after the other, until there is no more room. Why there is none. */
  async submitUntilFull(name: string): Promise<unknown> {
    for (let i = 0; ; i++) {
      const error = await this.submit(`${name}-${i}`).then(
        () => null,
        (reason: unknown) => reason,
      )
      if (error !== null) return error
    }
  }

  async claim(max: number, request = 1): Promise<readonly Claimed[]> {
    const claim = { worker: WORKER, request, channels: CHANNELS, max, started: true }
    return this.store.claim(claim)
  }

  async commit({ job, stage, segment, lease }: Claimed, chars = 200): Promise<void> {
    const output = JSON.stringify(`${job}${'.'.repeat(chars)}`)
    const address = { job, stage, segment, lease, worker: WORKER }
    const command: Command = { type: 'CommitExecution', ...address, output, effects: [] }
    const [answer] = await this.store.execute([command])
    expect(answer?.verdict).toBe('committed')
    this.committed.set(job, output)
  }

  /** Everything that was acknowledged is there, and nothing of what was refused. */
  async expectAll(): Promise<void> {
    for (const job of this.submitted) {
      const view = await this.store.query({ kind: 'job', job })
      expect(view?.job.id).toBe(job)
      expect(view?.job.task?.output ?? null).toBe(this.committed.get(job) ?? null)
    }
    for (const job of this.refused) {
      if (this.submitted.includes(job)) continue
      expect(await this.store.query({ kind: 'job', job })).toBe(null)
    }
    const { jobs } = await this.store.query({ kind: 'jobs', limit: 100_000 })
    expect(jobs.map(({ id }) => id).toSorted()).toEqual(this.submitted.toSorted())
  }

  async reopen(): Promise<void> {
    await this.store.close()
    await this.open()
  }
}

function isFresh(names: readonly string[]): boolean {
  return names.includes('spare') && names.filter((name) => name.startsWith('log-')).length === 2
}

function expectDiskFull(error: unknown, folder: string): void {
  expect(error).toBeInstanceOf(DiskFull)
  expect(error).toMatchObject({ code: 'DiskFull', kind: 'retryable', details: { folder } })
  expect((error as DiskFull).message).toMatch(
    /There is no room for \d+ more bytes in .*Nothing of this call happened: make room on the disk and try again/,
  )
}

function rules(groundOf: () => Ground): void {
  let story: Story

  beforeEach(async () => {
    story = new Story(groundOf())
    await story.open()
  })

  afterEach(async () => {
    await story.ground.makeRoom()
    await story.store.close().catch(() => undefined)
  })

  it('refuses new work, and says what to do; nothing of it happened', async () => {
    await story.submit('first')
    await story.ground.fill()
    expectDiskFull(await story.submitUntilFull('more'), story.ground.folder)
    await story.expectAll()
    await story.ground.makeRoom()
    await story.reopen()
    await story.expectAll()
  })

  it('refuses what comes at the same time one by one, and goes on', async () => {
    await story.submit('first')
    await story.ground.fill()
    await story.submitUntilFull('more')
    const calls = Array.from({ length: 200 }, (_, i) => story.submit(`crowd-${i}`))
    for (const call of await Promise.allSettled(calls)) {
      if (call.status === 'rejected') expectDiskFull(call.reason, story.ground.folder)
    }
    await story.ground.makeRoom()
    await story.submit('later')
    await story.expectAll()
  })

  it('does not take more at the same time than there is room for', async () => {
    for (let i = 0; i < 20; i++) await story.submit(`first-${i}`)
    const leases = await story.claim(20)
    // A segment that has just begun, and the next one is ready: those who wait will find room.
    for (let i = 0, names: string[] = []; !isFresh(names); i++) {
      await story.submit(`second-${i}`)
      names = await story.ground.names()
    }
    await story.ground.fill()
    const calls = Array.from({ length: 600 }, (_, i) => story.submit(`crowd-${i}`))
    const settled = await Promise.allSettled(calls)
    const refused = settled.filter((call) => call.status === 'rejected')
    expect(refused.length).toBeGreaterThan(0)
    for (const { reason } of refused) expectDiskFull(reason, story.ground.folder)
    for (const lease of leases) await story.commit(lease)
    await story.expectAll()
  })

  it('lets work that runs be committed from the reserve, and everything be read', async () => {
    for (let i = 0; i < 20; i++) await story.submit(`first-${i}`)
    const leases = await story.claim(20)
    expect(leases).toHaveLength(20)
    await story.ground.fill()
    await story.submitUntilFull('more')
    for (const lease of leases) await story.commit(lease)
    expectDiskFull(await story.submitUntilFull('still'), story.ground.folder)
    const history = await story.store.query({ kind: 'history', job: 'first-0', limit: 10 })
    expect(history.map(({ entry }) => entry.type)).toEqual([
      'JobSubmitted',
      'LeaseGranted',
      'ExecutionCommitted',
    ])
    await story.expectAll()
  })

  it('goes on when there is room again, without being opened anew', async () => {
    await story.ground.fill()
    const error = await story.submitUntilFull('before')
    expectDiskFull(error, story.ground.folder)
    const again = story.refused.at(-1) as string
    await expect(story.submit(again)).rejects.toBeInstanceOf(DiskFull)
    await story.ground.makeRoom()
    await story.submit(again)
    for (let i = 0; i < 300; i++) await story.submit(`after-${i}`)
    await story.expectAll()
    await story.reopen()
    await story.expectAll()
  })

  it('refuses reports too when the reserve is used up, and takes them later', async () => {
    for (let i = 0; i < 100; i++) await story.submit(`first-${i}`)
    const leases = await story.claim(100)
    await story.ground.fill()
    await story.submitUntilFull('more')
    let refused: Claimed | null = null
    for (const lease of leases) {
      const error: unknown = await story.commit(lease, 5_000).then(
        () => null,
        (reason: unknown) => reason,
      )
      if (error === null) continue
      expectDiskFull(error, story.ground.folder)
      refused = lease
      break
    }
    expect(refused).not.toBe(null)
    await story.expectAll()
    await story.ground.makeRoom()
    for (const lease of leases) if (!story.committed.has(lease.job)) await story.commit(lease)
    await story.reopen()
    await story.expectAll()
  })

  it('is opened, or not, with a clear word; nothing is damaged', async () => {
    for (let i = 0; i < 30; i++) await story.submit(`first-${i}`)
    const leases = await story.claim(5)
    for (const lease of leases) await story.commit(lease)
    await story.store.close()
    await story.ground.fill()
    const before = await story.ground.logFiles()
    const opened = await story.open().then(
      () => null,
      (reason: unknown) => reason,
    )
    if (opened === null) {
      await story.expectAll()
      await story.submitUntilFull('more')
      await story.store.close()
    } else {
      expect((opened as Error).message).toMatch(NO_ROOM)
      expect(await story.ground.logFiles()).toEqual(before)
    }
    await story.ground.makeRoom()
    await story.open()
    await story.expectAll()
    await story.submit('after')
  })

  it('makes no new store, and says why; it does when there is room', async () => {
    const folder = `${story.ground.folder}-new`
    // There already: Node says of one that cannot be made for lack of room that it does not exist.
    await (story.ground.options.disk ?? realDisk).makeFolder(folder)
    await story.ground.fill()
    await expect(openDirectory(folder, story.ground.options)).rejects.toThrow(NO_ROOM)
    await story.ground.makeRoom()
    const store = await openDirectory(folder, story.ground.options)
    await store.execute([{ type: 'SubmitJob', job: 'a', spec: plain() }])
    await store.close()
  })
}

describe('a simulated disk that is full', () => {
  rules(simulated)
})

describe('a checkpoint on a simulated disk that is full', () => {
  it('is given up, whatever the room: the store goes on', async () => {
    const ground = simulated()
    const failed: string[] = []
    const story = new Story({
      ...ground,
      options: {
        ...ground.options,
        checkpointBytes: 16 * 1_024,
        onNotice: ({ kind }) => void failed.push(kind),
      },
    })
    await story.open()
    for (let i = 0; i < 100; i++) await story.submit(`first-${i}`)
    const leases = await story.claim(100)
    await ground.fill()
    expectDiskFull(await story.submitUntilFull('more'), ground.folder)
    for (const lease of leases) {
      const error: unknown = await story.commit(lease, 300).then(
        () => null,
        (reason: unknown) => reason,
      )
      if (error !== null) expectDiskFull(error, ground.folder)
    }
    expect(failed).toContain('checkpoint-failed')
    await story.expectAll()
    await ground.makeRoom()
    for (const lease of leases) if (!story.committed.has(lease.job)) await story.commit(lease)
    await story.reopen()
    await story.expectAll()
    await story.store.close()
  })
})

// Only tried here: what is mounted while tests are collected stays if none of them is run.
const tried = await SmallDisk.mount()
if (typeof tried === 'string') console.log(`Only simulated: ${tried}`)
else await tried.unmount()

describe.skipIf(typeof tried === 'string')('a small real disk that is full', () => {
  let disk: SmallDisk

  beforeAll(async () => {
    disk = (await SmallDisk.mount()) as SmallDisk
    console.log(`On ${disk.kind}.`)
  })

  afterAll(async () => {
    await disk.unmount()
  })

  rules(() => real(disk))
})
