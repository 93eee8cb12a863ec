/**
 * A process with sixteen engines on a store that each hold a job and do nothing else. It says `ready`, and
 * after each line that it is sent how many microseconds it has used a core so far.
 */
import { createInterface } from 'node:readline'
import { job, open } from '../../../src/index.ts'
import type { SharedPlace } from '../shared/places.ts'

const ENGINES = 16

const { location, options } = JSON.parse(process.argv[2] ?? '') as SharedPlace
let begun = 0
const allBegun = new Promise<void>((resolve) => {
  // Its lease is not extended meanwhile, and few ask for other jobs: that would be most of what is measured.
  const held = job('held', {
    lease: '1h',
    run: () => {
      begun += 1
      if (begun === ENGINES) resolve()
      return new Promise<never>(() => undefined)
    },
  })
  void (async () => {
    for (let i = 0; i < ENGINES; i++) {
      const pawl = await open(location, options)
      pawl.work([held], { concurrency: 1, poll: '5s' })
      await pawl.submit(held)
    }
  })()
})
await allBegun
createInterface({ input: process.stdin }).on('line', () => {
  const { user, system } = process.cpuUsage()
  console.log(`used ${user + system}`)
})
console.log('ready')
