/**
 * Artifacts where it is hard: a process that is killed in the middle of a file, and handlers in
 * threads and processes of their own.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Pawl } from '../../../src/index.ts'
import { open } from '../../../src/index.ts'
import { buildFiles, removeBuilt, THREADS } from '../../support/built.ts'
import { temporaryFolder } from '../../support/engines.ts'
import { CHUNKS, large, sent, small } from './jobs.ts'

const MODULES = [new URL('./jobs.ts', import.meta.url)]

let built: string
beforeAll(async () => {
  built = await buildFiles({ program: 'test/scenarios/artifacts/program.ts', ...THREADS })
})
afterAll(() => removeBuilt(built))

async function opened(location: string): Promise<Pawl> {
  const pawl = await open(location)
  onTestFinished(() => pawl.close())
  return pawl
}

it('a process that is killed in the middle of a file leaves none, and the next one writes it', async () => {
  const folder = await temporaryFolder()
  const program = spawn(process.execPath, [join(built, 'program.js'), folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void program.kill('SIGKILL'))
  const ended = once(program, 'close')
  const [line] = await once(createInterface(program.stdout), 'line')
  expect(line).toBe('half')
  program.kill('SIGKILL')
  await ended
  // What there is of it stands where nobody looks for it.
  const artifacts = join(folder, 'artifacts')
  expect(await readdir(join(artifacts, 'tmp'))).toHaveLength(1)
  const files = await readdir(artifacts, { recursive: true })
  expect(files.filter((name) => name.endsWith('large.bin'))).toEqual([])
  const pawl = await opened(folder)
  pawl.work([large], { signals: [] })
  const ref = await pawl.handle('large', large).result()
  expect(ref.bytes).toBe(CHUNKS * 65_536)
  expect(await pawl.artifacts.check('large')).toMatchObject([{ state: 'valid' }])
  const bytes = await readFile(join(artifacts, ref.$artifact))
  expect(bytes.equals(Buffer.alloc(ref.bytes, 'pawl'))).toBe(true)
})

describe.each(['thread', 'process'] as const)('a handler with isolation %s', (isolation) => {
  it('writes, reuses and opens artifacts in the folder of its engine', async () => {
    const pawl = await opened(await temporaryFolder())
    pawl.work([small], { isolation, modules: MODULES, signals: [] })
    const handle = await pawl.submit(small)
    const { ref, text } = await handle.result()
    expect(text).toBe('by attempt 1')
    expect(await (await pawl.artifacts.open(ref)).text()).toBe('by attempt 1')
    expect((await handle.info()).steps).toContain('artifact-reused:small.txt:2')
  })

  it('has effects that open them, too', async () => {
    const pawl = await opened(await temporaryFolder())
    pawl.work([sent], { isolation, modules: MODULES, signals: [] })
    const handle = await pawl.submit(sent)
    await handle.result()
    // The effect fails unless it finds what the handler wrote.
    expect((await handle.info()).effects).toMatchObject([{ name: 'send', state: 'FINISHED' }])
  })

  it('is told that they are out of its reach, if they are not in a folder', async () => {
    const pawl = await opened('memory:')
    pawl.work([small], { isolation, modules: MODULES, signals: [] })
    const result = (await pawl.submit(small)).result()
    await expect(result).rejects.toThrow('are out of reach: what runs in a thread or a process')
  })
})
