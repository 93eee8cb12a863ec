/**
 * How a process that is a child says that it is gone.
 */
import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { startProcess } from './child.ts'

function childrenOfThis(): string[] {
  const all = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
  const rows = all.split('\n').map((line) => line.trim().split(/\s+/))
  return rows.filter(([, parent]) => parent === String(process.pid)).map(([pid]) => pid as string)
}

/** Of one that gets a signal before its code is loaded. */
async function goneBy(signal: NodeJS.Signals): Promise<{ why: string; wasTold: boolean }> {
  const before = new Set(childrenOfThis())
  const gone = new Promise<{ why: string; wasTold: boolean }>((resolve) => {
    startProcess([], {
      message: () => undefined,
      gone: (why, wasTold = false) => resolve({ why, wasTold }),
    })
  })
  for (const pid of childrenOfThis()) if (!before.has(pid)) killIfThere(Number(pid), signal)
  return gone
}

/** `ps` itself was a child, too. */
function killIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It is gone.
  }
}

describe.skipIf(process.platform === 'win32')('a process that ends before it is ready', () => {
  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('by %s was told to', async (signal) => {
    const why = `Its process ended by signal ${signal}.`
    expect(await goneBy(signal)).toEqual({ why, wasTold: true })
  })

  it('by SIGKILL was not', async () => {
    expect(await goneBy('SIGKILL')).toMatchObject({ wasTold: false })
  })
})
