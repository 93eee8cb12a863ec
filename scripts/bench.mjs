// Builds what is to be measured, as it is shipped, and runs it: npm run bench -- <name> [options]
// Sources that are compiled on the fly carry extra calls that would be measured as well.
import { spawn, spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const out = join(root, 'node_modules', '.cache', 'pawl-bench')
rmSync(out, { recursive: true, force: true })
const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
const built = spawnSync(process.execPath, [tsc, '--project', 'tsconfig.bench.json'], {
  cwd: root,
  stdio: 'inherit',
})
if (built.status !== 0) process.exit(built.status ?? 1)
writeFileSync(join(out, 'package.json'), '{ "type": "module" }\n')
const child = spawn(
  process.execPath,
  [
    '--max-old-space-size=8192',
    '--expose-gc',
    '--enable-source-maps',
    join(out, 'bench', 'main.js'),
    ...process.argv.slice(2),
  ],
  { cwd: root, stdio: 'inherit' },
)
// The child removes its folders and stops its servers.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => {
  if (signal !== null) console.error(`The bench was ended by ${signal}`)
  process.exit(code ?? 1)
})
