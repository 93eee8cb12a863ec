/**
 * Of the machine: the version of Node, its memory, its clock, and whether processes on it stand still.
 */
import { availableParallelism, totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { nowUs, repeatEvery, systemClock } from '../../store/clock.ts'
import type { Finding } from './finding.ts'
import { fit, mind, unfit } from './finding.ts'

const MB = 1_048_576
const LEAST_HEAP_MB = 200

export function nodeCheck(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isFit = (major === 20 && minor >= 15) || (major === 22 && minor >= 2) || major > 22
  return isFit
    ? fit('node', version)
    : unfit('node', version, 'Use Node.js 20.15 or later of 20, or 22.2 or later.')
}

export function memoryCheck(): Finding {
  const heapMb = Math.round(getHeapStatistics().heap_size_limit / MB)
  const found = `${Math.round(totalmem() / MB)} MB, ${availableParallelism()} processors, a heap of up to ${heapMb} MB`
  return heapMb >= LEAST_HEAP_MB
    ? fit('memory', found)
    : mind('memory', found, `Give node more: --max-old-space-size=${LEAST_HEAP_MB} or above.`)
}

const WATCHED_MS = 400
const BEAT_MS = 10
/** As long as this a process may stand still before its leases are in danger of a false alarm. */
const STALL_MS = 200
const MOST_DRIFT = 0.02

/** Watches the clock of the wall beside the monotonic one, and the event loop, for a moment. */
export async function clockChecks(): Promise<Finding[]> {
  const wall = systemClock.now()
  const began = nowUs()
  let last = began
  let longestMs = 0
  await new Promise<void>((resolve) => {
    const timer = repeatEvery(BEAT_MS, () => {
      const now = nowUs()
      longestMs = Math.max(longestMs, (now - last) / 1_000 - BEAT_MS)
      last = now
      if (now - began < WATCHED_MS * 1_000) return
      timer.stop()
      resolve()
    })
    timer.keep(true)
  })
  const passedMs = (nowUs() - began) / 1_000
  return [clockFinding(systemClock.now() - wall, passedMs), stallFinding(longestMs)]
}

export function clockFinding(wallMs: number, passedMs: number): Finding {
  const drift = Math.abs(wallMs - passedMs) / passedMs
  // The clock of the wall has whole milliseconds.
  const isFit = drift <= MOST_DRIFT || Math.abs(wallMs - passedMs) <= 2
  const found = `went ${wallMs.toFixed(0)} ms in ${passedMs.toFixed(0)} ms`
  if (isFit) return fit('clock', found)
  return mind('clock', found, 'The clock jumps: have it set by NTP, slewed and not stepped.')
}

export function stallFinding(longestMs: number): Finding {
  const found = `the longest stall in ${WATCHED_MS} ms was ${longestMs.toFixed(0)} ms`
  if (longestMs < STALL_MS) return fit('stalls', found)
  return mind('stalls', found, 'The machine is overloaded, or its processors are throttled.')
}
