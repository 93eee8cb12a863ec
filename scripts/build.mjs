// Builds the package: node scripts/build.mjs [folder], by default dist/
// Types come from tsc, a file for each source. The code is put together into a few files, because
// Node takes about a millisecond for each file that it imports: 300 of them are most of the time in
// which a program starts. Threads and child processes have files of their own, beside the others.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { buildDashboard } from './dashboard.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const folder = resolve(process.argv[2] ?? join(root, 'dist'))
// A package never holds a file whose source is gone.
rmSync(folder, { recursive: true, force: true })

const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
const types = spawnSync(
  process.execPath,
  [tsc, '--project', join(root, 'tsconfig.build.json'), '--outDir', folder],
  { cwd: root, stdio: 'inherit' },
)
if (types.status !== 0) process.exit(types.status ?? 1)

await build({
  absWorkingDir: root,
  entryPoints: {
    index: 'src/index.ts',
    'cli/main': 'src/cli/main.ts',
    'kernel/index': 'src/kernel/index.ts',
    'push/index': 'src/push/index.ts',
    'conformance/index': 'src/conformance/index.ts',
    'observe/opentelemetry/index': 'src/observe/opentelemetry/index.ts',
    'mcp/index': 'src/mcp/index.ts',
    'observe/metrics/index': 'src/observe/metrics/index.ts',
    'server/index': 'src/server/index.ts',
    'store/index': 'src/store/index.ts',
    'testing/index': 'src/testing/index.ts',
    thread: 'src/store/sql/sqlite/thread.ts',
    'checkpoint-thread': 'src/log/checkpoint/checkpoint-thread.ts',
    'child-main': 'src/worker/isolation/child-main.ts',
  },
  outdir: folder,
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  packages: 'external',
})

await buildDashboard(join(folder, 'dashboard'))
