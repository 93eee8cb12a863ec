/**
 * Verify, time travel and repair on the real disk, with the real lock.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { onRecord } from '../../../test/support/specs.ts'
import { openDirectory, repairDirectory, stateAt, verifyDirectory } from '../index.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-verify-'))
})

afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

it('works on a folder that no store has open, and refuses one that is open', async () => {
  const store = await openDirectory(folder)
  await store.execute([
    { type: 'ConfigureQueue', queue: 'q', concurrency: 1, rate: null, ageingMs: null, ...onRecord },
  ])
  await store.checkpoint()
  await store.execute([
    { type: 'ConfigureQueue', queue: 'q', concurrency: 2, rate: null, ageingMs: null, ...onRecord },
  ])
  const inUse = { code: 'DirectoryInUse' }
  await expect(verifyDirectory(folder)).rejects.toMatchObject(inUse)
  await expect(stateAt(folder, { time: 0 })).rejects.toMatchObject(inUse)
  await expect(repairDirectory(folder, { apply: true })).rejects.toMatchObject(inUse)
  await store.close()
  const report = await verifyDirectory(folder)
  expect(report).toMatchObject({ segments: 1, entries: 2, checkpoints: 1, problems: [] })
  const { world } = await stateAt(folder, { position: report.end })
  expect(world.queues.get('q')?.concurrency).toBe(2)
  expect((await repairDirectory(folder, { apply: true })).steps).toEqual([])
  await rm(join(folder, 'MARK'))
  const repaired = await repairDirectory(folder, { apply: true })
  expect(repaired.applied).toBe(true)
  const again = await openDirectory(folder)
  expect(again.opening).toMatchObject({ torn: null, entries: 1 })
  await again.close()
})
