/**
 * Runs a step in a process of its own, and hands over what it found.
 */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { StepOrder } from './order.ts'
import { RESULT } from './order.ts'
import type { StepReport } from './steps.ts'

const PROGRAM = fileURLToPath(new URL('step-process.js', import.meta.url))
const LONGEST_MS = 180_000
const ERROR_LENGTH = 600

export interface Runtime {
  /** The program that runs the step: a Node, or what else can. */
  readonly program: string
  readonly flags: readonly string[]
}

export const THIS_NODE: Runtime = { program: process.execPath, flags: ['--expose-gc'] }

/** A bench that is broken off by hand leaves none behind. */
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export interface RunningStep {
  readonly child: ChildProcess
  readonly report: Promise<StepReport>
}

export function startStep(
  order: StepOrder,
  runtime: Runtime = THIS_NODE,
  onLine: (line: string) => void = () => undefined,
): RunningStep {
  const child = spawn(runtime.program, [...runtime.flags, PROGRAM, JSON.stringify(order)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_ENV: 'production' },
  })
  running.add(child)
  let report: StepReport | null = null
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-ERROR_LENGTH)
  })
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.startsWith(RESULT)) report = JSON.parse(line.slice(RESULT.length)) as StepReport
    else onLine(line)
  })
  const ended = new Promise<StepReport>((resolve, reject) => {
    const deadline = setTimeout(() => {
      child.kill('SIGKILL')
      said = `it took more than ${LONGEST_MS / 1e3} s`
    }, LONGEST_MS)
    child.once('error', reject)
    child.once('close', (code, signal) => {
      clearTimeout(deadline)
      running.delete(child)
      if (report !== null) resolve(report)
      else reject(new Error(`${order.step} ended by ${code ?? signal}: ${said.trim()}`))
    })
  })
  return { child, report: ended }
}

export function runStep(order: StepOrder, runtime?: Runtime): Promise<StepReport> {
  return startStep(order, runtime).report
}
