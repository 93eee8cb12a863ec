/** The files of the dashboard as a server answers with them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { expect, it, onTestFinished } from 'vitest'
import { DashboardFiles } from './dashboard-files.ts'

async function files(): Promise<DashboardFiles> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-files-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'index.html'), '<!doctype html>')
  await writeFile(join(folder, 'secret.txt'), 'mine')
  return new DashboardFiles(pathToFileURL(`${folder}/`))
}

const asked = (headers: Record<string, string> = {}) => new Headers(headers)

it('are answered with a policy that lets in nothing from elsewhere, and compressed if that is taken', async () => {
  const dashboard = await files()
  const plain = await dashboard.answer('/dashboard/', asked())
  expect(plain?.headers['content-security-policy']).toContain("default-src 'none'")
  expect(plain?.headers['content-encoding']).toBe(undefined)
  const gzipped = await dashboard.answer('/dashboard/', asked({ 'accept-encoding': 'br, gzip' }))
  expect(gunzipSync(gzipped?.body ?? '').toString()).toBe('<!doctype html>')
})

it('are not sent again to a browser that has them', async () => {
  const dashboard = await files()
  const { headers = {} } = (await dashboard.answer('/dashboard/index.html', asked())) ?? {}
  const again = await dashboard.answer(
    '/dashboard/',
    asked({ 'if-none-match': headers['etag'] ?? '' }),
  )
  expect(again).toMatchObject({ status: 304, body: '' })
})

it('are these and no others, whatever the path says', async () => {
  const dashboard = await files()
  const paths = ['secret.txt', '../package.json', '%2e%2e/secret.txt', 'toString', 'page.js', 'a/b']
  for (const path of paths) expect(await dashboard.answer(`/dashboard/${path}`, asked())).toBe(null)
  for (const path of ['/', '/v1/jobs', '/dashboards/'])
    expect(await dashboard.answer(path, asked())).toBe(null)
  const redirect = await dashboard.answer('/dashboard', asked())
  expect(redirect).toMatchObject({ status: 302, headers: { location: 'dashboard/' } })
})
