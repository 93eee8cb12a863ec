/**
 * A program that is told to end, as a supervisor does it: what its worker has in hand is
 * finished or given back, and the program ends as the system expects.
 */
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { recorded } from '../../support/history.ts'
import type { Pawl } from '../../../src/index.ts'
import { open } from '../../../src/index.ts'
import { buildFiles, CHILDREN, removeBuilt, THREADS } from '../../support/built.ts'
import * as jobs from './jobs.ts'
import type { ProgramTask } from './program.ts'

let built: string

beforeAll(async () => {
  const program = {
    program: 'test/scenarios/shutdown/program.ts',
    jobs: 'test/scenarios/shutdown/jobs.ts',
  }
  built = await buildFiles({ ...program, ...CHILDREN, ...THREADS })
})

afterAll(() => removeBuilt(built))

interface Program {
  readonly process: ChildProcess
  readonly directory: string
  /** Until it has said so. */
  said(line: string): Promise<void>
  /** The exit code or the signal it ended by. */
  readonly ended: Promise<unknown>
}

/** With a process namespace of its own, where it is process 1, as in a container. */
const AS_FIRST = ['unshare', '--pid', '--fork', '--kill-child']

function mayUnshare(): boolean {
  const [command = '', ...args] = AS_FIRST
  return spawnSync(command, [...args, 'true']).status === 0
}

/** Of the program that `unshare` started. */
async function onlyChildOf(pid: number): Promise<number> {
  return Number((await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim())
}

async function start(task: Partial<ProgramTask>, before: readonly string[] = []): Promise<Program> {
  const directory = await mkdtemp(join(tmpdir(), 'pawl-shutdown-'))
  const all = { job: 'endless', worker: {}, listens: false, serves: false, ...task, directory }
  const file = join(built, 'program.js')
  const [command, ...args] = [...before, process.execPath, file, JSON.stringify(all)]
  const program = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    // A group of its own.
    detached: true,
  })
  onTestFinished(async () => {
    program.kill('SIGKILL')
    await rm(directory, { recursive: true })
  })
  const lines = createInterface(program.stdout)
  const heard: string[] = []
  lines.on('line', (line) => heard.push(line))
  const closed = once(program, 'close')
  return {
    process: program,
    directory,
    async said(line) {
      while (!heard.includes(line)) {
        await Promise.race([
          once(lines, 'line'),
          closed.then(() => Promise.reject(new Error(`It ended, and said only: ${heard.join()}`))),
        ])
      }
    },
    ended: closed.then(([code, signal]) => (signal ?? code) as unknown),
  }
}

async function reopen(directory: string): Promise<Pawl> {
  const pawl = await open(directory)
  onTestFinished(() => pawl.close())
  return pawl
}

async function types(pawl: Pawl, id: string): Promise<string[]> {
  return recorded(await pawl.history(id)).map(({ entry }) => entry.type)
}

describe('a program that is told to end', () => {
  it('finishes what it has in hand, and ends by the signal', async () => {
    const program = await start({ job: 'waiting' })
    await program.said('begun')
    program.process.kill('SIGTERM')
    await program.said('stopping')
    program.process.stdin?.end('go on')
    expect(await program.ended).toBe('SIGTERM')
    const pawl = await reopen(program.directory)
    expect(await pawl.handle('waiting').state()).toBe('SUCCEEDED')
    expect(await pawl.handle('waiting').result()).toBe('done')
    expect(await types(pawl, 'waiting')).toContain('ExecutionCommitted')
  })

  it('gives back what it cannot finish in time: at once, and for nothing', async () => {
    const program = await start({ worker: { shutdown: '200ms' } })
    await program.said('begun')
    program.process.kill('SIGTERM')
    expect(await program.ended).toBe('SIGTERM')
    const pawl = await reopen(program.directory)
    const handle = pawl.handle('endless', jobs.endless)
    const { state, retryCount, attempt } = await handle.info()
    expect({ state, retryCount, attempt }).toEqual({ state: 'QUEUED', retryCount: 0, attempt: 1 })
    expect(await types(pawl, 'endless')).toContain('LeaseReleased')
    pawl.work([jobs.endless])
    expect(await handle.result()).toBe(2)
  })

  it('ends by the signal, though a server of its own would keep it alive', async () => {
    const program = await start({ worker: { shutdown: '200ms' }, serves: true })
    await program.said('begun')
    program.process.kill('SIGTERM')
    expect(await program.ended).toBe('SIGTERM')
  })

  it.skipIf(!mayUnshare()).each([1, 2])(
    'as process 1 of a container ends with the exit code of the signal, told %i times',
    async (times) => {
      const shutdown = times === 1 ? '200ms' : '1h'
      const program = await start({ worker: { shutdown }, serves: true }, AS_FIRST)
      await program.said('begun')
      const first = await onlyChildOf(program.process.pid as number)
      for (let i = 0; i < times; i++) {
        process.kill(first, 'SIGTERM')
        await program.said('stopping')
      }
      expect(await program.ended).toBe(143)
    },
  )

  it('ends at once when it is told a second time', async () => {
    const program = await start({ worker: { shutdown: '1h' } })
    await program.said('begun')
    program.process.kill('SIGTERM')
    await program.said('stopping')
    program.process.kill('SIGTERM')
    expect(await program.ended).toBe('SIGTERM')
    const pawl = await reopen(program.directory)
    expect(await types(pawl, 'endless')).not.toContain('LeaseReleased')
  })

  it('and has listeners of its own is left to them', async () => {
    const program = await start({ worker: { shutdown: '200ms' }, listens: true })
    await program.said('begun')
    program.process.kill('SIGTERM')
    await program.said('closed')
    expect(await program.ended).toBe(0)
  })

  it('by a signal that its workers do not listen for ends as it always did', async () => {
    const program = await start({ worker: { signals: [], shutdown: '1h' } })
    await program.said('begun')
    program.process.kill('SIGTERM')
    expect(await program.ended).toBe('SIGTERM')
    const pawl = await reopen(program.directory)
    expect(await pawl.handle('endless').state()).toBe('RUNNING')
  })

  it('listens for the signals that it was given', async () => {
    const program = await start({ worker: { signals: ['SIGINT'], shutdown: '200ms' } })
    await program.said('begun')
    program.process.kill('SIGINT')
    expect(await program.ended).toBe('SIGINT')
    const pawl = await reopen(program.directory)
    expect(await types(pawl, 'endless')).toContain('LeaseReleased')
  })

  it('together with its child processes lets them finish', async () => {
    const program = await start({ job: 'brief', worker: { isolation: 'process' } })
    await program.said('begun')
    process.kill(-(program.process.pid as number), 'SIGTERM')
    expect(await program.ended).toBe('SIGTERM')
    const pawl = await reopen(program.directory)
    const { state, attempt } = await pawl.handle('brief').info()
    expect({ state, attempt }).toEqual({ state: 'SUCCEEDED', attempt: 1 })
  })
})
