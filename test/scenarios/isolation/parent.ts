/**
 * A program that works in child processes, to be killed: it says the ids of its children once
 * all of them are at work. One waits, the other computes and hears nothing.
 */
import { open } from '../../../src/index.ts'
import { deaf, held } from './jobs.ts'

const pawl = await open('memory:')
const modules = [new URL('./jobs.ts', import.meta.url)]
pawl.work([deaf, held], { isolation: 'process', modules, concurrency: 2 })
const handles = [await pawl.submit(deaf), await pawl.submit(held)]
const pids = await Promise.all(
  handles.map(async (handle) => {
    for await (const { entry } of handle.events()) {
      if (entry.type === 'StepRecorded') return Number(entry.value)
    }
  }),
)
console.log(JSON.stringify(pids))
