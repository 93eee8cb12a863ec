// Runs a TypeScript file of this repository: node scripts/run.mjs <file> [arguments…]
// The explorer and the benchmarks hold millions of records, hence the larger heap.
import { spawn } from 'node:child_process'

const [file, ...rest] = process.argv.slice(2)
if (file === undefined) {
  console.error('usage: node scripts/run.mjs <file.ts> [arguments…]')
  process.exit(2)
}
const child = spawn(
  process.execPath,
  ['--max-old-space-size=8192', '--expose-gc', '--import', 'tsx', file, ...rest],
  { stdio: 'inherit' },
)
// It is for the child to say when it ends: it may have something to finish.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => {
  if (signal !== null) console.error(`${file} was ended by ${signal}`)
  process.exit(code ?? 1)
})
