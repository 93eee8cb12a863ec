/**
 * No child outlives its parent, whatever the parent died of and whatever the child does.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { isAlive } from './alive.ts'

it('child processes end by themselves when their parent is killed', async () => {
  const file = fileURLToPath(new URL('./parent.ts', import.meta.url))
  const parent = spawn(process.execPath, ['--import', 'tsx', file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface(parent.stdout), 'line')) as [string]
  const pids = JSON.parse(line) as number[]
  expect(pids.map(isAlive)).toEqual([true, true])
  // The children write to the same pipe: it is closed when the last of them is gone.
  const closed = once(parent, 'close')
  parent.kill('SIGKILL')
  const [code, signal] = await closed
  expect([code, signal]).toEqual([null, 'SIGKILL'])
  // A process that has ended keeps its number until the system has taken note of it.
  await expect.poll(() => pids.map(isAlive), { timeout: 5_000 }).toEqual([false, false])
})
