import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/engines.ts'
import { eventLoopTurn } from '../../log/index.ts'
import { job, typed } from '../../definition/index.ts'
import type { JobInfo, OpenOptions, Pawl } from '../index.ts'
import { open } from '../index.ts'

const echo = job('echo', { input: typed<string>(), run: ({ input }) => input })
const other = job('other', { input: typed<string>(), run: ({ input }) => input })

async function opened(options: OpenOptions): Promise<Pawl> {
  const pawl = await open(await temporaryFolder(), options)
  pawl.work([echo, other])
  return pawl
}

async function ids(pawl: Pawl): Promise<string[]> {
  const { jobs } = await pawl.list()
  return jobs.map(({ id }) => id).toSorted()
}

describe('retention', () => {
  it('of a single job comes before that of the store, shorter or longer', async () => {
    await using pawl = await opened({ retention: { age: 1 } })
    const long = await pawl.submit(echo, 'a', { id: 'long', retention: '1h' })
    await pawl.submit(echo, 'b', { id: 'usual' })
    expect(await long.result()).toBe('a')
    await expect.poll(() => ids(pawl)).toEqual(['long'])
    await using strict = await opened({})
    await strict.submit(echo, 'a', { id: 'short', retention: 1 })
    const usual = await strict.submit(echo, 'b', { id: 'usual' })
    expect(await usual.result()).toBe('b')
    await expect.poll(() => ids(strict)).toEqual(['usual'])
  })

  it('of a type is its own, in age and in count', async () => {
    const types = { other: { count: 1 }, echo: { age: 1 } }
    await using pawl = await opened({ retention: { types } })
    for (const id of ['x', 'y', 'z']) {
      const handle = await pawl.submit(other, id, { id })
      await handle.result().catch(() => null)
    }
    await pawl.submit(echo, 'e', { id: 'e' })
    await expect.poll(() => ids(pawl)).toEqual(['z'])
  })

  it('that makes no sense is refused, with its name', async () => {
    const folder = await temporaryFolder()
    const wrong = open(folder, { retention: { types: { mail: { count: -1 } } } })
    await expect(wrong).rejects.toThrow('retention.types.mail.count')
    await expect(open(folder, { retention: { age: 'soon' as never } })).rejects.toThrow(
      'retention.age',
    )
  })
})

describe('an engine in memory', () => {
  it.each<[name: string, options: OpenOptions]>([
    ['retention', { retention: { count: 10 } }],
    ['onForget', { onForget: () => undefined }],
    ['history', { history: '1d' }],
    ['archive', { archive: './old' }],
  ])('forgets nothing, and refuses `%s`, which would do nothing', async (name, options) => {
    await expect(open('memory:', options)).rejects.toMatchObject({
      code: 'InvalidDefinition',
      message: `open('memory:') takes no \`${name}\`: an engine in memory forgets nothing until its process ends. For one that lives long, open a directory.`,
    })
  })

  it('opens with such options if they are undefined', async () => {
    const left = { retention: undefined, onForget: undefined } as object
    await (await open('memory:', left)).close()
  })
})

describe('onForget', () => {
  it('is given every job before it is forgotten, with its output', async () => {
    const kept = new Map<string, unknown>()
    const seen: (JobInfo | null)[] = []
    const pawl = await opened({
      retention: { count: 0 },
      onForget: async (jobs) => {
        for (const { id, output } of jobs) {
          kept.set(id, output)
          seen.push(await pawl.get(id))
        }
      },
    })
    const inputs = Array.from({ length: 250 }, (_, i) => `${i}`)
    await pawl.submitMany(
      echo,
      inputs.map((input) => ({ input, options: { id: `job ${input}` } })),
    )
    await expect.poll(() => ids(pawl), { timeout: 10_000 }).toEqual([])
    expect(kept).toEqual(new Map(inputs.map((input) => [`job ${input}`, input])))
    expect(seen.every((info) => info?.state === 'SUCCEEDED')).toBe(true)
    await pawl.close()
  })

  it('that fails keeps the jobs, and gets them again; other upkeep goes on meanwhile', async () => {
    let calls = 0
    const errors: string[] = []
    await using pawl = await opened({
      retention: { count: 0 },
      onError: ({ message }) => errors.push(message),
      onForget: () => {
        calls += 1
        if (calls === 1) throw new Error('no room')
      },
    })
    const handle = await pawl.submit(echo, 'a', { id: 'a' })
    await expect.poll(() => calls).toBe(1)
    expect(await handle.state()).toBe('SUCCEEDED')
    // The same loop fails a job that no worker takes in time.
    const late = await pawl.submit(job('nobody', { run: () => 1 }), undefined, { startWithin: 1 })
    await expect.poll(() => late.state()).toBe('FAILED')
    expect(calls).toBe(1)
    await expect.poll(() => calls, { timeout: 10_000 }).toBeGreaterThan(1)
    await expect.poll(() => ids(pawl)).toEqual([])
    expect(errors).toEqual(['no room'])
  })

  it('that takes long holds up nothing else, and closing waits for it', async () => {
    let release!: () => void
    const busy = new Promise<void>((resolve) => (release = resolve))
    const folder = await temporaryFolder()
    const pawl = await open(folder, { retention: { count: 0 }, onForget: () => busy })
    pawl.work([echo])
    await pawl.submit(echo, 'a', { id: 'a' })
    const late = await pawl.submit(job('nobody', { run: () => 1 }), undefined, { startWithin: 1 })
    await expect.poll(() => late.state()).toBe('FAILED')
    expect(await pawl.get('a')).not.toBeNull()
    const closed = pawl.close()
    for (let i = 0; i < 500; i++) await eventLoopTurn()
    release()
    await closed
    await using again = await open(folder)
    expect(await again.get('a')).toBeNull()
  })
})
