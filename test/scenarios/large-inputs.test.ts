/**
 * What large inputs keep in memory: neither the input of a submit that is on its way, beside its text, nor
 * what a directory has on its disk.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, onTestFinished } from 'vitest'
import { job, open, typed } from '../../src/index.ts'
import { EVERY_ENGINE, temporaryFolder } from '../support/engines.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const MIB = 1_048_576
const CHARS = 1_000_000
const JOBS = 100

interface Large {
  readonly text: string
}

const large = job('large', {
  input: typed<Large>(),
  run: ({ input }) => input.text.length,
})

/** Each takes memory of its own. */
function inputAt(number: number): Large {
  const word = `${number} `.padStart(8)
  return { text: word.repeat(CHARS / word.length) }
}

function heapMib(): number {
  collect()
  return process.memoryUsage().heapUsed / MIB
}

describe.each(EVERY_ENGINE)('a submit on its way %s', (_, openEngine) => {
  it('keeps its text, and not the input that it was given', async () => {
    const pawl = await openEngine()
    const inputs: WeakRef<Large>[] = []
    const submits = Array.from({ length: 4 }, (__, i) => {
      const input = inputAt(i)
      inputs.push(new WeakRef(input))
      return pawl.submit(large, input)
    })
    // What a weak reference was made of in this turn stays until its end.
    await new Promise((resolve) => setImmediate(resolve))
    collect()
    expect(inputs.filter((input) => input.deref() !== undefined)).toEqual([])
    await Promise.all(submits)
  })
})

describe('a directory', () => {
  it('keeps no large input in memory that waits on its disk, and hands it over all the same', async () => {
    const folder = await temporaryFolder()
    let pawl = await open(folder)
    onTestFinished(() => pawl.close())
    await pawl.submit(large, inputAt(0))
    const before = heapMib()
    await pawl.submitMany(
      large,
      Array.from({ length: JOBS }, (_, i) => ({ input: inputAt(i) })),
    )
    await pawl.upkeep()
    expect(heapMib() - before).toBeLessThan(JOBS / 4)
    await pawl.close()
    pawl = await open(folder)
    const { id } = await pawl.submit(large, inputAt(7))
    pawl.work([large])
    expect(await pawl.handle(id, large).result()).toBe(CHARS)
    expect((await pawl.metrics()).quarantined).toBe(0)
  })
})
