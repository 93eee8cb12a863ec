/**
 * A job that is over, run again as a new one: from its beginning, or from a recorded step, with the steps
 * before it by value.
 */
import { describe, expect, it } from 'vitest'
import type { JobDefinition, Pawl } from '../../src/index.ts'
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

  it('is refused: no such step, a new input, a pipeline, a job that goes on or was never there', async () => {
    const pawl = await open()
    const trip = newTrip()
    const worker = pawl.work([trip.definition])
    const first = await pawl.submit(trip.definition, 'a')
    await first.result()
    expect(await refusal(pawl, first.id, { from: 'fly' })).toMatch(
      /no step 'fly': its steps are 'find', 'book', 'pack'/,
    )
    expect(await refusal(pawl, first.id, { from: 'pack', input: 'b' })).toMatch(/new `input`/)
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
