/**
 * A process under load is killed at many points: nothing that was acknowledged is lost,
 * and nothing is there that nobody sent.
 *
 * One directory lives through many kills. After some of them it is opened and looked at right
 * here; after the others the next process finds what the killed one left, and may be killed
 * while it cleans up.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { realDisk } from '../../../src/log/index.ts'
import { openDirectory } from '../../../src/store/directory/open-directory.ts'
import { Dice } from '../../model/properties/dice.ts'
import { buildFiles, removeBuilt, THREADS } from '../../support/built.ts'
import type { DiskKind, LoadTask } from './kill-child.ts'
import type { Line } from './lines.ts'
import { parseLine } from './lines.ts'
import { STORE_OPTIONS } from './store-options.ts'
import { Witness } from './witness.ts'
import { IS_LONG } from '../../support/campaign.ts'

const SEED = Number(process.env['PAWL_SEED'] ?? 1)
const KILLS = IS_LONG ? 3_000 : 60
const KILLS_PER_DIRECTORY = Math.min(KILLS, 200)
/** Kills come when they come: a first directory that was not killed in all of these is killed on. */
const STAGES = ['opening', 'work', 'a change of segments', 'a checkpoint']
const MOST_KILLS_OF_FIRST = 400
/** Several times what it takes: other tests may run beside it. */
const MOST_MS = (KILLS + MOST_KILLS_OF_FIRST) * 2_000
/** About as many lines are said before a store is open, and while one checkpoint is made. */
const OPENING_LINES = 25
const CHECKPOINT_LINES = 600
const CHECKPOINT_BEGINS = 'open live-'

let base: string
const waiting: Doomed[] = []

beforeAll(async () => {
  base = await buildFiles({ 'kill-child': 'test/faults/crash/kill-child.ts', ...THREADS })
})

afterAll(async () => {
  await Promise.all(waiting.map((one) => one.end()))
  await removeBuilt(base)
})

/** When to kill a process: so many lines after it said that, or after its first one. */
interface Moment {
  readonly since: string | null
  readonly lines: number
}

/** A process that waits for its task. */
class Doomed {
  readonly #process = spawn(process.execPath, [join(base, 'kill-child.js')])

  /** Everything that it said before it was killed. */
  async life(task: LoadTask, { since, lines }: Moment): Promise<Line[]> {
    const { stdin, stdout, stderr } = this.#process
    const pieces: Buffer[] = []
    let errors = ''
    let count = since === null ? 0 : -Infinity
    stdout.on('data', (bytes: Buffer) => {
      pieces.push(bytes)
      if (since !== null && count === -Infinity && bytes.includes(since)) count = 0
      for (const byte of bytes) if (byte === 10) count += 1
      if (count >= lines) this.#process.kill('SIGKILL')
    })
    stderr.on('data', (bytes: Buffer) => {
      errors += bytes.toString()
    })
    stdin.write(JSON.stringify(task))
    await once(this.#process, 'close')
    expect(errors).toBe('')
    // What stands behind the last end of a line was not said whole.
    const said = Buffer.concat(pieces).toString().split('\n').slice(0, -1).map(parseLine)
    if (said.at(-1)?.kind !== '!') expect(this.#process.signalCode).toBe('SIGKILL')
    return said
  }

  async end(): Promise<void> {
    this.#process.kill('SIGKILL')
    await once(this.#process, 'close')
  }
}

/** What a process was about when it was killed, as far as it said so. */
function stageOf(lines: readonly Line[]): string {
  if (!lines.some(({ kind }) => kind === 'o')) return 'opening'
  const begun = lines.findLastIndex(
    (line) => line.kind === '.' && line.call.startsWith(CHECKPOINT_BEGINS),
  )
  const made = lines.findLastIndex((line) => line.kind === 'n' && line.notice === 'checkpoint-made')
  const last = lines.findLast(({ kind }) => kind === '.')
  if (last?.kind === '.' && last.call.includes('spare')) return 'a change of segments'
  if (begun > made) return 'a checkpoint'
  return 'work'
}

/** Some are killed while they open, most soon after, some about the time of a checkpoint. */
function momentOf(dice: Dice, disk: DiskKind): Moment {
  const roll = dice.below(100)
  if (roll < 30) return { since: null, lines: 1 + dice.below(OPENING_LINES) }
  const isAfterCheckpoint = roll < 60 && disk === 'telling'
  return {
    since: isAfterCheckpoint ? CHECKPOINT_BEGINS : null,
    lines: 1 + dice.below(isAfterCheckpoint ? 2 * CHECKPOINT_LINES : CHECKPOINT_LINES),
  }
}

class Campaign {
  readonly witness: Witness
  readonly stages = new Map<string, number>()
  kills = 0
  groups = 0
  segments = 0
  checkpoints = 0
  torn = 0
  readonly #folder: string
  readonly #dice: Dice
  readonly #disks: readonly DiskKind[]

  constructor(folder: string, dice: Dice, disks: readonly DiskKind[]) {
    this.#folder = folder
    this.#dice = dice
    this.#disks = disks
    this.witness = new Witness(dice)
  }

  get isInAllStages(): boolean {
    return STAGES.every((stage) => this.stages.has(stage))
  }

  async kill(): Promise<void> {
    this.kills += 1
    const dice = this.#dice
    const disk = dice.pick(this.#disks)
    const task: LoadTask = {
      folder: this.#folder,
      name: String(this.kills),
      seed: dice.below(1_000_000),
      disk,
    }
    // Two are started ahead: starting one takes longer than most of them live.
    while (waiting.length < 3) waiting.push(new Doomed())
    const said = await (waiting.shift() as Doomed).life(task, momentOf(dice, disk))
    this.#count(said)
    this.witness.hear(said)
  }

  /** Opens the directory here: at once, for whoever held it is dead. */
  async check(all: boolean): Promise<readonly string[]> {
    const store = await openDirectory(this.#folder, {
      ...STORE_OPTIONS,
      checkpointBytes: Infinity,
      // Not the real one itself, for which a checkpoint is made in a thread.
      disk: { ...realDisk },
    })
    try {
      const problems = await this.witness.check(store, all)
      // If all processes die before they have made one, it takes longer and longer to open.
      if (all || this.#dice.chance(50)) await store.checkpoint()
      return problems
    } finally {
      await store.close()
    }
  }

  #count(said: readonly Line[]): void {
    const stage = stageOf(said)
    this.stages.set(stage, (this.stages.get(stage) ?? 0) + 1)
    for (const line of said) {
      if (line.kind === 'n' && line.notice === 'checkpoint-made') this.checkpoints += 1
      if (line.kind === 'n' && line.notice === 'torn-tail') this.torn += 1
      if (line.kind !== '.') continue
      if (line.call.startsWith('write log-')) this.groups += 1
      if (line.call.startsWith('rename spare log-')) this.segments += 1
    }
  }
}

describe('a process that is killed under load', () => {
  it(
    'loses nothing that it acknowledged, and leaves nothing that was not sent',
    async () => {
      const dice = new Dice(SEED)
      const campaigns: Campaign[] = []
      for (let kills = 0; kills < KILLS; kills += KILLS_PER_DIRECTORY) {
        const folder = join(base, `store-${kills}`)
        await mkdir(folder)
        const campaign = new Campaign(folder, dice, ['telling', 'telling', 'telling', 'plain'])
        campaigns.push(campaign)
        const mustGoOn = (): boolean =>
          campaign.kills < KILLS_PER_DIRECTORY ||
          (campaigns.length === 1 &&
            !campaign.isInAllStages &&
            campaign.kills < MOST_KILLS_OF_FIRST)
        while (mustGoOn()) {
          await campaign.kill()
          const all = campaign.kills % 50 === 0
          if (!all && campaign.kills % 4 !== 0 && dice.chance(80)) continue
          expect(await campaign.check(all)).toEqual([])
        }
        await rm(folder, { recursive: true })
      }
      console.log(summary(campaigns))
      expect([...(campaigns[0]?.stages.keys() ?? [])].toSorted()).toEqual(STAGES.toSorted())
    },
    MOST_MS,
  )

  it('is found out if its disk acknowledges before it has written', async () => {
    const folder = join(base, 'early')
    await mkdir(folder)
    const campaign = new Campaign(folder, new Dice(SEED), ['early'])
    let problems: readonly string[] = []
    while (problems.length === 0 && campaign.kills < 30) {
      await campaign.kill()
      problems = await campaign.check(false)
    }
    expect(problems[0]).toMatch(/^lost: /)
  })
})

function summary(campaigns: readonly Campaign[]): string {
  const sum = (of: (one: Campaign) => number): string =>
    campaigns.reduce((total, one) => total + of(one), 0).toLocaleString('en')
  const stages = [...new Set(campaigns.flatMap((one) => [...one.stages.keys()]))]
  const places = stages.map((stage) => `${sum((one) => one.stages.get(stage) ?? 0)} in ${stage}`)
  return (
    `${sum((one) => one.kills)} kills (${places.join(', ')}), ` +
    `${sum((one) => one.witness.acknowledged)} acknowledged, ` +
    `${sum((one) => one.witness.entries)} entries, ${sum((one) => one.groups)} groups, ` +
    `${sum((one) => one.segments)} segments, ${sum((one) => one.checkpoints)} checkpoints, ` +
    `${sum((one) => one.torn)} torn tails, 0 lost, 0 unknown`
  )
}
