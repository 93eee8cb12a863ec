/**
 * Several processes on one database: their workers take what is submitted elsewhere, one that is
 * killed loses its jobs to the others, and one that waits for a result lives as long as that takes.
 */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Handle, Pawl } from '../../../src/index.ts'
import { open } from '../../../src/index.ts'
import { buildFiles, removeBuilt, THREADS } from '../../support/built.ts'
import { spread, stuck, where } from './jobs.ts'
import type { SharedPlace } from './places.ts'
import { SHARED } from './places.ts'
import type { ProgramTask } from './program.ts'

let built: string
beforeAll(async () => {
  built = await buildFiles({ program: 'test/scenarios/shared/program.ts', ...THREADS })
})
afterAll(() => removeBuilt(built))

interface Started {
  readonly child: ChildProcess
  readonly firstLine: Promise<string>
  readonly ended: Promise<number | null>
}

function start(place: SharedPlace, waitsFor: string | null): Started {
  const task: ProgramTask = { ...place, waitsFor }
  const child = spawn(process.execPath, [join(built, 'program.js'), JSON.stringify(task)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  return {
    child,
    firstLine: once(lines, 'line').then(([line]) => line as string),
    ended: once(child, 'exit').then(([code]) => code as number | null),
  }
}

describe.each(Object.keys(SHARED))('processes that share a database: %s', (name) => {
  let place: SharedPlace
  let pawl: Pawl
  let workers: readonly [Started, Started]
  let held: Handle<number>
  let client: Started
  const pids = (): (number | undefined)[] => workers.map(({ child }) => child.pid)

  beforeAll(async () => {
    place = await (SHARED[name] as (typeof SHARED)[string])()
    pawl = await open(place.location, place.options)
    held = await pawl.submit(where, undefined, { hold: true })
    // It waits while the others come up, and while all of this goes on.
    client = start(place, held.id)
    workers = [start(place, null), start(place, null)]
    await Promise.all(workers.map(({ firstLine }) => firstLine))
  }, 60_000)

  afterAll(async () => {
    for (const { child } of [client, ...workers]) child.kill('SIGKILL')
    await pawl.close()
  })

  it('what is submitted here is done there, without anybody who looks for it', async () => {
    const handle = await pawl.submit(where)
    expect(pids()).toContain(await handle.result())
  })

  it('a pipeline is done by all of them together', async () => {
    const handle = await pawl.submit(spread, 24)
    const ran = await handle.result()
    expect(ran).toHaveLength(24)
    expect(new Set(ran)).toEqual(new Set(pids()))
  })

  it('the jobs of one that is killed are taken by another when their leases have run out', async () => {
    const handle = await pawl.submit(stuck)
    let begun: number | null = null
    for await (const { entry } of handle.events()) {
      if (entry.type !== 'StepRecorded') continue
      begun = Number(entry.value)
      break
    }
    const killed = workers.find(({ child }) => child.pid === begun) as Started
    killed.child.kill('SIGKILL')
    const taken = await handle.result()
    expect(pids()).toContain(taken)
    expect(taken).not.toBe(begun)
    const info = await handle.info()
    expect(info).toMatchObject({ state: 'SUCCEEDED', attempt: 2 })
    expect(await killed.ended).toBe(null)
  })

  it('a process that only waited for a result has it, and then ends by itself', async () => {
    expect(client.child.exitCode).toBe(null)
    await pawl.release(held.id)
    expect(pids()).toContain(Number(await client.firstLine))
    expect(await client.ended).toBe(0)
  })
})
