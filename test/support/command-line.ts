/**
 * The real program `pawl`, compiled once in each process of the tests, and run as a process of its own.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { buildFiles, CHILDREN, THREADS } from './built.ts'

const PROGRAM = { index: 'src/index.ts', 'cli/main': 'src/cli/main.ts', ...THREADS, ...CHILDREN }
const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))

let built: Promise<string> | null = null

/** The folder with what was compiled; it goes with the process. */
function program(): Promise<string> {
  built ??= buildFiles(PROGRAM).then((folder) => {
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
    return folder
  })
  return built
}

export async function programPath(): Promise<string> {
  return join(await program(), 'cli', 'main.js')
}

export interface CliRun {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface CliTerms {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** Written to stdin, which then ends. */
  readonly input?: string
}

/** Nothing of the surroundings of the tests. */
export function cliEnv(env: CliTerms['env'] = {}): NodeJS.ProcessEnv {
  const { PATH, SystemRoot } = process.env
  return { PATH, SystemRoot, HOME: tmpdir(), XDG_CONFIG_HOME: join(tmpdir(), 'none'), ...env }
}

export async function startCli(
  args: readonly string[],
  terms: CliTerms = {},
): Promise<ChildProcess> {
  const { cwd = tmpdir(), env } = terms
  const child = spawn(process.execPath, [await programPath(), ...args], { cwd, env: cliEnv(env) })
  onTestFinished(() => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
  })
  return child
}

export async function cli(args: readonly string[], terms: CliTerms = {}): Promise<CliRun> {
  const child = await startCli(args, terms)
  child.stdin?.on('error', (error: NodeJS.ErrnoException) => {
    // The program has refused its arguments, and is gone BEFORE it reads.
    if (error.code !== 'EPIPE') throw error
  })
  child.stdin?.end(terms.input ?? '')
  return endOf(child)
}

export async function endOf(child: ChildProcess): Promise<CliRun> {
  const output = outputOf(child)
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, out: output.out, err: output.err }
}

/** What it printed so far. */
export function outputOf(child: ChildProcess): { out: string; err: string } {
  const output = { out: '', err: '' }
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output.out += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output.err += text
  })
  return output
}

/** Throws with what it said if it did not go well. */
export async function cliJson<T = Record<string, unknown>>(
  args: readonly string[],
  terms: CliTerms = {},
): Promise<T> {
  const { code, out, err } = await cli([...args, '-o', 'json'], terms)
  if (code !== 0) throw new Error(`pawl ${args.join(' ')} ended with ${code}: ${err}${out}`)
  return JSON.parse(out) as T
}

/** A folder in which a module finds `pawl`, and what else is named of this repository's packages. */
export async function userFolder(...packages: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-cli-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const modules = join(folder, 'node_modules')
  await mkdir(modules)
  await symlink(await program(), join(modules, 'pawl'))
  for (const name of packages) await symlink(join(MODULES, name), join(modules, name))
  return folder
}
