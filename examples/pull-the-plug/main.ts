/**
 * Pull the plug: a process that works on a store in a directory is killed again and again,
 * without warning, and each time the next one goes on. In the end every job that was ever
 * acknowledged is there, finished once.
 */
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { openDirectory, verifyDirectory } from '../../src/store/index.ts'

const lives = Number(process.argv[2] ?? 5)
const ACKNOWLEDGED_PER_LIFE = 2_000
const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url))

interface Told {
  readonly submitted: Set<string>
  readonly finished: Set<string>
}

/** Runs until it has acknowledged enough, then kills it. */
async function live(folder: string, life: number, told: Told): Promise<void> {
  const child = spawn(process.execPath, [...process.execArgv, WORKER, folder, String(life)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let acknowledged = 0
  for await (const line of createInterface({ input: child.stdout })) {
    const [what, job = ''] = line.split(' ')
    if (what === 'opened') console.log(`  opened: ${job} entries replayed`)
    if (what === 'submitted') told.submitted.add(job)
    if (what === 'finished') told.finished.add(job)
    if (what !== 'opened') acknowledged += 1
    if (acknowledged === ACKNOWLEDGED_PER_LIFE) child.kill('SIGKILL')
  }
}

async function examine(folder: string, told: Told): Promise<number> {
  const store = await openDirectory(folder)
  let lost = 0
  for (const job of told.submitted) {
    const view = await store.query({ kind: 'job', job })
    const isFinished = view?.state === 'SUCCEEDED'
    if (view === null || (told.finished.has(job) && !isFinished)) lost += 1
  }
  await store.close()
  return lost
}

async function main(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-plug-'))
  const told: Told = { submitted: new Set(), finished: new Set() }
  try {
    for (let life = 1; life <= lives; life++) {
      console.log(`life ${life} of ${lives}`)
      await live(folder, life, told)
      console.log(
        `  killed: ${told.submitted.size} submitted, ${told.finished.size} finished so far`,
      )
    }
    const lost = await examine(folder, told)
    const { entries, checkpoints, problems } = await verifyDirectory(folder)
    console.log(
      `\nacknowledged: ${told.submitted.size} jobs submitted, ${told.finished.size} finished`,
    )
    console.log(`lost: ${lost}`)
    console.log(
      `verified: ${entries} entries, ${checkpoints} checkpoints, ${problems.length} problems`,
    )
    return lost === 0 && problems.length === 0 ? 0 : 1
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

process.exitCode = await main()
