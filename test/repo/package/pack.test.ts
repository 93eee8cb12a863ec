/**
 * The package as a new user gets it: built, packed, installed into an empty folder, and used
 * from there with nothing but its name.
 */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FIRST_JOB, mistakenLines, MISTAKES, withoutMarks } from './new-user.ts'

const ROOT = resolve('.')
const TSC = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')

/** What the package has beside the built files. */
const BESIDE_DIST = ['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json']

interface Manifest {
  readonly homepage: string
  readonly keywords: readonly string[]
  readonly repository: { readonly url: string }
  readonly dependencies: Readonly<Record<string, string>>
}

interface Ran {
  readonly code: number
  readonly output: string
}

function run(command: string, args: readonly string[], cwd: string): Promise<Ran> {
  return new Promise((done) => {
    execFile(command, args, { cwd }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : Number(error.code ?? 1), output: `${stdout}${stderr}` }),
    )
  })
}

const node = (cwd: string, ...args: readonly string[]) => run(process.execPath, args, cwd)

async function must(ran: Promise<Ran>): Promise<string> {
  const { code, output } = await ran
  if (code !== 0) throw new Error(output)
  return output
}

/** Built and packed beside the repository, so that an old `dist` has no part in it. */
async function pack(into: string): Promise<string> {
  const stage = join(into, 'stage')
  await must(node(ROOT, join('scripts', 'build.mjs'), join(stage, 'dist')))
  for (const file of BESIDE_DIST) await cp(file, join(stage, file))
  await must(run('npm', ['pack', '--ignore-scripts', '--pack-destination', into], stage))
  const packed = (await readdir(into)).find((name) => name.endsWith('.tgz'))
  return join(into, packed ?? '')
}

async function install(tarball: string, app: string): Promise<void> {
  await mkdir(app)
  await writeFile(join(app, 'package.json'), '{ "private": true, "type": "module" }')
  const quietly = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund']
  const { code } = await run('npm', ['install', ...quietly, tarball], app)
  if (code === 0) return
  // What it depends on is not in npm's cache, and there is no network here.
  await rm(join(app, 'node_modules'), { recursive: true, force: true })
  await mkdir(join(app, 'node_modules', 'pawl'), { recursive: true })
  const unpack = ['-xzf', tarball, '--strip-components=1', '-C', join(app, 'node_modules', 'pawl')]
  await must(run('tar', unpack, app))
  const { dependencies } = JSON.parse(await readFile('package.json', 'utf8')) as Manifest
  for (const name of Object.keys(dependencies)) await link(app, name)
}

async function link(app: string, name: string): Promise<void> {
  const target = join(app, 'node_modules', name)
  await mkdir(join(target, '..'), { recursive: true })
  await symlink(join(ROOT, 'node_modules', name), target)
}

const STRICT = { strict: true, module: 'nodenext', target: 'es2023' }

/** Compiles one file in a folder of its own, for its `tsconfig.json`. */
async function compile(app: string, name: string, text: string, options = {}): Promise<Ran> {
  const folder = join(app, name)
  const compilerOptions = { ...STRICT, skipLibCheck: true, ...options }
  await mkdir(folder)
  await writeFile(join(folder, 'main.ts'), text)
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
  return node(folder, TSC, '--project', '.')
}

describe('the package', () => {
  let folder: string
  let app: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'pawl-package-'))
    app = join(folder, 'app')
    await install(await pack(folder), app)
  }, 180_000)

  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('holds the built files, what people read first, and nothing else', async () => {
    const home = join(app, 'node_modules', 'pawl')
    expect((await readdir(home)).toSorted()).toEqual([...BESIDE_DIST, 'dist'].toSorted())
    const files = await readdir(join(home, 'dist'), { recursive: true, withFileTypes: true })
    const names = files.filter((file) => file.isFile()).map(({ name }) => name)
    expect(names).toContain('index.js')
    const others = names.filter((name) => !/\.(?:js|d\.ts)$/.test(name))
    expect(others.toSorted()).toEqual(['icon.svg', 'index.html', 'style.css'])
    expect(names.filter((name) => name.includes('.test.'))).toEqual([])
  })

  it('serves the dashboard, whose script has less than 100 kB', async () => {
    const program = `
      import { open } from 'pawl'
      import { serve } from 'pawl/server'
      const pawl = await open('memory:')
      const server = await serve(pawl, { port: 0 })
      for (const name of ['', 'page.js', 'style.css', 'icon.svg']) {
        const { status } = await fetch(server.url + '/dashboard/' + name)
        console.log(name, status)
      }
      await server.close()
      await pawl.close()`
    await writeFile(join(app, 'dashboard.mjs'), program)
    const printed = await must(node(app, 'dashboard.mjs'))
    expect(printed.match(/ 200$/gm)).toHaveLength(4)
    const script = join(app, 'node_modules', 'pawl', 'dist', 'dashboard', 'page.js')
    expect(gzipSync(await readFile(script)).byteLength).toBeLessThan(100_000)
  })

  it('has no file that refers to a source map, because it has none', async () => {
    const home = join(app, 'node_modules', 'pawl', 'dist')
    const files = (await readdir(home, { recursive: true })).filter((name) => name.endsWith('.js'))
    const texts = await Promise.all(files.map((name) => readFile(join(home, name), 'utf8')))
    expect(files.filter((_, i) => texts[i]?.includes('sourceMappingURL'))).toEqual([])
  })

  it('says where it comes from, and by which words it is found', async () => {
    const path = join(app, 'node_modules', 'pawl', 'package.json')
    const { homepage, keywords, repository } = JSON.parse(await readFile(path, 'utf8')) as Manifest
    expect(repository.url).toMatch(/^git\+https:.+\/pawl\.git$/)
    expect(homepage).toBe(`${repository.url.slice('git+'.length, -'.git'.length)}#readme`)
    expect(keywords).toEqual(expect.arrayContaining(['job-queue', 'postgresql', 'sqlite']))
  })

  it('is imported under every name that it exports', async () => {
    const manifest = JSON.parse(await readFile('package.json', 'utf8')) as { exports: object }
    const names = Object.keys(manifest.exports).map((path) => path.replace('.', 'pawl'))
    expect(names).toContain('pawl')
    const importing = (some: readonly string[]): Promise<Ran> => {
      const code = some.map((name) => `await import('${name}')`).join('\n')
      return node(app, '--input-type=module', '--eval', code)
    }
    const needsPeer = 'pawl/opentelemetry'
    const ran = await importing(names.filter((name) => name !== needsPeer))
    expect(ran).toEqual({ code: 0, output: '' })
    const { code, output } = await importing([needsPeer])
    expect([code, output]).toEqual([1, expect.stringContaining("'@opentelemetry/api'")])
    await link(app, '@opentelemetry/api')
    expect(await importing([needsPeer])).toEqual({ code: 0, output: '' })
  })

  it('loads nothing of the server, nor of the protocol, unless it is asked for', async () => {
    const home = join(app, 'node_modules', 'pawl', 'dist')
    const loaded = async (entry: string): Promise<string> => {
      const texts = new Map<string, string>()
      const open = [join(home, entry)]
      for (let path = open.pop(); path !== undefined; path = open.pop()) {
        if (texts.has(path)) continue
        const text = await readFile(path, 'utf8')
        texts.set(path, text)
        for (const [, name = ''] of text.matchAll(
          /^(?:\} from|import|export .* from) "(\.[^"]+)"/gm,
        )) {
          open.push(join(path, '..', name))
        }
      }
      return [...texts.values()].join('\n')
    }
    const [own, server] = [await loaded('index.js'), await loaded('server/index.js')]
    // Of the catalogue, of the handler and of the store over HTTP.
    const marks = [
      'Says which store this is',
      'every caller that reaches it could do',
      'The call was ended.',
    ]
    expect(marks.filter((mark) => own.includes(mark))).toEqual([])
    expect(marks.filter((mark) => server.includes(mark))).toEqual(marks.slice(0, 2))
    expect(own).not.toContain('observe() takes an engine')
    expect(own).not.toContain('runConformance() takes')
    expect(own).toContain('said where the server opens its store')
  })

  it('is required from CommonJS, where Node loads modules by `require`', async () => {
    const text = [
      `const { open, job } = require('pawl')`,
      `const hello = job('hello', { run: () => 'from CommonJS' })`,
      `void (async () => {`,
      `  const pawl = await open('memory:')`,
      `  pawl.work([hello])`,
      `  console.log(await (await pawl.submit(hello)).result())`,
      `  await pawl.close()`,
      `})()`,
    ]
    await writeFile(join(app, 'common.cjs'), text.join('\n'))
    const { code, output } = await node(app, 'common.cjs')
    const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
    const isLoaded = major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19)
    expect(code, output).toBe(isLoaded ? 0 : 1)
    expect(output).toContain(isLoaded ? 'from CommonJS' : 'ERR_REQUIRE_ESM')
  })

  it("runs a new user's first job, in under 20 lines that compile under strict", async () => {
    expect(FIRST_JOB.trimEnd().split('\n').length).toBeLessThan(20)
    expect(await compile(app, 'first', FIRST_JOB)).toEqual({ code: 0, output: '' })
    const ran = await node(join(app, 'first'), 'main.js')
    expect(ran).toEqual({ code: 0, output: 'HELLO, ADA!\n' })
  })

  it('has declarations that check by themselves', async () => {
    await link(app, '@types/node')
    await link(app, 'undici-types')
    const options = { skipLibCheck: false, types: ['node'], noEmit: true }
    expect(await compile(app, 'whole', FIRST_JOB, options)).toEqual({ code: 0, output: '' })
  })

  it('makes mistakes errors of the compiler, each at its line', async () => {
    const marked = await compile(app, 'marked', MISTAKES, { noEmit: true })
    expect(marked).toEqual({ code: 0, output: '' })
    const bare = await compile(app, 'bare', withoutMarks(MISTAKES), { noEmit: true })
    const lines = [...bare.output.matchAll(/^main\.ts\((\d+),\d+\): error/gm)]
    expect([...new Set(lines.map((match) => Number(match[1])))]).toEqual(mistakenLines(MISTAKES))
    expect(bare.code).not.toBe(0)
  })
})
