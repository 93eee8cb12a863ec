/**
 * The programs that run until they are told to stop: `dev`, `serve`, `work`, by the real binary.
 */
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ChildProcess } from 'node:child_process'
import { describe, expect, it, onTestFinished } from 'vitest'
import { open } from '../../../src/index.ts'
import { CERTIFICATE, KEY } from '../../support/certificate.ts'
import { cli, cliJson, endOf, outputOf, startCli, userFolder } from '../../support/command-line.ts'

/** `pawl` prints where it is once it is up. */
async function urlOf(output: { err: string }, ups = 1): Promise<string> {
  const urls = (): string[] => output.err.match(/http:\/\/127\.0\.0\.1:\d+(?=\n {2}look)/g) ?? []
  await expect.poll(() => urls().length).toBe(ups)
  return urls().at(-1) as string
}

async function stopped(
  child: ChildProcess,
  signal: NodeJS.Signals = 'SIGTERM',
): Promise<number | null> {
  child.kill(signal)
  return (await endOf(child)).code
}

const jobsOf = (answer: string): string =>
  `import { job } from 'pawl'\nimport { text } from './text.ts'\nexport const greet = job('greet', { run: ({ input }): string => \`\${text} \${input as string}\` })\n// ${answer}\n`

describe('pawl dev', () => {
  it('runs TypeScript, serves, keeps everything, and reloads after it has drained', async () => {
    const cwd = await userFolder('tsx')
    await writeFile(join(cwd, 'package.json'), '{ "type": "module" }')
    await writeFile(join(cwd, 'text.ts'), `export const text: string = 'Hello'\n`)
    await writeFile(join(cwd, 'jobs.ts'), jobsOf('one'))
    const child = await startCli(['dev', './jobs.ts', '--port', '0', '-c', '2'], { cwd })
    const output = outputOf(child)
    const url = await urlOf(output)
    expect(output.err).toMatch(/store\s+\.\/\.pawl\n\s+jobs\s+greet\n/)
    const first = (await cli(['submit', 'greet', '"Ada"', '-s', url])).out.trim()
    expect(await cliJson(['wait', first, '-s', url])).toMatchObject({ result: 'Hello Ada' })
    // A file that the module imports, and the new code is there, at the same address.
    await writeFile(join(cwd, 'text.ts'), `export const text: string = 'Goodbye'\n`)
    expect(await urlOf(output, 2)).toBe(url)
    expect(output.err).toMatch(/text\.ts has changed\.\n[\s\S]*Drains/)
    const second = (await cli(['submit', 'greet', '"Ada"', '-s', url])).out.trim()
    expect(await cliJson(['wait', second, '-s', url])).toMatchObject({ result: 'Goodbye Ada' })
    // What cannot be loaded is told, and the next change brings it up again.
    await writeFile(join(cwd, 'jobs.ts'), 'export const nothing = 1\n')
    await expect.poll(() => output.err).toMatch(/exports no job.*\n.*It is down\./)
    await writeFile(join(cwd, 'jobs.ts'), jobsOf('two'))
    await urlOf(output, 3)
    expect(await stopped(child, 'SIGINT')).toBe(0)
    const left = await cli(['list', '-s', './.pawl'], { cwd })
    expect(left.out.match(/SUCCEEDED/g)).toHaveLength(2)
  })

  it('without a way to run TypeScript it says what to install', async () => {
    if ((process.features as { typescript?: unknown }).typescript) return
    const cwd = await userFolder()
    await writeFile(join(cwd, 'jobs.ts'), 'export const a: number = 1\n')
    const { code, err } = await cli(['work', './jobs.ts', '-s', './data'], { cwd })
    expect(code).toBe(2)
    expect(err).toMatch(
      /does not run TypeScript, and tsx is not installed: run `npm install -D tsx`/,
    )
  })
})

describe('pawl work', () => {
  it('runs JavaScript of either kind on a store, and lets handlers end when it is told to stop', async () => {
    const cwd = await userFolder()
    await writeFile(
      join(cwd, 'jobs.cjs'),
      `const { job } = require('pawl')\nexports.all = [job('slow', { run: () => new Promise((done) => {\n  require('node:fs').writeFileSync('began', '')\n  process.on('SIGTERM', () => setImmediate(() => done('ended well')))\n}) })]\n`,
    )
    const store = `sqlite:${join(cwd, 'jobs.db')}`
    const pawl = await open(store)
    onTestFinished(() => pawl.close())
    const { job: id } = await cliJson<{ job: string }>(['submit', 'slow', '-s', store])
    const child = await startCli(['work', './jobs.cjs', '-s', store, '-c', '1', '--name', 'here'], {
      cwd,
    })
    const output = outputOf(child)
    await expect.poll(() => existsSync(join(cwd, 'began'))).toBe(true)
    expect(await stopped(child)).toBe(0)
    expect(output.err).toMatch(/pawl work\n[\s\S]*jobs\s+slow\n[\s\S]*Takes no more jobs/)
    expect(await pawl.get(id)).toMatchObject({ state: 'SUCCEEDED', output: 'ended well' })
  })

  it('a module that is not there, is none, or exports no job is refused', async () => {
    const cwd = await userFolder()
    await writeFile(join(cwd, 'none.mjs'), 'export const a = 1\n')
    await writeFile(
      join(cwd, 'twice.mjs'),
      `import { job } from 'pawl'\nexport const a = job('x', { run: () => 1 })\nexport const b = job('x', { run: () => 2 })\n`,
    )
    await writeFile(join(cwd, 'jobs.txt'), '')
    const names = ['gone.mjs', 'jobs.txt', 'none.mjs', 'twice.mjs']
    const runs = await Promise.all(names.map((name) => cli(['work', name, '-s', './d'], { cwd })))
    expect(runs.map(({ code }) => code)).toEqual([2, 2, 2, 2])
    expect(runs.map(({ err }) => err)).toEqual([
      expect.stringMatching(/There is no file 'gone\.mjs'/),
      expect.stringMatching(/'jobs\.txt' is no module/),
      expect.stringMatching(/exports no job/),
      expect.stringMatching(/exports two different jobs named 'x'/),
    ])
  })
})

describe('pawl serve', () => {
  it('serves a directory with tokens, which the command line takes from a file, and shows none', async () => {
    const cwd = await userFolder()
    const made = await cli(['token', '--role', 'admin', '--name', 'ops', '--add', 'tokens.json'], {
      cwd,
    })
    const token = made.out.trim()
    expect(token).toMatch(/^[\w-]{43}$/)
    expect(await readFile(join(cwd, 'tokens.json'), 'utf8')).not.toContain(token)
    await writeFile(join(cwd, 'token'), `${token}\n`)
    const args = ['serve', '-s', './data', '--port', '0', '--tokens', 'tokens.json']
    const child = await startCli(args, { cwd })
    const output = outputOf(child)
    const url = await urlOf(output)
    const [refused, submitted, wrong] = await Promise.all([
      cli(['list', '-s', url]),
      cli(['submit', 'mail', '1', '--id', 'a', '-s', url, '--token-file', 'token'], { cwd }),
      cli(['list', '-s', url], { env: { PAWL_TOKEN: 'another-token-of-enough-characters' } }),
    ])
    expect(refused).toMatchObject({ code: 3 })
    expect(wrong).toMatchObject({ code: 3 })
    expect(submitted).toMatchObject({ code: 0, out: 'a\n' })
    const list = await cli(['list', '-s', url], { env: { PAWL_TOKEN: token } })
    expect(list.out).toMatch(/^a\s+mail\s+QUEUED/m)
    // One that is made while the server runs is known soon, and may do what its roles say.
    const more = [
      'token',
      '--role',
      'read',
      '--type',
      'other',
      '--no-payloads',
      '--add',
      'tokens.json',
      '-o',
      'json',
    ]
    const reader = JSON.parse((await cli(more, { cwd })).out) as { token: string; entry: object }
    expect(reader.entry).toMatchObject({ roles: ['read'], types: ['other'], payloads: false })
    const env = { PAWL_TOKEN: reader.token }
    await expect.poll(async () => (await cli(['list', '-s', url], { env })).out).toBe('none\n')
    expect((await cli(['cancel', 'a', '-y', '-s', url], { env })).code).toBe(3)
    expect((await cli(['token', '--role', 'reed'], { cwd })).err).toMatch(
      /--role is 'reed': write submit, work/,
    )
    expect(await stopped(child, 'SIGINT')).toBe(0)
    expect(output.err + output.out + refused.err + wrong.err).not.toContain(token)
    expect((await cli(['show', 'a', '-s', './data'], { cwd })).code).toBe(0)
    const open0 = await cli(['serve', '-s', './data', '--host', '0.0.0.0'], { cwd })
    expect(open0.code).toBe(3)
    expect(open0.err).toMatch(/needs `tokens`/)
  })
})

/** How many tools the last answer lists. */
function tools({ out }: { readonly out: string }): number {
  const last = JSON.parse(out.trim().split('\n').at(-1) as string) as {
    result: { tools: unknown[] }
  }
  return last.result.tools.length
}

describe('pawl serve with a certificate', () => {
  it('speaks HTTPS; a profile gives its token to its own store alone', async () => {
    const cwd = await userFolder()
    await writeFile(join(cwd, 'cert.pem'), CERTIFICATE)
    await writeFile(join(cwd, 'key.pem'), KEY)
    const token = (
      await cli(['token', '--role', 'admin', '--add', 'tokens.json'], { cwd })
    ).out.trim()
    await writeFile(join(cwd, 'token'), token)
    const files = ['--tls-cert', 'cert.pem', '--tls-key', 'key.pem', '--tokens', 'tokens.json']
    const child = await startCli(['serve', '-s', './data', '--port', '0', ...files], { cwd })
    const output = outputOf(child)
    await expect.poll(() => output.err).toMatch(/https:\/\/127\.0\.0\.1:\d+/)
    const url = /https:\/\/127\.0\.0\.1:\d+/.exec(output.err)?.[0] ?? ''
    const profiles = { live: { store: url, tokenFile: './token' } }
    await writeFile(join(cwd, 'pawl.config.json'), JSON.stringify({ profile: 'live', profiles }))
    const env = { NODE_EXTRA_CA_CERTS: join(cwd, 'cert.pem') }
    const [own, named, given, half] = await Promise.all([
      cli(['list'], { cwd, env }),
      cli(['list'], { cwd, env: { ...env, PAWL_STORE: url } }),
      cli(['list', '-s', url], { cwd, env }),
      cli(['serve', '-s', './other', '--tls-cert', 'cert.pem'], { cwd }),
    ])
    expect(own).toMatchObject({ code: 0, out: 'none\n' })
    // Another place, though it is the same here, is not given the token of the profile.
    expect([named.code, given.code]).toEqual([3, 3])
    expect(given.err).toMatch(/Unauthorized/)
    expect(half).toMatchObject({ code: 2 })
    expect(await stopped(child)).toBe(0)
  })
})

describe('pawl mcp and pawl conformance', () => {
  it('a store is tools on stdin and stdout, which only read unless that is said', async () => {
    const cwd = await userFolder()
    await (await open(join(cwd, 'data'))).close()
    const lines = [
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: {
          protocolVersion: '2025-06-18',
          capabilities: {},
          clientInfo: { name: 't', version: '1' },
        },
      },
      { jsonrpc: '2.0', id: 2, method: 'tools/list' },
    ]
    const input = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
    const reads = await cli(['mcp', '-s', './data'], { cwd, input })
    const changes = await cli(['mcp', '--allow-changes', '-s', './data'], { cwd, input })
    expect([reads.code, changes.code]).toEqual([0, 0])
    expect(tools(reads)).toBeGreaterThan(10)
    expect(tools(changes)).toBeGreaterThan(tools(reads))
  })

  it('a worker that ends at once does not conform, and is told why', async () => {
    const worker = ['--', process.execPath, '-e', 'console.error("no such module")']
    const { code, out } = await cli(['conformance', '--patience', '5', ...worker])
    expect(code).toBe(1)
    expect(out).toMatch(/^no {2}[\s\S]*It said: no such module\nIt does not conform\.\n$/)
  })
})
