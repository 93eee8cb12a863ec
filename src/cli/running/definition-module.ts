/**
 * The jobs that a module of the user's exports, in JavaScript or TypeScript. TypeScript is run by Node, where it strips
 * types by itself, else by tsx, where the user has installed it.
 */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AnyJob } from '../../definition/index.ts'
import { isPipeline } from '../../definition/index.ts'
import { WrongUsage } from '../failure.ts'

export interface DefinitionModule {
  readonly path: string
  readonly url: string
  readonly definitions: readonly AnyJob[]
}

const TYPESCRIPT = new Set(['.ts', '.mts', '.cts'])
const JAVASCRIPT = new Set(['.js', '.mjs', '.cjs'])

export async function readDefinitions(given: string): Promise<DefinitionModule> {
  const path = resolve(given)
  assertModule(given, path)
  if (TYPESCRIPT.has(extname(path))) await prepareTypeScript(path)
  const url = pathToFileURL(path).href
  const namespace = (await import(url)) as Readonly<Record<string, unknown>>
  const definitions = definitionsIn(given, namespace)
  return { path, url, definitions }
}

function assertModule(given: string, path: string): void {
  if (!existsSync(path)) {
    throw new WrongUsage(
      `There is no file '${given}': name a module that exports jobs, such as ./jobs.ts.`,
    )
  }
  const kind = extname(path)
  if (TYPESCRIPT.has(kind) || JAVASCRIPT.has(kind)) return
  throw new WrongUsage(`'${given}' is no module: it ends in .ts, .mts, .cts, .js, .mjs or .cjs.`)
}

/** Node 22.18 and 23.6 say so themselves; before, types are only stripped if a flag asks for it. */
function stripsTypes(): boolean {
  const { typescript } = process.features as { readonly typescript?: string | false }
  return typeof typescript === 'string'
}

async function prepareTypeScript(path: string): Promise<void> {
  if (stripsTypes()) return
  const tsx = tsxFor(path)
  if (tsx === null) {
    throw new WrongUsage(
      `Node.js ${process.versions.node} does not run TypeScript, and tsx is not installed: run \`npm install -D tsx\`, use Node.js 22.18 or later, or name a compiled file.`,
    )
  }
  // A package without `"type": "module"` has its TypeScript taken for CommonJS.
  for (const file of tsx) {
    const { register } = (await import(file)) as { register: () => unknown }
    register()
  }
}

interface TsxManifest {
  readonly exports?: Readonly<
    Record<string, { readonly import?: { readonly default?: string } } | undefined>
  >
}

/** What hooks into `require`, and into `import`. */
const TSX_PARTS = ['./cjs/api', './esm/api']

/** Where the module would find it, or the working folder; null: nowhere. */
function tsxFor(path: string): readonly string[] | null {
  for (const from of [path, join(process.cwd(), 'package.json')]) {
    try {
      const manifest = createRequire(from).resolve('tsx/package.json')
      const { exports } = JSON.parse(readFileSync(manifest, 'utf8')) as TsxManifest
      const files = TSX_PARTS.flatMap((part) => exports?.[part]?.import?.default ?? [])
      if (files.length > 0) {
        return files.map((file) => pathToFileURL(join(dirname(manifest), file)).href)
      }
    } catch {
      // It is not there.
    }
  }
  return null
}

function definitionsIn(given: string, namespace: Readonly<Record<string, unknown>>): AnyJob[] {
  const exported = Object.values(namespace).concat(ofCommonJs(namespace))
  const found = new Set(exported.flat().filter(isRunnable))
  const names = new Map<string, AnyJob>()
  for (const one of found) {
    if (names.has(one.name)) {
      throw new WrongUsage(`'${given}' exports two different jobs named '${one.name}': rename one.`)
    }
    names.set(one.name, one)
  }
  if (names.size > 0) return [...names.values()]
  throw new WrongUsage(
    `'${given}' exports no job: export what job('…', { run }) or pipeline('…', …) gives.`,
  )
}

/** What a CommonJS module exports is the default of its namespace. */
function ofCommonJs({ default: exported }: Readonly<Record<string, unknown>>): unknown[] {
  if (typeof exported !== 'object' || exported === null || isRunnable(exported)) return []
  return Object.values(exported)
}

/** By its looks: the module may have another copy of this package. A contract has nothing to run. */
function isRunnable(value: unknown): value is AnyJob {
  if (typeof value !== 'object' || value === null) return false
  const { name, run, effects, isContract } = value as Readonly<Record<string, unknown>>
  if (typeof name !== 'string') return false
  if (isPipeline(value as AnyJob)) return true
  const isHandled = typeof run === 'function'
  return isHandled && effects instanceof Map && isContract !== true
}
