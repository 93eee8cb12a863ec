// npm run test:long [rounds]: what npm test does in minutes, for longer: the explorer further
// into the large world, the random tests from other seeds, the campaigns against the log whole
// instead of sampled, the tests of the engine on databases, too, and other
// versions of Node.js and PostgreSQL. Stops at the first failure.
import { spawnSync } from 'node:child_process'

const rounds = Number(process.argv[2] ?? 10)
if (!Number.isSafeInteger(rounds) || rounds < 1) {
  console.error(
    `usage: npm run test:long [rounds], rounds being 1 or more, not '${process.argv[2]}'`,
  )
  process.exit(2)
}

function run(title, command, args, env = {}) {
  console.log(`\n${title}`)
  const { status } = spawnSync(command, args, {
    stdio: 'inherit',
    env: { ...process.env, ...env },
    shell: process.platform === 'win32',
  })
  if (status !== 0) process.exit(status ?? 1)
}

run('The explorer, 30,000,000 states at the most per world', process.execPath, [
  'scripts/run.mjs',
  'test/model/explorer/main.ts',
  '--states',
  '30000000',
])
for (let round = 1; round <= rounds; round++) {
  const seed = String(round * 7919)
  run(
    `Random tests, round ${round} of ${rounds}, PAWL_SEED=${seed}`,
    'npx',
    ['vitest', 'run', 'test/model/properties'],
    {
      PAWL_SEED: seed,
      PAWL_CAMPAIGN: 'long',
    },
  )
}
run(
  'Damage, faults, power loss and kills, as many as there are',
  'npx',
  [
    'vitest',
    'run',
    'test/faults/damage',
    'test/faults/crash',
    'test/sql/proof',
    'test/sql/verify',
    'test/model/explorer',
    'test/conformance',
    'test/scenarios/presence',
  ],
  { PAWL_CAMPAIGN: 'long' },
)
run(
  'The engine on every store',
  'npx',
  [
    'vitest',
    'run',
    'src/engine',
    'src/worker',
    'test/scenarios/pipelines',
    'test/scenarios/shared',
  ],
  { PAWL_ENGINES: 'all' },
)
run('Other versions of Node.js', process.execPath, ['scripts/test-nodes.mjs'])
run('Older versions of PostgreSQL', process.execPath, ['scripts/test-postgres.mjs'])
