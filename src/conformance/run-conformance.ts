/**
 * Examines a worker in any language: starts a server and the worker's command, and checks what it does. The command is
 * given PAWL_URL and PAWL_TOKEN, and has handlers for the types of `checks.ts`.
 */
import { InvalidDefinition } from '../definition/index.ts'
import { accessTo } from '../engine/engine-access.ts'
import type { EngineAccess } from '../engine/engine-access.ts'
import { open } from '../engine/index.ts'
import { serve } from '../server/index.ts'
import { newToken } from './random.ts'
import { ConformanceBench, WorkerFault } from './bench.ts'
import { CONFORMANCE_CHECKS } from './checks.ts'
import { MeddlingProxy } from './meddling-proxy.ts'
import { WorkerProcess } from './worker-process.ts'

export interface CheckResult {
  /** What the worker does, or does not do. */
  readonly name: string
  readonly isRequired: boolean
  readonly isOk: boolean
  /** Null: it does. */
  readonly why: string | null
}

export interface ConformanceReport {
  /** Every check that is required holds. */
  readonly isOk: boolean
  readonly checks: readonly CheckResult[]
  /** The last of what the worker wrote. */
  readonly said: string
}

export interface ConformanceOptions {
  /** Told after each check. */
  readonly onCheck?: (result: CheckResult) => void
  /** How long the worker may take for what a check wants. Default 20 s. */
  readonly patienceMs?: number
}

const DEFAULT_PATIENCE_MS = 20_000

/** `command`: a program and its arguments. It takes about 15 seconds. */
export async function runConformance(
  command: readonly string[],
  { onCheck, patienceMs = DEFAULT_PATIENCE_MS }: ConformanceOptions = {},
): Promise<ConformanceReport> {
  if (command.length === 0 || command.some((part) => typeof part !== 'string')) {
    throw new InvalidDefinition(
      "runConformance() takes a command, such as ['python3', 'worker.py'].",
    )
  }
  const token = newToken()
  const pawl = await open('memory:')
  const server = await serve(pawl, { port: 0, tokens: [{ token, roles: ['work', 'submit'] }] })
  const proxy = await MeddlingProxy.to(server.url)
  const worker = new WorkerProcess(command, { PAWL_URL: proxy.url, PAWL_TOKEN: token })
  try {
    const access = accessTo(pawl) as EngineAccess
    const bench = new ConformanceBench({ pawl, access, proxy, worker, patienceMs })
    const checks: CheckResult[] = []
    for (const { name, isRequired, run } of CONFORMANCE_CHECKS) {
      const why = await faultOf(() => run(bench))
      const result = { name, isRequired, isOk: why === null, why }
      checks.push(result)
      onCheck?.(result)
      // What comes after it would say the same.
      if (worker.end !== null) break
    }
    const isWhole = checks.length === CONFORMANCE_CHECKS.length
    const isOk = isWhole && checks.every((one) => one.isOk || !one.isRequired)
    return { isOk, checks, said: worker.said }
  } finally {
    worker.kill()
    await proxy.close()
    await server.close()
    await pawl.close()
  }
}

/** Null: there is none. */
async function faultOf(check: () => Promise<void>): Promise<string | null> {
  try {
    await check()
    return null
  } catch (error) {
    if (error instanceof WorkerFault) return error.message
    throw error
  }
}
