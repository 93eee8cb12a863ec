/**
 * Time on a core and writes of other processes, from `/proc`.
 */
import { readdirSync, readFileSync } from 'node:fs'

const TICK_US = 10_000

/**
 * Microseconds that a process and its direct children have used, those that have ended included;
 * 0 where there is no `/proc`.
 */
export function familyUs(parent: number): number {
  let ticks = 0
  for (const name of processes()) {
    const times = timesOf(name)
    if (times === null) continue
    if (Number(name) === parent) ticks += times.own + times.ofEndedChildren
    else if (times.parent === parent) ticks += times.own
  }
  return ticks * TICK_US
}

/** How often a process wrote to files or to others, and how many bytes; 0 where there is no `/proc`. */
export function writtenBy(pid: number): { readonly calls: number; readonly bytes: number } {
  try {
    const text = readFileSync(`/proc/${pid}/io`, 'utf8')
    const field = (name: string): number =>
      Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(text)?.[1])
    return { calls: field('syscw'), bytes: field('wchar') }
  } catch {
    return { calls: 0, bytes: 0 }
  }
}

function processes(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  } catch {
    return []
  }
}

function timesOf(pid: string): { parent: number; own: number; ofEndedChildren: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // Behind the name, which may have anything in it.
    const fields = text
      .slice(text.lastIndexOf(') ') + 2)
      .split(' ')
      .map(Number)
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15)
    return { parent: fields[1] ?? 0, own: user + system, ofEndedChildren: endedUser + endedSystem }
  } catch {
    // It has ended meanwhile.
    return null
  }
}
