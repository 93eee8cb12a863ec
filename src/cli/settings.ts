/**
 * Which store a command is about, and how it is reached: from the command line, then the environment, then the config
 * file. Nothing prints a token, nor a place with its password.
 */
import { existsSync, readFileSync } from 'node:fs'
import type { OpenOptions } from '../engine/index.ts'
import type { ConfigFile, Profile } from './config-file.ts'
import { pathFrom, readConfigFile } from './config-file.ts'
import { WrongUsage } from './failure.ts'

export interface GivenSettings {
  readonly store?: string
  readonly schema?: string
  readonly profile?: string
  readonly config?: string
  readonly tokenFile?: string
}

const HOW =
  "write --store ./data (or 'sqlite:jobs.db', 'postgres://…', 'http://…'), set PAWL_STORE, or name a profile of the config file"

const SHORTEST_PROTOCOL = /^[a-z][a-z0-9+.-]+:/i
const SQLITE = 'sqlite:'

/** A place, and the profile that names it; null: it was named without one. */
interface NamedStore {
  readonly store: string
  readonly profile: Profile | null
}

export class Settings {
  readonly #given: GivenSettings
  #file: ConfigFile | null | undefined

  constructor(given: GivenSettings) {
    this.#given = given
  }

  get store(): string {
    return this.#named().store
  }

  get schema(): string | undefined {
    return this.#given.schema ?? this.#named().profile?.schema
  }

  /**
   * Undefined: there is none. It is never on the command line, which other users of the machine can see, and one of a
   * profile goes to the store of that profile alone.
   */
  get token(): string | undefined {
    const { tokenFile } = this.#given
    if (tokenFile !== undefined) return tokenIn(tokenFile)
    const { profile } = this.#named()
    if (profile?.tokenFile !== undefined) {
      return tokenIn(pathFrom(this.#file as ConfigFile, profile.tokenFile))
    }
    const name = profile?.tokenEnv ?? 'PAWL_TOKEN'
    const token = process.env[name]
    if (token !== undefined && token !== '') return token
    if (profile?.tokenEnv === undefined) return undefined
    throw new WrongUsage(`The variable ${name}, which the profile names for its token, is not set.`)
  }

  /** The command line comes before a profile that it names, then the environment, then the profile of the file. */
  #named(): NamedStore {
    const { store, profile } = this.#given
    const named = store ?? (profile === undefined ? process.env['PAWL_STORE'] : undefined)
    if (named !== undefined && named !== '') return { store: named, profile: null }
    const found = this.#profile()
    if (found?.store !== undefined) return { store: this.#placeFrom(found.store), profile: found }
    throw new WrongUsage(`No store is named: ${HOW}.`)
  }

  /** What `open` is given beside the place. */
  get openOptions(): OpenOptions {
    const { schema, store } = this
    if (isServer(store)) {
      const { token } = this
      return token === undefined ? {} : { token }
    }
    return schema === undefined ? {} : { schema }
  }

  /** A directory or a file that is not there is not made by a command that only looks. */
  assertIsThere(): void {
    const { store } = this
    if (store === 'memory:') {
      throw new WrongUsage(
        "A store in memory is gone with its process, so there is nothing in it: name a directory, a database or a server's address.",
      )
    }
    const path = store.startsWith(SQLITE) ? store.slice(SQLITE.length) : store
    if (!store.startsWith(SQLITE) && SHORTEST_PROTOCOL.test(store)) return
    if (existsSync(path)) return
    throw new WrongUsage(`There is no store at '${store}': ${HOW}.`)
  }

  #profile(): Profile | null {
    const name = this.#given.profile ?? process.env['PAWL_PROFILE']
    this.#file ??= readConfigFile(this.#given.config ?? process.env['PAWL_CONFIG'])
    const file = this.#file
    if (file === null) {
      if (name === undefined || name === '') return null
      throw new WrongUsage(`There is no config file, so there is no profile '${name}'.`)
    }
    const wanted = name === undefined || name === '' ? file.profile : name
    if (wanted === null) return null
    if (Object.hasOwn(file.profiles, wanted)) return file.profiles[wanted] as Profile
    const known = Object.keys(file.profiles)
    throw new WrongUsage(
      `There is no profile '${wanted}' in ${file.path}: there ${known.length === 0 ? 'is none' : `are '${known.join("', '")}'`}.`,
    )
  }

  #placeFrom(store: string): string {
    const file = this.#file as ConfigFile
    if (store.startsWith(SQLITE)) return SQLITE + pathFrom(file, store.slice(SQLITE.length))
    return SHORTEST_PROTOCOL.test(store) ? store : pathFrom(file, store)
  }
}

export function isServer(store: string): boolean {
  return /^https?:\/\//.test(store)
}

export function isDatabase(store: string): boolean {
  return store.startsWith(SQLITE) || /^postgres(?:ql)?:\/\//.test(store)
}

/** Without what is secret in it. */
export function shownStore(store: string): string {
  return store.replace(/^(\w+:\/\/)[^/]*@/, '$1…@').replace(/\?.*$/, '')
}

function tokenIn(path: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new WrongUsage(`The token cannot be read from '${path}': ${(error as Error).message}`)
  }
  const token = text.trim()
  if (token !== '') return token
  throw new WrongUsage(`The file '${path}' is empty: write the token into it.`)
}
