/**
 * The peers' packages, which are installed on first use and never with Pawl, and the programs that
 * run them.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Runtime } from '../workload/run-step.ts'
import { THIS_NODE } from '../workload/run-step.ts'

export class Peers {
  readonly #folder: string

  /** `root`: of the checkout. */
  constructor(root: string) {
    this.#folder = join(root, 'bench', 'peers')
  }

  /** Why nothing is installed, or null. Tells what it does, since it takes a minute. */
  install(say: (line: string) => void): string | null {
    const installed = join(this.#folder, 'node_modules', '.package-lock.json')
    const wanted = join(this.#folder, 'package-lock.json')
    if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(wanted).mtimeMs)
      return null
    say('installing the peers into bench/peers/node_modules (npm ci), which takes a minute …')
    const failure = this.#npm([])
    if (failure === null) return null
    say(`that failed: ${failure}`)
    say('installing them without their install scripts …')
    return this.#npm(['--ignore-scripts'])
  }

  adapter(name: string): string {
    return join(this.#folder, 'adapters', `${name}.mjs`)
  }

  isInstalled(name: string): boolean {
    return existsSync(join(this.#folder, 'node_modules', name, 'package.json'))
  }

  /** The newer Node of the peers where it runs, for all of them alike; else the one that runs this. */
  node(): Runtime & { readonly major: number } {
    const newer = join(this.#folder, 'node_modules', 'node24', 'bin', 'node')
    const version = versionOf(newer)
    return version === null
      ? { ...THIS_NODE, major: majorOf(process.version) }
      : { ...THIS_NODE, program: newer, major: majorOf(version) }
  }

  bun(): Runtime | null {
    const program = join(this.#folder, 'node_modules', '.bin', 'bun')
    return versionOf(program) === null ? null : { program, flags: [] }
  }

  #npm(more: readonly string[]): string | null {
    const { status, error, stderr } = spawnSync('npm', ['ci', ...more], {
      cwd: this.#folder,
      encoding: 'utf8',
      stdio: ['ignore', 'ignore', 'pipe'],
      shell: process.platform === 'win32',
    })
    return status === 0 ? null : (error?.message ?? reasonIn(stderr))
  }
}

const LINES = 4

/** What npm says first is why; the advice that follows is for another day. */
function reasonIn(text: string): string {
  const errors = text.split('\n').filter((line) => line.startsWith('npm error'))
  return errors
    .slice(0, LINES)
    .map((line) => line.slice('npm error'.length).trim())
    .join('; ')
}

function versionOf(program: string): string | null {
  const { status, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : null
}

function majorOf(version: string): number {
  return Number(/\d+/.exec(version)?.[0])
}
