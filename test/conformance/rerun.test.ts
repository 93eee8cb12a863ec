/**
 * A job that is over, run again as a new one: from its beginning, or from a recorded step, with the steps
 * before it by value.
 */
import { describe, expect, it } from 'vitest'
import type { JobDefinition, Pawl, StandardSchema } from '../../src/index.ts'
import {
  effect,
  InvalidDefinition,
  job,
  pipeline,
  TerminalError,
  typed,
  UnknownJob,
} from '../../src/index.ts'
import { EVERY_ENGINE } from '../support/engines.ts'

const numbers: StandardSchema<number, number> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof value === 'number' ? { value } : { issues: [{ message: 'It is no whole number' }] },
  },
}

interface Trip {
  /** Steps that were run, in order, of all runs. */
  readonly ran: string[]
  readonly sent: string[]
  /** What the last step does now. */
  onPack: () => string
  readonly definition: JobDefinition<'trip', string, string>
}

/** Three steps, one after the other, and perhaps an effect. */
function newTrip(withMail = false): Trip {
  const mail = effect('mail', {
    input: typed<string>(),
    idempotent: true,
    run: (_, { key }) => trip.sent.push(key),
  })
  const trip: Trip = {
    ran: [],
    sent: [],
    onPack: () => 'packed',
    definition: job('trip', {
      input: typed<string>(),
      retry: { max: 0 },
      effects: [mail],
      run: async ({ input, step, commit }) => {
        const record = (name: string, value: () => string): Promise<string> =>
          step(name, () => {
            trip.ran.push(name)
            return value()
          })
        const found = await record('find', () => `${input}/${trip.ran.length}`)
        const booked = await record('book', () => `${found}+${trip.ran.length}`)
        const packed = await record('pack', () => trip.onPack())
        const output = `${found} ${booked} ${packed}`
        return withMail ? commit(output, [mail(output)]) : output
      },
    }),
  }
  return trip
}

async function refusal(pawl: Pawl, id: string, options: object): Promise<string> {
  const error: unknown = await pawl.rerun(id, options).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(InvalidDefinition)
  return (error as Error).message
}

describe.each(EVERY_ENGINE)('a job that is run again %s', (_name, open) => {
  it('from a step begins with the steps before it, by value, and does the others again', async () => {
    const pawl = await open()
    const trip = newTrip()
    pawl.work([trip.definition])
    const first = await pawl.submit(trip.definition, 'a')
    expect(await first.result()).toBe('a/1 a/1+2 packed')
    trip.onPack = () => 'packed again'
    const again = await pawl.rerun(first.id, { from: 'pack', id: 'second', by: 'ann' })
    expect(await again.result()).toBe('a/1 a/1+2 packed again')
    expect(trip.ran).toEqual(['find', 'book', 'pack', 'pack'])
    expect(await again.info()).toMatchObject({
      rerunOf: first.id,
      asked: { by: 'ann', reason: "Run again from 'pack'" },
      steps: ['find', 'book', 'pack'],
    })
    // One that began with steps is run again from any of them, those that it was given included.
    const third = await pawl.rerun('second', { from: 'book' })
    expect(await third.result()).toBe('a/1 a/1+5 packed again')
    expect((await pawl.get(first.id))?.output).toBe('a/1 a/1+2 packed')
    // Without a step, from its beginning: none is kept.
    const whole = await pawl.rerun('second')
    expect(await whole.result()).toBe('a/7 a/7+8 packed again')
    // From the first one, too.
    await (await pawl.rerun(first.id, { from: 'find' })).result()
    expect(trip.ran.slice(-3)).toEqual(['find', 'book', 'pack'])
  })

  it('from a step with another input keeps the steps before it all the same, and has both on record', async () => {
    const pawl = await open()
    const trip = newTrip()
    pawl.work([trip.definition])
    const first = await pawl.submit(trip.definition, 'a')
    expect(await first.result()).toBe('a/1 a/1+2 packed')
    const again = await pawl.rerun(first.id, { from: 'book', input: 'b', by: 'ann' })
    // The step was made of the old input, and stays; the handler has the new one.
    expect(await again.result()).toBe('a/1 a/1+4 packed')
    expect(await again.info()).toMatchObject({
      input: 'b',
      asked: { by: 'ann', reason: "Run again from 'book' with another input" },
    })
    expect((await first.info()).input).toBe('a')
    const why = { by: 'ann', reason: 'moved' }
    const both = await pawl.rerun(first.id, { from: 'book', input: 'c', ...why })
    expect(await both.info()).toMatchObject({
      asked: { by: 'ann', reason: "moved (run again from 'book' with another input)" },
    })
    // What is given is what a new job would be given: it goes through the schema.
    const strict = job('trip', { input: numbers, run: trip.definition.run as never })
    const wrong = pawl.rerun(first.id, { from: 'book', input: 'd', definition: strict })
    await expect(wrong).rejects.toThrow(/whole number/)
  })

  it('from a step with other values of steps before it begins with those, and names them on record', async () => {
    const pawl = await open()
    const trip = newTrip()
    pawl.work([trip.definition])
    const first = await pawl.submit(trip.definition, 'a')
    await first.result()
    const steps = { find: 'elsewhere', book: 'a/1+2' }
    const again = await pawl.rerun(first.id, { from: 'pack', steps, input: 'b' })
    expect(await again.result()).toBe('elsewhere a/1+2 packed')
    expect(trip.ran).toEqual(['find', 'book', 'pack', 'pack'])
    // Of one that is given as it was, nothing is to be said.
    expect((await again.info()).asked).toMatchObject({
      reason: "Run again from 'pack' with another input and other values of 'find'",
    })
    const [submitted] = await pawl.history(again.id)
    expect(submitted?.entry).toMatchObject({
      spec: { input: '"b"', steps: [{ value: '"elsewhere"' }, { value: '"a/1+2"' }] },
    })
    const third = await pawl.rerun(again.id, { from: 'book', steps: { find: null } })
    expect(await third.result()).toMatch(/^null null\+/)
  })

  it('is refused with values of steps that it does not keep, and is told which those are', async () => {
    const pawl = await open()
    const trip = newTrip()
    pawl.work([trip.definition])
    const first = await pawl.submit(trip.definition, 'a')
    await first.result()
    const refused = (options: object) => refusal(pawl, first.id, options)
    expect(await refused({ from: 'pack', steps: { fly: 1 } })).toMatch(
      /'fly' is no step before 'pack'.* those are 'find', 'book'/,
    )
    expect(await refused({ from: 'pack', steps: { pack: 1 } })).toMatch(/'pack' is no step before/)
    expect(await refused({ from: 'find', steps: { book: 1 } })).toMatch(/there is none/)
    expect(await refused({ steps: { find: 1 } })).toMatch(/Say `from` which step on/)
    expect(await refused({ from: 'pack', steps: ['find'] })).toMatch(/are an object/)
    const reason = 'w'.repeat(4_090)
    expect(await refused({ from: 'pack', input: 'b', reason })).toMatch(/at most 4096 are kept/)
    expect((await pawl.list()).jobs).toHaveLength(1)
  })

  it('keeps the record of a file as it is', async () => {
    const pawl = await open()
    const report = job('report', {
      run: async ({ artifact, step }) => {
        await artifact('text').write('one')
        return step('last', () => 'done')
      },
    })
    pawl.work([report])
    const first = await pawl.submit(report)
    await first.result()
    const [file = ''] = (await first.info()).steps
    expect(await refusal(pawl, first.id, { from: 'last', steps: { [file]: 1 } })).toMatch(
      /is the record of a file.*there is none/,
    )
  })

  it('from a step may have FAILED, or be in quarantine', async () => {
    const pawl = await open()
    const trip = newTrip()
    pawl.work([trip.definition])
    for (const error of [new TerminalError('lost'), new Error('lost')]) {
      trip.onPack = () => {
        throw error
      }
      const first = await pawl.submit(trip.definition, 'a')
      await expect(first.result()).rejects.toThrow(/lost/)
      trip.onPack = () => 'found'
      const before = trip.ran.length
      const again = await pawl.rerun(first.id, { from: 'book' })
      expect(await again.result()).toMatch(/ found$/)
      expect(trip.ran.slice(before)).toEqual(['book', 'pack'])
      expect(await first.state()).toBe(error instanceof TerminalError ? 'FAILED' : 'QUARANTINED')
    }
  })

  it('says that its effects happen again, under keys of their own', async () => {
    const pawl = await open()
    const trip = newTrip(true)
    pawl.work([trip.definition])
    const first = await pawl.submit(trip.definition, 'a')
    await first.result()
    await expect.poll(() => trip.sent.length).toBe(1)
    expect(await refusal(pawl, first.id, { from: 'pack' })).toMatch(
      /promised 'mail'.*effects: 'again'/,
    )
    expect(await refusal(pawl, first.id, {})).toMatch(/promised 'mail'/)
    expect(await refusal(pawl, first.id, { effects: 'never' })).toMatch(/only word .* is 'again'/)
    const again = await pawl.rerun(first.id, { from: 'pack', effects: 'again' })
    await again.result()
    await expect.poll(() => trip.sent.length).toBe(2)
    expect(new Set(trip.sent).size).toBe(2)
  })

  it('is refused: no such step, a pipeline, a job that goes on or was never there', async () => {
    const pawl = await open()
    const trip = newTrip()
    const worker = pawl.work([trip.definition])
    const first = await pawl.submit(trip.definition, 'a')
    await first.result()
    expect(await refusal(pawl, first.id, { from: 'fly' })).toMatch(
      /no step 'fly': its steps are 'find', 'book', 'pack'/,
    )
    await worker.stop()
    const held = await pawl.submit(trip.definition, 'a', { hold: true })
    for (const options of [{}, { from: 'find' }]) {
      await expect(pawl.rerun(held.id, options)).rejects.toMatchObject({ code: 'JobNotFinal' })
    }
    await held.cancel()
    expect(await refusal(pawl, held.id, { from: 'find' })).toMatch(/it has none/)
    const parts = pipeline('parts', {}).stage('only', { run: () => 1 })
    const piped = await pawl.submit(parts)
    await piped.cancel()
    await expect.poll(() => piped.state(), { timeout: 10_000 }).toBe('FAILED')
    expect(await refusal(pawl, piped.id, { from: 'find' })).toMatch(/is a pipeline/)
    await expect(pawl.rerun('never', { from: 'find' })).rejects.toThrow(UnknownJob)
    await expect(pawl.history('never')).rejects.toThrow(UnknownJob)
    await expect(pawl.executions('never')).rejects.toThrow(UnknownJob)
  })
})
