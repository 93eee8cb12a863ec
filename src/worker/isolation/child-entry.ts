/**
 * The file that a child starts with, and how Node is to be taught to read it.
 *
 * The built package is plain JavaScript. Run from its sources, or with modules of the user that
 * are TypeScript, the child needs a loader: tsx, if it is installed. Otherwise it gets what this
 * process was started with, and Node's own ways.
 */
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { packageFile } from '../../store/index.ts'

interface ThreadEntry {
  readonly url: URL
  /** Absent: as this thread was started. */
  readonly execArgv?: string[]
}

interface ProcessEntry {
  readonly file: string
  /** Absent: as this process was started. */
  readonly execArgv?: string[]
}

const TYPESCRIPT = /\.[cm]?tsx?$/
/** Undefined in a bundle of CommonJS. */
const { url: HERE } = import.meta as Partial<ImportMeta>
const IS_SOURCE = HERE?.endsWith('.ts') === true

/** Throws `PackageFileMissing` in a bundle that has Pawl inside. */
export function childMain(): URL {
  return IS_SOURCE ? new URL('./child-main.ts', HERE) : packageFile('child-main', HERE)
}

export function threadEntry(modules: readonly string[]): ThreadEntry {
  const loader = loaderFor(modules)
  const main = childMain()
  if (loader === null) return { url: main }
  return { url: dataUrl(`${loader}; await import('${main.href}')`), execArgv: [] }
}

export function processEntry(modules: readonly string[]): ProcessEntry {
  const file = fileURLToPath(childMain())
  const inherited = withoutInspector(process.execArgv)
  const loader = loaderFor(modules)
  if (loader !== null) {
    return { file, execArgv: [...withoutTsx(inherited), '--import', dataUrl(loader).href] }
  }
  // Node itself leaves out what only the first process is to do, such as `-e`.
  return inherited.length === process.execArgv.length ? { file } : { file, execArgv: inherited }
}

/** Code that teaches Node to read TypeScript; null if that is not needed, or not to be had. */
function loaderFor(modules: readonly string[]): string | null {
  const sources = modules.filter((href) => TYPESCRIPT.test(new URL(href).pathname))
  if (!IS_SOURCE && sources.length === 0) return null
  // Where it could be known from: here, the user's modules, their project, or how we started.
  const places = [HERE ?? [], sources, `${process.cwd()}/`, process.execArgv].flat()
  for (const from of places) {
    try {
      const resolved = createRequire(from).resolve('tsx/esm/api')
      const tsx = new URL('./index.mjs', pathToFileURL(resolved)).href
      return `import { register } from '${tsx}'; register()`
    } catch {
      // Not installed there.
    }
  }
  return null
}

function dataUrl(code: string): URL {
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`)
}

/** Two processes cannot be looked at on one port. */
function withoutInspector(argv: readonly string[]): string[] {
  return argv.filter((flag) => !flag.startsWith('--inspect'))
}

const LOADING = /^(?:-r|--require|--import|--loader|--experimental-loader)$/
const LOADING_TSX = /^--(?:require|import|loader|experimental-loader)=.*\btsx\b/
const EVALUATING = /^(?:-e|-p|-pe|--eval|--print)$/

/** It is registered by the child, and twice would be once too often. */
function withoutTsx(argv: readonly string[]): string[] {
  const kept: string[] = []
  for (let i = 0; i < argv.length; i++) {
    const [flag = '', value = ''] = argv.slice(i, i + 2)
    const takesValue = LOADING.test(flag) || EVALUATING.test(flag)
    const isLeftOut =
      LOADING_TSX.test(flag) ||
      EVALUATING.test(flag) ||
      (LOADING.test(flag) && /\btsx\b/.test(value))
    if (!isLeftOut) kept.push(flag, ...(takesValue ? [value] : []))
    if (takesValue) i += 1
  }
  return kept
}
