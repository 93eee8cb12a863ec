/**
 * Builds of Pawl in folders of their own: of a commit, or of the files as they are now. Neither
 * changes anything in the checkout, and what changes there during a run is not measured.
 *
 * Both are compiled with, and run on, the packages that are installed in this checkout.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { BadOption } from '../options.ts'

export interface Build {
  readonly name: string
  /** Its `dist/index.js`. */
  readonly entry: string
  /** The packages that it wants, with their versions. */
  readonly dependencies: string
}

const SOURCES = ['src', 'scripts', 'package.json', 'tsconfig.json', 'tsconfig.build.json']

/** `root`: of the checkout. `folder`: does not exist yet. */
export function buildCommit(root: string, ref: string, folder: string): Build {
  const commit = `${ref}^{commit}`
  const found = spawnSync('git', ['rev-parse', '--verify', '--quiet', '--short', commit], {
    cwd: root,
    encoding: 'utf8',
  })
  if (found.status !== 0) {
    throw new BadOption(`'${ref}' names no commit here. Write a branch, a tag or a hash.`)
  }
  const hash = found.stdout.trim()
  const archive = `${folder}.tar`
  mkdirSync(folder)
  run(root, 'git', ['archive', '--format=tar', `--output=${archive}`, hash, ...SOURCES])
  run(root, 'tar', ['-xf', archive, '-C', folder])
  return compile(root, folder, folder, ref === hash ? hash : `${ref} (${hash})`)
}

export function buildFiles(root: string, folder: string): Build {
  mkdirSync(folder)
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'))
  return compile(root, root, folder, 'the working tree')
}

function compile(root: string, sources: string, folder: string, name: string): Build {
  const packages = join(root, 'node_modules')
  symlinkSync(packages, join(folder, 'node_modules'), 'junction')
  const dist = join(folder, 'dist')
  const script = join(sources, 'scripts', 'build.mjs')
  // A commit that has none is compiled file by file.
  const tsc = [join(packages, 'typescript', 'bin', 'tsc'), '--project', 'tsconfig.build.json']
  const build = existsSync(script) ? [script, dist] : [...tsc, '--outDir', dist]
  run(sources, process.execPath, build)
  const manifest = readFileSync(join(folder, 'package.json'), 'utf8')
  const { dependencies } = JSON.parse(manifest) as { readonly dependencies: unknown }
  return { name, entry: join(dist, 'index.js'), dependencies: JSON.stringify(dependencies) }
}

function run(cwd: string, program: string, args: readonly string[]): void {
  const { status, error, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8' })
  if (status === 0) return
  const said = error?.message ?? `${stdout}${stderr}`
  throw new BadOption(`${[program, ...args].join(' ')} failed in ${cwd}:\n${said}`)
}
