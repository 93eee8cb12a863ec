/**
 * A store that has lived a while: random commands that make sense, checkpoints, reopenings. On
 * a simulated disk, closed, and ready to be damaged.
 */
import type { Entry, World } from '../../../src/kernel/index.ts'
import { redactJob, redactTask } from '../../../src/kernel/index.ts'
import { Group } from '../../../src/log/writer/group.ts'
import {
  encodeSegmentHead,
  FORMAT,
  SEGMENT_HEAD,
  segmentName,
} from '../../../src/log/format/format.ts'
import { decodeEntry, Interning, readLog, MARKER_CODE } from '../../../src/log/index.ts'
import { replaceMark } from '../../../src/log/segments/durable-mark.ts'
import type {
  ChannelName,
  DirectoryStore,
  OfflineOptions,
  PositionedEntry,
} from '../../../src/store/index.ts'
import { Ledger, openDirectory } from '../../../src/store/index.ts'
import type { Dice } from '../../model/properties/dice.ts'
import { plausibleCommand } from '../../model/properties/plausible.ts'
import { SimDisk } from '../sim/sim-disk.ts'

export const FOLDER = '/store'

const CHANNELS: readonly ChannelName[] = ['left', 'right'].flatMap((queue) =>
  ['red', 'blue'].map((type) => ({ queue, type, stage: null })),
)

export interface Growth {
  readonly steps: number
  /** In how many of 100 steps a checkpoint is made. */
  readonly checkpoints: number
  /** In how many of 100 steps it is closed and opened. */
  readonly openings: number
  /** How long history stays; Infinity unless told. */
  readonly historyMs?: number
}

/** Whoever asks owns the folder: that there is one owner is tested elsewhere. */
export function offline(disk: SimDisk): OfflineOptions & { disk: SimDisk } {
  return { disk, own: async () => ({ release: async () => undefined }) }
}

export async function openOn(
  disk: SimDisk,
  historyMs = Infinity,
  now: () => number = () => 1_000,
): Promise<DirectoryStore> {
  return openDirectory(FOLDER, {
    ...offline(disk),
    clock: { now },
    segmentBytes: 16 * 1_024,
    checkpointBytes: Infinity,
    historyMs,
    onNotice: (notice) => {
      if (notice.kind === 'checkpoint-failed') throw notice.error
    },
  })
}

/** A store in the making, and a ledger beside it that knows what is there. */
export class Growing {
  readonly disk: SimDisk
  readonly model = new Ledger()
  readonly #dice: Dice
  readonly #historyMs: number
  now = 1_000
  count = 0
  store!: DirectoryStore

  constructor(disk: SimDisk, dice: Dice, historyMs: number) {
    this.disk = disk
    this.#dice = dice
    this.#historyMs = historyMs
  }

  async open(): Promise<void> {
    this.store = await openOn(this.disk, this.#historyMs, () => this.now)
  }

  async step(): Promise<void> {
    const dice = this.#dice
    this.count += 1
    if (dice.chance(30)) this.now += dice.below(12)
    if (dice.chance(5)) return this.#claim()
    const command = plausibleCommand(dice, this.model.world, this.now, this.count)
    await this.store.execute([command])
    this.model.perform(command, this.now)
  }

  async #claim(): Promise<void> {
    const dice = this.#dice
    const request = this.count
    const worker = dice.pick(['w1', 'w2'])
    const started = dice.chance(50)
    const leases = await this.store.claim({ worker, request, channels: CHANNELS, max: 2, started })
    for (const { job, stage, segment } of leases) {
      const grant = { type: 'GrantLease', job, stage, segment, worker, request, started } as const
      this.model.perform(grant, this.now)
    }
  }
}

export async function grown(dice: Dice, growth: Growth): Promise<SimDisk> {
  const growing = new Growing(new SimDisk(), dice, growth.historyMs ?? Infinity)
  await growing.open()
  for (let step = 0; step < growth.steps; step++) {
    await growing.step()
    if (dice.chance(growth.checkpoints)) await growing.store.checkpoint()
    if (!dice.chance(growth.openings)) continue
    await growing.store.close()
    await growing.open()
  }
  await growing.store.close()
  return growing.disk
}

/** The names of files of one kind, oldest first. */
export function filesOn(disk: SimDisk, kind: 'log' | 'live' | 'finished' | 'checkpoint'): string[] {
  return disk.paths().filter((path) => path.startsWith(`${FOLDER}/${kind}-`))
}

/** Changes one bit of a file. */
export function flip(disk: SimDisk, path: string, at: number): void {
  const byte = disk.bytesOf(path)[at] as number
  disk.patch(path, at, Buffer.from([byte ^ 4]))
}

/** A log of one segment with these entries, each in a group of its own, all of it well-formed. */
export async function forged(entries: readonly Entry[]): Promise<SimDisk> {
  const disk = new SimDisk()
  const storeId = 'f0'.repeat(16)
  const groups: Buffer[] = []
  const last = new Map<string, number>()
  let [position, link, offset] = [0, 0, SEGMENT_HEAD]
  for (const entry of entries) {
    const group = new Group()
    group.begin(position, link)
    const job = 'job' in entry ? entry.job : ''
    const at = group.add(entry, last.get(job) ?? 0)
    if (job !== '') last.set(job, at)
    groups.push(Buffer.from(group.seal(offset)))
    offset += group.bytes
    ;({ end: position, link } = group)
  }
  const size = offset + 4_096
  const head = { format: FORMAT, base: 0, link: 0, size, storeId, begunAt: 0 }
  const bytes = Buffer.alloc(size)
  encodeSegmentHead(head).copy(bytes)
  Buffer.concat(groups).copy(bytes, SEGMENT_HEAD)
  disk.put(`${FOLDER}/${segmentName(0)}`, bytes)
  await replaceMark(disk, FOLDER, storeId, position)
  return disk.clone()
}

/** Every entry that a log has, in order. */
export async function entriesOn(disk: SimDisk): Promise<PositionedEntry[]> {
  const entries: PositionedEntry[] = []
  const interning = new Interning()
  const begin = Number.parseInt(filesOn(disk, 'log')[0]?.slice(-16) ?? '0', 16)
  await readLog(disk, FOLDER, begin, ({ code, length, version }, position, bytes, body) => {
    if (code === MARKER_CODE) return
    const { entry } = decodeEntry(bytes, body, length, code, version, position, interning)
    entries.push({ position, entry })
  })
  return entries
}

/** A world without what entries behind it erase: of a job that is there, not of a later one with its id. */
export function withoutErased(world: World, later: readonly PositionedEntry[]): World {
  const reused = new Set<string>()
  for (const { entry } of later) {
    if (entry.type === 'JobSubmitted') reused.add(entry.job)
    const job = entry.type === 'JobErased' ? world.jobs.get(entry.job) : undefined
    if (job === undefined || reused.has(job.id)) continue
    redactJob(job)
    for (const task of world.tasks.get(job.id)?.flat() ?? []) if (task !== null) redactTask(task)
  }
  return world
}

/** A world as plain data, where entries stand left out: the kernel alone knows nothing of that. */
export function plainWorld({ jobs, tasks, queues, schedules }: World): unknown {
  return {
    jobs: [...jobs].map(([id, job]) => [id, { ...job, firstPosition: 0, lastPosition: 0 }]),
    tasks: [...tasks].toSorted(([a], [b]) => (a < b ? -1 : 1)),
    queues: [...queues].toSorted(([a], [b]) => (a < b ? -1 : 1)),
    schedules: [...schedules].toSorted(([a], [b]) => (a < b ? -1 : 1)),
  }
}
