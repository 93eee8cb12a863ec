/**
 * Where a thread finds its code: the package has a file for it. A bundler that puts Pawl into the file of a program
 * leaves that file behind, and the program is told so.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { PackageFileMissing } from '../errors.ts'

/** The `import.meta.url` of a file; undefined in a bundle of CommonJS. */
export type Base = string | undefined

/** The file of the built package that stands beside the one that starts it. `name` has no ending. */
export function packageFile(name: string, base: Base): URL {
  const url = base === undefined ? null : new URL(`./${name}.js`, base)
  if (url === null || !existsSync(url)) throw new PackageFileMissing(`${name}.js`)
  return url
}

/**
 * The built package has the thread's file beside the one that starts it; run from sources, Node
 * must be taught to read it. `name` has no ending; `base` is the `import.meta.url` of the file that starts it.
 */
export function threadFile(name: string, base: Base): URL {
  if (base?.endsWith('.ts') !== true) return packageFile(name, base)
  const file = fileURLToPath(new URL(`./${name}.ts`, base))
  // Taught to import, it would start a further thread for that alone, and take three times as long.
  const code = `
    import { createRequire } from 'node:module'
    const require = createRequire(${JSON.stringify(import.meta.url)})
    require('tsx/cjs/api').register()
    require(${JSON.stringify(file)})`
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`)
}
