/**
 * How far apart handlers run from their worker, as people write it.
 *
 * - none: in the worker's own thread. A handler that blocks it blocks the worker.
 * - thread: in threads of this process. A handler may compute for long, and can be stopped.
 * - process: in processes of their own. A handler may crash, and the worker does not.
 *
 * Functions do not travel, so a child imports the modules that export the definitions.
 */
import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ArtifactPlace } from '../../definition/index.ts'
import { InvalidDefinition } from '../../definition/index.ts'
import type { Timing } from '../../store/clock.ts'
import { rootOf } from '../artifact/places.ts'
import type { Executor } from '../handler/executor.ts'
import { inProcess } from '../handler/executor.ts'
import { withMiddleware } from '../handler/run-around.ts'
import type { Isolation, WorkerOptions } from '../worker-options.ts'
import { DEFAULT_CONCURRENCY } from '../worker-options.ts'
import { childMain } from './child-entry.ts'
import { isInsideChild } from './child-host.ts'
import { ChildPool } from './child-pool.ts'
import type { StartChild } from './child.ts'
import { startProcess, startThread } from './child.ts'

const STARTS: Readonly<Record<Exclude<Isolation, 'none'>, StartChild>> = {
  thread: startThread,
  process: startProcess,
}

export function executorFor(
  options: WorkerOptions,
  timing: Timing,
  place: ArtifactPlace,
  onError: (error: Error) => void,
): Executor {
  return withMiddleware(isolated(options, timing, place, onError), options.use, onError)
}

function isolated(
  options: WorkerOptions,
  timing: Timing,
  place: ArtifactPlace,
  onError: (error: Error) => void,
): Executor {
  const { isolation = 'none', concurrency: most = DEFAULT_CONCURRENCY } = options
  if (isolation === 'none') return inProcess
  if (!Object.hasOwn(STARTS, isolation)) {
    throw new InvalidDefinition(
      `The isolation of a worker is 'none', 'thread' or 'process', not '${isolation}'.`,
    )
  }
  if (isInsideChild()) {
    throw new InvalidDefinition(
      `A child of a worker has imported a module that starts a worker with isolation '${isolation}' itself: put the definitions into a module of their own, and give that one as \`modules\`.`,
    )
  }
  const modules = (options.modules ?? []).map((one) => hrefOf(one))
  if (modules.length === 0) {
    throw new InvalidDefinition(
      `A worker with isolation '${isolation}' needs \`modules\`: the URLs or absolute paths of the modules that export its definitions, e.g. [import.meta.url].`,
    )
  }
  // Here, and not when the first job needs a child.
  childMain()
  const artifacts = rootOf(place)
  return new ChildPool({ start: STARTS[isolation], modules, most, timing, artifacts, onError })
}

function hrefOf(module: string | URL): string {
  if (module instanceof URL) return module.href
  if (isAbsolute(module)) return pathToFileURL(module).href
  // One letter and a colon is a drive, not a scheme.
  if (/^[a-z][a-z0-9+.-]+:/i.test(module)) return module
  throw new InvalidDefinition(
    `'${module}' among the \`modules\` of a worker is neither a URL nor an absolute path: a child would look for it elsewhere.`,
    { module },
  )
}
