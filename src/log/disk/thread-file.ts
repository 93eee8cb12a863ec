/** Where a thread finds its code. */
import { fileURLToPath } from 'node:url'

/**
 * The built package has the thread's file beside the one that starts it; run from sources, Node
 * must be taught to read it. `name` has no ending; `base` is the `import.meta.url` of the file that starts it.
 */
export function threadFile(name: string, base: string): URL {
  if (!base.endsWith('.ts')) return new URL(`./${name}.js`, base)
  const file = fileURLToPath(new URL(`./${name}.ts`, base))
  // Taught to import, it would start a further thread for that alone, and take three times as long.
  const code = `
    import { createRequire } from 'node:module'
    const require = createRequire(${JSON.stringify(import.meta.url)})
    require('tsx/cjs/api').register()
    require(${JSON.stringify(file)})`
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`)
}
