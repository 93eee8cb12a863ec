/**
 * The golden directories that there are, one for each way in which bytes were ever written, and
 * how the one for today is added. One that is there is never written again.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { FORMAT } from '../../src/log/format/format.ts'
import { CHECKPOINT_FORMAT } from '../../src/log/checkpoint/manifest.ts'
import { CURRENT_VERSION } from '../../src/log/format/versions.ts'
import type { Told } from './directory.ts'
import { ask, tellStory } from './directory.ts'

export const HERE = fileURLToPath(new URL('.', import.meta.url))
const STORE = 'store'
const EXPECTED = 'expected.json'

/**
 * `format-1`, and `format-1.2` after two changes that the format's own number does not count:
 * of the version of an entry, or of the format of checkpoints.
 */
export function currentName(): string {
  const raised = Object.values(CURRENT_VERSION).reduce((sum, version) => sum + version - 1, 0)
  const changes = raised + CHECKPOINT_FORMAT - 1
  return changes === 0 ? `format-${FORMAT}` : `format-${FORMAT}.${changes}`
}

export function goldenNames(): string[] {
  return readdirSync(HERE)
    .filter((name) => name.startsWith('format-'))
    .toSorted()
}

/** What a store said of itself when it was made. */
export function expectedOf(name: string): Told {
  return JSON.parse(readFileSync(join(HERE, name, EXPECTED), 'utf8')) as Told
}

/** A copy of the store, to be opened or spoilt. */
export function copyTo(name: string, folder: string): void {
  cpSync(join(HERE, name, STORE), folder, { recursive: true })
}

/** The files of a folder, by name. */
export function filesIn(folder: string): Map<string, Buffer> {
  const names = readdirSync(folder).toSorted()
  return new Map(names.map((name) => [name, readFileSync(join(folder, name))]))
}

export function filesOf(name: string): Map<string, Buffer> {
  return filesIn(join(HERE, name, STORE))
}

/** Adds a golden directory. `scratch`: an empty folder. */
export async function addGolden(target: string, scratch: string): Promise<void> {
  if (existsSync(target)) {
    throw new Error(
      `${target} is there, and logs like it may be anywhere: it is never written again. If the ` +
        'bytes are meant to change, raise the format, or the version of the entry, first; until ' +
        '0.1.0 is released, remove the directory instead.',
    )
  }
  const told = join(scratch, 'told')
  const now = await tellStory(told)
  mkdirSync(target, { recursive: true })
  cpSync(told, join(target, STORE), { recursive: true })
  writeFileSync(join(target, EXPECTED), textOf(await ask(told, now)))
}

/** One line for each thing, so that it can be read. */
function textOf(told: Told): string {
  const fields = Object.entries(told).map(([field, value]) => {
    const lines = Array.isArray(value) ? value.map((one) => `  ${JSON.stringify(one)}`) : null
    const text = lines === null ? JSON.stringify(value) : `[\n${lines.join(',\n')}\n]`
    return `${JSON.stringify(field)}: ${text}`
  })
  return `{\n${fields.join(',\n')}\n}\n`
}
