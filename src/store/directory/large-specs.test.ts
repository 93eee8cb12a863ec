import { expect, it } from 'vitest'
import { Bench } from '../../../test/support/directory-bench.ts'
import { plain } from '../../../test/support/specs.ts'
import type { Command } from '../../kernel/index.ts'
import type { Disk } from '../../log/index.ts'

const INPUT = JSON.stringify('x'.repeat(100_000))
const LARGE = { segmentBytes: 1_024 * 1_024 }

function submit(job: string): Command {
  return { type: 'SubmitJob', job, spec: plain({ input: INPUT }) }
}

/** Notes which files are read at once. */
function noting(disk: Disk, read: Set<string>): Disk {
  return new Proxy(disk, {
    get: (target, name) => {
      const own = Reflect.get(target, name) as unknown
      if (typeof own !== 'function') return own
      if (name !== 'open') return own.bind(target) as unknown
      return async (path: string, access: 'read') => {
        const file = await target.open(path, access)
        const readNow = file.readNow.bind(file)
        file.readNow = (into, at) => {
          read.add((path.split('/').at(-1) ?? '').replace(/-.*/, ''))
          return readNow(into, at)
        }
        return file
      }
    },
  })
}

async function inputsOf(bench: Bench, request: number): Promise<(string | null)[]> {
  const channels = [{ queue: 'default', type: 'test', stage: null }]
  const claim = { worker: 'w', request, channels, max: 1, started: true }
  return (await bench.store.claim(claim)).map(({ input }) => input)
}

it('a large input is read from the log until a checkpoint has it, and from that afterwards', async () => {
  const read = new Set<string>()
  const bench = new Bench()
  await bench.open({ ...LARGE, disk: noting(bench.disk, read) })
  await bench.store.execute([submit('a'), submit('b'), submit('c')])
  // They leave memory AFTER they are durable.
  await bench.store.query({ kind: 'outcome', job: 'a' })
  await new Promise((resolve) => setImmediate(resolve))
  expect(await inputsOf(bench, 1)).toEqual([INPUT])
  expect([...read]).toEqual(['log'])
  read.clear()
  await bench.store.checkpoint()
  expect(await inputsOf(bench, 2)).toEqual([INPUT])
  expect(read.has('live')).toBe(true)
  await bench.store.close()
  await bench.open(LARGE)
  expect(await inputsOf(bench, 3)).toEqual([INPUT])
  await bench.store.close()
})

it('a checkpoint has what was submitted with large inputs, whole', async () => {
  const bench = await new Bench().open(LARGE)
  await bench.store.execute([submit('a'), submit('b')])
  await bench.store.checkpoint()
  await bench.store.execute([submit('c')])
  await bench.store.checkpoint()
  await bench.store.close()
  await bench.open(LARGE)
  for (const request of [1, 2, 3]) expect(await inputsOf(bench, request)).toEqual([INPUT])
  await bench.store.close()
})
