// node smoke.mjs <folder of the built package>: one job on each store that needs no server, on whichever Node.js runs
// this. It prints the version, or fails.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const { job, open } = await import(pathToFileURL(join(process.argv[2] ?? '', 'index.js')).href)
const folder = mkdtempSync(join(tmpdir(), 'pawl-node-'))
const doubled = job('doubled', {
  run: async ({ step, job: { attempt } }) => {
    const first = await step('first', () => 20)
    if (attempt === 1) throw new Error('once more')
    return first + 1
  },
  retry: { max: 1, delay: 0 },
})
try {
  for (const location of ['memory:', join(folder, 'data'), `sqlite:${join(folder, 'jobs.db')}`]) {
    const pawl = await open(location)
    pawl.work([doubled], { signals: [] })
    const result = await (await pawl.submit(doubled)).result()
    if (result !== 21) throw new Error(`${location} gave ${result}.`)
    await pawl.close()
  }
  console.log(`Node.js ${process.version}: memory, a directory and SQLite work.`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
