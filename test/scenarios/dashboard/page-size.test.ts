/** What a browser has to load before the dashboard shows anything. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, it, onTestFinished } from 'vitest'
import { builtDashboard } from '../../support/dashboard.ts'

const MOST_BYTES = 100_000

it('is less than 100 kB of script, gzipped', async () => {
  const { folder, remove } = await builtDashboard()
  onTestFinished(remove)
  const scripts = (await readdir(folder)).filter((name) => name.endsWith('.js'))
  expect(scripts).toContain('page.js')
  const files = await Promise.all(scripts.map((name) => readFile(join(folder, name))))
  const bytes = files.reduce((sum, file) => sum + gzipSync(file).length, 0)
  expect(bytes).toBeLessThan(MOST_BYTES)
})
