import { describe, expect, it } from 'vitest'
import { ENGINES } from '../../../test/support/engines.ts'
import type { StandardSchema } from '../../index.ts'
import { job, SubmitInterrupted, typed } from '../../index.ts'

const note = job('note', { input: typed<number>(), run: ({ input }) => input })

const positive: StandardSchema<number> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: async (given) =>
      (given as number) >= 0
        ? { value: given as number }
        : { issues: [{ message: 'must not be negative' }] },
  },
}

interface Source {
  /** Items that were taken from it. */
  read: number
  isOver: boolean
}

function* numbers(count: number, source: Source = { read: 0, isOver: false }) {
  try {
    for (let input = 0; input < count; input++) {
      source.read += 1
      yield { input }
    }
  } finally {
    source.isOver = true
  }
}

function* failing(count: number) {
  yield* numbers(count)
  throw new RangeError('the file cannot be read')
}

async function* slowly(count: number, source?: Source) {
  for (const one of numbers(count, source)) {
    if (one.input % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
    yield one
  }
}

describe.each(ENGINES)('submitting from what can be iterated over %s', (_, open) => {
  it('submits all of it, in order, and says how many', async () => {
    const pawl = await open()
    expect(await pawl.submitMany(note, numbers(1_700))).toEqual({ submitted: 1_700 })
    expect(await pawl.submitMany(note, slowly(1_300))).toEqual({ submitted: 1_300 })
    expect(await pawl.submitMany(note, numbers(0))).toEqual({ submitted: 0 })
    const { jobs } = await pawl.list({ limit: 5_000 })
    expect(jobs).toHaveLength(3_000)
    expect((await pawl.get(jobs[1_699]?.id ?? ''))?.input).toBe(1_699)
    expect((await pawl.get(jobs[1_700]?.id ?? ''))?.input).toBe(0)
  })

  it('takes any other thing that can be iterated over, and refuses what cannot', async () => {
    const pawl = await open()
    expect(await pawl.submitMany(note, new Set([{ input: 1 }]))).toEqual({ submitted: 1 })
    await expect(pawl.submitMany(note, 5 as never)).rejects.toMatchObject({
      code: 'InvalidDefinition',
    })
    await expect(pawl.submitMany(note, {} as never)).rejects.toMatchObject({
      code: 'InvalidDefinition',
    })
  })

  it('does not keep one waiting that is there for others that come later', async () => {
    const pawl = await open()
    let goOn!: () => void
    const more = new Promise<void>((resolve) => (goOn = resolve))
    const submitting = pawl.submitMany(
      note,
      (async function* () {
        yield { input: 1 }
        await more
        yield { input: 2 }
      })(),
    )
    await expect.poll(async () => (await pawl.list()).jobs).toHaveLength(1)
    goOn()
    expect(await submitting).toEqual({ submitted: 2 })
  })

  it('ends with the first that is wrong: those before it are in, and the source is closed', async () => {
    const pawl = await open()
    const source = { read: 0, isOver: false }
    const checked = job('checked', { input: positive, run: ({ input }) => input })
    const submitting = pawl.submitMany(
      checked,
      (async function* () {
        for (const one of numbers(5_000, source)) yield one.input === 1_200 ? { input: -1 } : one
      })(),
    )
    const error: unknown = await submitting.catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(SubmitInterrupted)
    expect(error).toMatchObject({
      from: 1_200,
      ids: [],
      details: { sure: 1_200 },
      cause: { code: 'InvalidValue' },
    })
    expect(source).toMatchObject({ read: 1_201, isOver: true })
    expect((await pawl.list({ limit: 5_000 })).jobs).toHaveLength(1_200)
  })

  it('ends with the first that is refused', async () => {
    const pawl = await open()
    await pawl.submit(note, 7, { id: 'taken' })
    const items = [{ input: 1 }, { input: 8, options: { id: 'taken' } }, { input: 2 }]
    const error: unknown = await pawl
      .submitMany(note, items.values())
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'SubmitInterrupted',
      cause: { code: 'IdReused', rejection: { code: 'IdReused' } },
      details: { sure: 0 },
    })
  })

  it('ends with the source if that fails, and says what is wrong as it is if none is in', async () => {
    const pawl = await open()
    await expect(pawl.submitMany(note, failing(0))).rejects.toThrow(RangeError)
    await expect(pawl.submitMany(note, failing(3))).rejects.toMatchObject({
      code: 'SubmitInterrupted',
      details: { sure: 3 },
      cause: { name: 'RangeError' },
    })
    expect((await pawl.list()).jobs).toHaveLength(3)
  })
})
