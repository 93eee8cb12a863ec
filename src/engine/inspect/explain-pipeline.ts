/**
 * "Why is this pipeline not getting on?": of each stage that is not done, what it waits for.
 */
import type { StageSpec } from '../../kernel/index.ts'
import { isEnding, isHeldBack, isSettled } from '../../kernel/index.ts'
import type { JobOverview, StageOverview } from '../../store/index.ts'
import type { Explanation, Reason, Surroundings } from './explain.ts'
import { inStage, NEXT, reason, waitingReasons, whyDead } from './explain.ts'

type StageObstacle = Pick<Explanation, 'isRunnable' | 'reasons'>

export async function explainPipeline(
  around: Surroundings,
  view: JobOverview,
): Promise<StageObstacle> {
  const { job, stages } = view
  const tallies = stages.map(({ tally }) => tally)
  const ending = isEnding(job, tallies)
  const settled = isSettled(job, tallies)
  const reasons: Reason[] = []
  let isRunnable = false
  if (isHeldBack(job)) reasons.push(reason('held', 'It was submitted with `hold`: release it.'))
  for (const [i, spec] of (job.spec.stages ?? []).entries()) {
    const stage = stages[i] as StageOverview
    if (stage.segments === null) {
      const waits = spec.onFailure ? ending && !settled : !ending && !isHeldBack(job)
      if (waits) reasons.push(unopened(spec, stages))
      continue
    }
    const found = await openReasons(around, view, stage)
    isRunnable ||= found.isRunnable
    reasons.push(...found.reasons)
  }
  return { isRunnable, reasons: reasons.length === 0 ? [NEXT] : reasons }
}

function unopened({ name, after, onFailure }: StageSpec, stages: readonly StageOverview[]): Reason {
  if (onFailure) {
    const message = `Stage '${name}' waits until everything else has settled.`
    return inStage(name, reason('prerequisites', message))
  }
  const missing = stages.filter((one) => after.includes(one.name) && one.state !== 'DONE')
  if (missing.length === 0) {
    return inStage(name, reason('next', `Stage '${name}' is about to be opened.`))
  }
  const message = `Stage '${name}' waits for ${missing.map(progressOf).join(' and ')}.`
  return inStage(name, reason('prerequisites', message))
}

function progressOf({ name, state, segments, tally }: StageOverview): string {
  if (segments === null) return `'${name}', which is not open yet`
  const { completed, failed, dead } = tally
  const lost = failed + dead === 0 ? '' : `, ${failed} failed, ${dead} dead`
  return `'${name}' (${state}: ${completed} of ${segments} done${lost})`
}

/** A stage that is open: who has its tasks, what keeps the others, and who needs a person. */
async function openReasons(
  around: Surroundings,
  view: JobOverview,
  { name, state, tally, holders, next, troubled }: StageOverview,
): Promise<StageObstacle> {
  const reasons: Reason[] = []
  let isRunnable = false
  if (tally.leased > 0) {
    const workers = [...new Set(holders.map(({ worker }) => worker))].slice(0, 3).join(', ')
    const message = `${tally.leased} of its tasks run, with ${workers}.`
    reasons.push(inStage(name, reason('running', message, null, holders)))
  }
  if (next !== null) {
    const waiting = await waitingReasons(around, view.job, next, name)
    isRunnable = waiting.length === 0
    reasons.push(...(isRunnable ? [inStage(name, NEXT)] : waiting))
  }
  const dead = troubled.find((task) => task.state === 'DEAD')
  if (dead !== undefined && state === 'ERROR') {
    const which = `${tally.dead} of its tasks wait for an operator, the first is segment ${dead.segment}.`
    reasons.push(
      inStage(name, reason('quarantined', `${which} ${await whyDead(around.store, view, dead)}`)),
    )
  }
  return { isRunnable, reasons }
}
