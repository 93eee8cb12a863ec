/**
 * Of the disk that a directory or a SQLite file is on: what kind it is, how much is free, and how long a sync takes.
 */
import { existsSync } from 'node:fs'
import { access, constants, mkdtemp, open, rm, statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { nowUs } from '../../store/clock.ts'
import type { Finding } from './finding.ts'
import { fit, mind, unfit } from './finding.ts'

const MB = 1_048_576
const LITTLE_MB = 1_024
const TOO_LITTLE_MB = 64
const SYNCS = 40
const BLOCK = 4_096
const SLOW_MS = 20
const TOO_FAST_MS = 0.015

/** By the number that the system has for them. */
const FILE_SYSTEMS: Readonly<Record<number, readonly [name: string, Finding['verdict']]>> = {
  0x6969: ['NFS', 'unfit'],
  0xff534d42: ['CIFS', 'unfit'],
  0xfe534d42: ['SMB', 'unfit'],
  0x517b: ['SMB', 'unfit'],
  0x01021994: ['tmpfs', 'mind'],
  0x858458f6: ['ramfs', 'mind'],
  0x65735546: ['FUSE', 'mind'],
  0x01021997: ['9p', 'mind'],
}

/** The folder that is there, or the one that it would be made in. */
function folderFor(path: string): string {
  let folder = resolve(path)
  while (!existsSync(folder)) folder = dirname(folder)
  return folder
}

export async function diskChecks(path: string): Promise<Finding[]> {
  const folder = folderFor(path)
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    return [unfit('disk', `${folder} may not be written`, 'Give this user the right to write it.')]
  }
  const { type, bavail, bsize } = await statfs(folder)
  return [
    fileSystemFinding(type, folder),
    freeFinding((bavail * bsize) / MB),
    syncFinding(await syncTimesMs(folder)),
  ]
}

export function fileSystemFinding(type: number, folder: string): Finding {
  const [name, verdict] = FILE_SYSTEMS[type] ?? ['', 'fit']
  if (verdict === 'fit') return fit('file system', `of ${folder}`)
  if (verdict === 'unfit') {
    return unfit(
      'file system',
      `${folder} is on ${name}`,
      'Locks and syncs of network file systems cannot be relied on: use a disk of this machine, or PostgreSQL.',
    )
  }
  const inMemory = name.endsWith('fs')
  return mind(
    'file system',
    `${folder} is on ${name}`,
    inMemory
      ? 'It is in memory: everything is gone when the machine stops.'
      : 'Whether it keeps what is synced depends on what is behind it.',
  )
}

export function freeFinding(freeMb: number): Finding {
  const found = `${Math.round(freeMb).toLocaleString('en-US')} MB are free`
  if (freeMb < TOO_LITTLE_MB) return unfit('space', found, 'Make room: new work is refused.')
  return freeMb < LITTLE_MB
    ? mind('space', found, 'Make room before it is full.')
    : fit('space', found)
}

/** Of small writes to a file of its own, which is removed. */
async function syncTimesMs(folder: string): Promise<number[]> {
  const own = await mkdtemp(join(folder, '.pawl-doctor-'))
  try {
    const file = await open(join(own, 'sync'), 'w')
    try {
      const block = Buffer.alloc(BLOCK, 1)
      const times: number[] = []
      for (let i = 0; i < SYNCS; i++) {
        const began = nowUs()
        await file.write(block, 0, BLOCK, i * BLOCK)
        await file.datasync()
        times.push((nowUs() - began) / 1_000)
      }
      return times.toSorted((a, b) => a - b)
    } finally {
      await file.close()
    }
  } finally {
    await rm(own, { recursive: true, force: true })
  }
}

/** In order. */
export function syncFinding(times: readonly number[]): Finding {
  const median = times[Math.floor(times.length / 2)] ?? 0
  const slowest = times.at(-1) ?? 0
  const found = `a sync takes ${median.toFixed(2)} ms, the slowest of ${times.length} took ${slowest.toFixed(1)} ms`
  if (median > SLOW_MS) {
    return mind(
      'sync',
      found,
      'Each answer waits for a sync: use a faster disk, or submit many at once.',
    )
  }
  if (median < TOO_FAST_MS) {
    return mind(
      'sync',
      found,
      'No disk is that fast: what is synced may not survive a loss of power.',
    )
  }
  return fit('sync', found)
}
