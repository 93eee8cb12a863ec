/**
 * Stories that the kernel was told, told to every store: the same commands at the same times get the same
 * answers and lead to the same states. The golden traces, each command twice, and every way that the tables
 * of a job's states allow.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Command } from '../../src/kernel/index.ts'
import { tell } from '../model/golden/trace.ts'
import type { Authority } from '../support/authority.ts'
import { PIPELINE_MOVES, PLAIN_MOVES, walk } from '../support/moves.ts'
import type { Bench } from './bench.ts'
import { setUp, STORES } from './bench.ts'

const GOLDEN = fileURLToPath(new URL('../model/golden/', import.meta.url))

const traces = readdirSync(GOLDEN)
  .filter((file) => file.endsWith('.txt'))
  .map((file) => [file, readFileSync(`${GOLDEN}${file}`, 'utf8')] as const)

interface Part {
  readonly from?: number
  readonly to?: number
  /** Instead of the one that the authority was told about. */
  readonly job?: string
}

/** Sends what the authority was sent, or a part of it, and compares each answer. */
async function retell(bench: Bench, { sent }: Authority, part: Part = {}): Promise<void> {
  const { clock, send } = bench
  const { from, to, job } = part
  for (const { command: told, at, decision } of sent.slice(from, to)) {
    clock.time = at
    const { verdict, value, rejection } = decision
    const command = job === undefined ? told : ({ ...told, job } as Command)
    const same = value === 'a' && job !== undefined ? job : value
    expect([command, await send(command)]).toEqual([command, { verdict, value: same, rejection }])
  }
}

async function stateOf({ store }: Bench, job: string): Promise<string | undefined> {
  return (await store.query({ kind: 'job', job }))?.state
}

describe.each(Object.keys(STORES))('the %s store', (kind) => {
  it.each(traces)('answers every command of %s as the kernel does, twice', async (_file, text) => {
    const { authority } = tell(text, { times: 2, onRepeat: () => undefined })
    const bench = await setUp(kind, 0)
    await retell(bench, authority)
    bench.clock.time = authority.now
    for (const job of authority.world.jobs.keys()) {
      expect([job, await stateOf(bench, job)]).toEqual([job, authority.state(job)])
    }
  })

  it('lets a job go every way that the tables of states allow', async () => {
    const bench = await setUp(kind, 0)
    for (const [i, move] of [...PLAIN_MOVES, ...PIPELINE_MOVES].entries()) {
      // All in one store, each with a job of its own.
      const job = `${i}`
      const { authority, before } = walk(move)
      await retell(bench, authority, { to: before, job })
      const from = await stateOf(bench, job)
      await retell(bench, authority, { from: before, job })
      expect([job, from, await stateOf(bench, job)]).toEqual([job, move[0], move[1]])
    }
  })
})
