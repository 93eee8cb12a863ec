/**
 * What must hold between a job that calls and the job that is called.
 *
 * A callee runs once for its wait: it is submitted while its caller waits for it, and kept until its
 * caller cannot ask for it any more. And a call is answered by the end of its callee, not before. Where
 * only one of the two is at hand, as in a fold of one job, nothing is said about both.
 */
import { jobState } from '../derive.ts'
import type { Entry, JobForgotten, JobSubmitted } from '../entries.ts'
import { isFinal } from '../transitions.ts'
import { calleeOf, findWait, isCalled, isPending, waitOfCaller } from '../waits.ts'
import type { World } from '../world.ts'
import { countTallies, findTask } from '../world.ts'
import type { Findings } from './invariant.ts'

export function checkCallMove(before: World, entry: Entry, found: Findings): void {
  switch (entry.type) {
    case 'JobSubmitted':
      return checkSubmitted(before, entry, found)
    case 'JobForgotten':
      return checkForgotten(before, entry, found)
    case 'MessageSent':
      return entry.wait === null ? undefined : checkAnswer(before, entry, entry.wait, found)
    case 'WaitEnded':
      return entry.answer === null ? undefined : checkAnswer(before, entry, entry.wait.name, found)
    default:
  }
}

function checkSubmitted(before: World, { spec }: JobSubmitted, found: Findings): void {
  const { caller } = spec
  if (caller === null) return
  const task = findTask(before, caller.job, caller.stage, caller.segment)
  const wait = task === undefined ? undefined : waitOfCaller(task, caller)
  const isPromised = task === undefined || (wait !== undefined && isPending(task, wait))
  found.expect(isPromised, 3, 'a callee was submitted that no job waits for')
}

function checkForgotten(before: World, entry: JobForgotten, found: Findings): void {
  const caller = before.jobs.get(entry.job)?.spec.caller ?? null
  if (caller === null) return
  const task = findTask(before, caller.job, caller.stage, caller.segment) ?? null
  found.expect(!isCalled(task, caller), 7, 'a callee was forgotten that its caller may ask for')
}

/** A message ends no call, and what ends one is over. */
function checkAnswer(
  before: World,
  entry: { readonly job: string; readonly stage: number; readonly segment: number },
  name: string,
  found: Findings,
): void {
  const task = findTask(before, entry.job, entry.stage, entry.segment)
  const id = task === undefined ? null : calleeOf(findWait(task, name))
  if (id === null) return
  const callee = before.jobs.get(id)
  const isOver = callee === undefined || isFinal(jobState(callee, countTallies(before, callee), 0))
  found.expect(isOver, 12, () => `wait '${name}' was answered before ${id} was over`)
}
