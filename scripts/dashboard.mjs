// Builds the page of the dashboard: node scripts/dashboard.mjs [folder], by default dist/dashboard/
// One script, one style sheet, the page and its icon. All of them name each other by relative paths,
// so that the page works below any path.
import { copyFile, mkdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const page = join(root, 'src', 'dashboard', 'page')
const catalogue = join(root, 'src', 'protocol', 'catalogue.ts')

// Importing the kernel, the protocol or definitions does nothing by itself: of them, the page has what it uses.
const onlyWhatIsUsed = {
  name: 'only-what-is-used',
  setup({ onResolve }) {
    onResolve({ filter: /\/(?:kernel|protocol|definition)\// }, ({ path, resolveDir, kind }) =>
      kind === 'import-statement'
        ? { path: resolve(resolveDir, path), sideEffects: false }
        : undefined,
    )
    onResolve({ filter: /^\.\/[\w-]+\.ts$/ }, ({ path, resolveDir }) =>
      /[\\/]src[\\/](?:kernel|protocol|definition)(?:[\\/]|$)/.test(resolveDir)
        ? { path: resolve(resolveDir, path), sideEffects: false }
        : undefined,
    )
  },
}

// Of an operation the page needs where it is, how its command is written, and whether it is held by a filter. Schemas, examples and sentences stay behind: the
// server checks what it is given.
const onlyRoutesOfOperations = {
  name: 'only-routes-of-operations',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]src[\\/]protocol[\\/]catalogue\.ts$/ }, async () => {
      const { OPERATIONS, PUBLIC_OPERATIONS } = await readCatalogue()
      const routes = Object.values(OPERATIONS).map(({ name, method, path, scope, command }) => [
        name,
        {
          name,
          method,
          path,
          ...(scope === 'filter' ? { scope } : {}),
          command: commandForm(command),
        },
      ])
      const contents = [
        `export const OPERATIONS = ${JSON.stringify(Object.fromEntries(routes))}`,
        `export const PUBLIC_OPERATIONS = new Set(${JSON.stringify([...PUBLIC_OPERATIONS])})`,
      ]
      return { contents: contents.join('\n'), loader: 'js' }
    })
  },
}

async function readCatalogue() {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [catalogue],
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
  })
  const code = Buffer.from(outputFiles[0].contents).toString('base64')
  return import(`data:text/javascript;base64,${code}`)
}

function commandForm({ none, words, positional, options, json, asks }) {
  return none === undefined ? { words, positional, options, json, asks } : { none: '' }
}

export async function buildDashboard(folder) {
  await mkdir(folder, { recursive: true })
  await build({
    absWorkingDir: root,
    entryPoints: { page: join(page, 'main.tsx'), style: join(page, 'style.css') },
    outdir: folder,
    bundle: true,
    minify: true,
    platform: 'browser',
    format: 'esm',
    target: ['es2022', 'chrome109', 'firefox115', 'safari16'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    plugins: [onlyRoutesOfOperations, onlyWhatIsUsed],
  })
  for (const file of ['index.html', 'icon.svg']) {
    await copyFile(join(page, file), join(folder, file))
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await buildDashboard(resolve(process.argv[2] ?? join(root, 'dist', 'dashboard')))
}
