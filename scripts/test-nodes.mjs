// npm run test:nodes: the package on the oldest and the newest versions of Node.js that it is for, and the
// conformance suite on those that run the test runner. Their binaries are npm packages for Linux on x64.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const NODES = ['node20.15', 'node22.2', 'node22', 'node24']
/** The test runner asks for a newer Node.js than Pawl does. */
const WITH_SUITE = new Set(['node22', 'node24'])
const SUITE = ['test/conformance', 'test/repo/package']

function run(title, program, args, options = {}) {
  console.log(`\n${title}`)
  const { status } = spawnSync(program, args, { stdio: 'inherit', ...options })
  if (status !== 0) process.exit(status ?? 1)
}

if (process.platform !== 'linux' || process.arch !== 'x64') {
  console.log('SKIPPED: the binaries of other versions of Node.js are for Linux on x64.')
  process.exit(0)
}
const installed = join('test', 'nodes', 'node_modules', '.package-lock.json')
if (!existsSync(installed)) run('Installing them', 'npm', ['ci'], { cwd: join('test', 'nodes') })
// Inside the checkout: the package finds its dependencies from there.
const built = mkdtempSync(join('test', 'nodes', 'node_modules', 'built-'))
process.on('exit', () => rmSync(built, { recursive: true, force: true }))
run('Building the package', process.execPath, ['scripts/build.mjs', built])
writeFileSync(join(built, 'package.json'), '{ "type": "module" }')
for (const name of NODES) {
  const program = join('test', 'nodes', 'node_modules', name, 'bin', 'node')
  run(`The package on ${name}`, program, [join('test', 'nodes', 'smoke.mjs'), built])
  if (!WITH_SUITE.has(name)) continue
  const path = `${join(process.cwd(), 'test', 'nodes', 'node_modules', name, 'bin')}:${process.env.PATH}`
  const vitest = join('node_modules', 'vitest', 'vitest.mjs')
  run(`The conformance suite on ${name}`, program, [vitest, 'run', ...SUITE], {
    env: { ...process.env, PATH: path },
  })
}
