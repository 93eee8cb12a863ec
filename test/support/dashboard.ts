/**
 * The dashboard as a server has it, built from this tree into a folder of its own.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { DashboardFiles } from '../../src/dashboard/index.ts'
import type { Pawl } from '../../src/index.ts'
import { answersOf } from '../../src/server/handler.ts'
import { listen } from '../../src/server/listener.ts'
import type { ServeOptions } from '../../src/server/index.ts'
import type { RequestMiddleware } from '../../src/server/middleware.ts'
import { middlewareOf } from '../../src/server/middleware.ts'
import { handlerTerms, serveTerms } from '../../src/server/options.ts'

export interface BuiltDashboard {
  readonly folder: string
  readonly serve: (pawl: Pawl, options?: ServeOptions) => Promise<ServedDashboard>
  /** For a server of the test's own, open to all. */
  readonly middleware: (pawl: Pawl) => RequestMiddleware
  readonly remove: () => Promise<void>
}

export interface ServedDashboard {
  /** Of the page. */
  readonly url: string
  readonly port: number
  readonly close: () => Promise<void>
}

export async function builtDashboard(): Promise<BuiltDashboard> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-dashboard-'))
  await promisify(execFile)(process.execPath, [join('scripts', 'dashboard.mjs'), folder])
  const files = new DashboardFiles(pathToFileURL(`${folder}/`))
  return {
    folder,
    serve: async (pawl, options = {}) => {
      const terms = serveTerms({ port: 0, ...options })
      const listener = await listen(answersOf(pawl, { ...terms, dashboard: files }), terms)
      const { port } = listener
      const url = `http://127.0.0.1:${port}${terms.path}/dashboard/`
      return { url, port, close: () => listener.close() }
    },
    middleware: (pawl) => {
      const terms = { ...handlerTerms({ unprotected: true }), dashboard: files }
      return middlewareOf(answersOf(pawl, terms), terms)
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
