/** A program that waits for jobs that no worker runs, in as many engines as its argument says, and tells what came. */
import { job, open } from '../../../src/index.ts'

const quiet = job('quiet', { run: () => 'done' })
const engines = await Promise.all(
  Array.from({ length: Number(process.argv[2]) }, () => open('memory:')),
)
const handles = await Promise.all(engines.map((pawl) => pawl.submit(quiet)))
const ends = await Promise.allSettled(handles.map((handle) => handle.result()))
const codes = ends.map((end) => (end.status === 'rejected' ? String(end.reason.code) : 'none'))
console.log([...new Set(codes)].join())
// It goes on: a worker that begins now is waited for.
const [pawl] = engines
pawl?.work([quiet])
console.log(await handles[0]?.result())
await Promise.all(engines.map((one) => one.close()))
