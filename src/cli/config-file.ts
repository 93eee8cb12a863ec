/**
 * The config file: profiles, each with a store and how to reach it, so that a command line need not say it.
 *
 *     { "profile": "local",
 *       "profiles": { "local": { "store": "./data" },
 *                     "live": { "store": "https://jobs.example.com", "tokenFile": "~/.pawl-token" } } }
 *
 * It holds no token and no password: it says in which file, or in which variable, they are.
 */
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { WrongUsage } from './failure.ts'

export interface Profile {
  readonly store?: string
  /** Of PostgreSQL. */
  readonly schema?: string
  readonly tokenFile?: string
  /** The name of a variable that has the token. */
  readonly tokenEnv?: string
}

export interface ConfigFile {
  readonly path: string
  /** The profile that is taken when none is named. */
  readonly profile: string | null
  readonly profiles: Readonly<Record<string, Profile>>
}

const KEYS = ['profile', 'profiles']
const PROFILE_KEYS = ['store', 'schema', 'tokenFile', 'tokenEnv']
const HERE = 'pawl.config.json'

/** `named`: by `--config` or `PAWL_CONFIG`; then it must be there. Null: there is none. */
export function readConfigFile(named: string | undefined): ConfigFile | null {
  const path = named === undefined ? placesOf().find((one) => existsSync(one)) : resolve(named)
  if (path === undefined) return null
  if (!existsSync(path)) {
    throw new WrongUsage(`There is no config file at '${named}': name one that is there.`)
  }
  const text = readFileSync(path, 'utf8')
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch (error) {
    throw new WrongUsage(`${path} is no JSON: ${(error as Error).message}`)
  }
  return checked(path, given)
}

/** In the working folder, else of the user. */
function placesOf(): string[] {
  const { XDG_CONFIG_HOME } = process.env
  const base =
    XDG_CONFIG_HOME === undefined || XDG_CONFIG_HOME === ''
      ? join(homedir(), '.config')
      : XDG_CONFIG_HOME
  return [resolve(HERE), join(base, 'pawl', 'config.json')]
}

function checked(path: string, given: unknown): ConfigFile {
  const file = objectOf(given, path, 'It')
  refuseStrangers(file, KEYS, path, 'it')
  const { profile = null } = file
  if (profile !== null && typeof profile !== 'string') {
    throw new WrongUsage(`\`profile\` in ${path} is the name of a profile, as a text.`)
  }
  const profiles = objectOf(file['profiles'] ?? {}, path, '`profiles`')
  for (const [name, one] of Object.entries(profiles)) checkProfile(path, name, one)
  return { path, profile, profiles: profiles as Record<string, Profile> }
}

function checkProfile(path: string, name: string, given: unknown): void {
  const where = `profile '${name}'`
  const profile = objectOf(given, path, `Profile '${name}'`)
  if (Object.hasOwn(profile, 'token')) {
    throw new WrongUsage(
      `${where} in ${path} has a \`token\`: write it into a file of its own, and here \`tokenFile\`, or \`tokenEnv\` with the name of a variable.`,
    )
  }
  refuseStrangers(profile, PROFILE_KEYS, path, where)
  for (const [key, value] of Object.entries(profile)) {
    if (typeof value === 'string' && value !== '') continue
    throw new WrongUsage(`\`${key}\` of ${where} in ${path} is a text, and not an empty one.`)
  }
}

function objectOf(given: unknown, path: string, what: string): Record<string, unknown> {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) {
    return given as Record<string, unknown>
  }
  throw new WrongUsage(`${what} in ${path} is not an object, such as { "profiles": {} }.`)
}

function refuseStrangers(
  given: object,
  known: readonly string[],
  path: string,
  where: string,
): void {
  const stranger = Object.keys(given).find((key) => !known.includes(key))
  if (stranger === undefined) return
  throw new WrongUsage(
    `\`${stranger}\` of ${where} in ${path} is not known: there are '${known.join("', '")}'.`,
  )
}

/** A path in the config file goes out from its folder, or from the user's with `~/`. */
export function pathFrom(file: ConfigFile, path: string): string {
  if (path.startsWith('~/')) return join(homedir(), path.slice(2))
  return isAbsolute(path) ? path : join(dirname(file.path), path)
}
