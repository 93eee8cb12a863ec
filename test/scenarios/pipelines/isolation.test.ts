/** Pipelines whose handlers and effects run in children: they read what they need by the worker. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { recorded } from '../../support/history.ts'
import { pipeline } from '../../../src/index.ts'
import { buildJobs, removeBuilt } from '../isolation/built.ts'
import { ENGINES, temporaryFolder } from '../../support/engines.ts'
import { broken, film, follow } from './isolated.ts'

const TIMEOUT = { timeout: '60s' } as const
/** As children of the built package: what TypeScript does to them is asked elsewhere. */
const built: URL[] = []

vi.mock(import('../../../src/worker/isolation/child-entry.ts'), async (original) => {
  const { entriesFor } = await import('../isolation/built.ts')
  return entriesFor(await original())
})

beforeAll(async () => {
  built.push(await buildJobs('test/scenarios/pipelines/isolated.ts'))
})

afterAll(removeBuilt)

describe.each([
  ['process', ENGINES[1]!],
  ['process', ENGINES[0]!],
  ['thread', ENGINES[0]!],
] as const)('a pipeline in a %s of its own', (isolation, [where, open]) => {
  const options = { isolation, modules: built, concurrency: 2 } as const

  it(`runs with effects, children and the outputs of many segments (${where})`, async () => {
    const pawl = await open()
    const file = join(await temporaryFolder(), 'mails')
    pawl.work([film, follow], options)
    const parts = 300
    const handle = await pawl.submit(film, { file, parts }, { id: 'film' })
    const { pids, texts } = await handle.result(TIMEOUT)
    expect(texts).toEqual(Array.from({ length: parts }, (_, i) => `part ${i} of ${parts}`))
    if (isolation === 'process') expect(pids).not.toContain(process.pid)
    const [mail] = (await readFile(file, 'utf8')).split('\n')
    expect(mail).toMatch(/^part 0 film\/1\/0\/0 \d+$/)
    const next = (await pawl.list({ type: 'follow' })).jobs[0]
    expect(await pawl.handle(next?.id ?? '').result(TIMEOUT)).toBe('to be continued')
  }, 90_000)

  it(`fails, and tells its on-failure stage (${where})`, async () => {
    const pawl = await open()
    pawl.work([broken], options)
    const handle = await pawl.submit(broken, ['a'])
    await expect(handle.result(TIMEOUT)).rejects.toThrow(`in stage 'item', segment 0. Error: no a`)
    const steps = recorded(await pawl.history(handle.id)).flatMap(({ entry }) =>
      entry.type === 'StepRecorded' ? [entry.value] : [],
    )
    expect(steps).toEqual(['["item",1]'])
  }, 90_000)
})

describe('a child', () => {
  it('that has no such stage says so', async () => {
    const [, open] = ENGINES[0]!
    const pawl = await open()
    const other = pipeline('film', { retry: { max: 0 } }).stage('score', { run: () => 1 })
    pawl.work([other], { isolation: 'thread', modules: built })
    await expect((await pawl.submit(other)).result(TIMEOUT)).rejects.toThrow(
      `Stage 'score' of pipeline 'film' is to run in a child, and what the worker's`,
    )
  }, 90_000)
})
