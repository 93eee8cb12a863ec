// Runs `npm ci` when the installed packages are missing or older than the lock file,
// so that `npm test` and `npm start` work on a fresh clone.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const installed = join(root, 'node_modules', '.package-lock.json')
const wanted = join(root, 'package-lock.json')

const current = existsSync(installed) && statSync(installed).mtimeMs >= statSync(wanted).mtimeMs
if (!current) {
  console.error('Installing what package-lock.json names (npm ci)…')
  const result = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  })
  if (result.status !== 0) {
    console.error('npm ci failed; see the lines above. Check the network and run `npm ci` by hand.')
    process.exit(result.status ?? 1)
  }
}
