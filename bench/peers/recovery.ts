/**
 * How long after a worker was killed in the middle of its job another worker starts that job, with
 * the defaults of the queue. Workers only wait here, so all queues are tried side by side.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { runStep, startStep, THIS_NODE } from '../workload/run-step.ts'
import type { Subject } from '../workload/run-workload.ts'
import { IN_FLIGHT } from '../workload/run-workload.ts'

const STARTED_MS = 20_000
const AT_WORK_MS = 2_000
export const LONGEST_MS = 90_000

/** Seconds; null if it was not started within `LONGEST_MS`. */
export async function secondsToRecover({
  adapter,
  variant,
  entry,
  places,
  runtime = THIS_NODE,
}: Subject): Promise<number | null> {
  const spot = await places.fresh()
  const place = { ...spot, variant, ...(entry === undefined ? {} : { entry }) }
  const size = { jobs: 1, inFlight: IN_FLIGHT, results: false }
  const order = { adapter, place, size, counts: false }
  const worker = () => {
    let start: () => void
    const hasStarted = new Promise<true>((resolve) => {
      start = () => resolve(true)
    })
    const { child, report } = startStep({ ...order, step: 'sleeper' }, runtime, (line) => {
      if (line === 'STARTED') start()
    })
    const ended = report.then(() => null)
    ended.catch(() => undefined)
    return { child, hasStarted: Promise.race([hasStarted, ended]) }
  }
  try {
    await runStep({ ...order, step: 'setup' }, runtime)
    await runStep({ ...order, step: 'enqueueOne' }, runtime)
    const first = worker()
    const isRunning = await Promise.race([first.hasStarted, delay(STARTED_MS, null)])
    if (isRunning === null) throw new Error('its first worker never started the job')
    await delay(AT_WORK_MS)
    first.child.kill('SIGKILL')
    const killedAt = performance.now()
    const second = worker()
    const isBack = await Promise.race([second.hasStarted, delay(LONGEST_MS, null)])
    second.child.kill('SIGKILL')
    return isBack === null ? null : (performance.now() - killedAt) / 1e3
  } finally {
    await places.drop(spot)
  }
}
