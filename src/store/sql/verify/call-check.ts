/**
 * Whether upkeep would look at every call about which something is to be done: a callee to submit, an end to
 * tell, a callee to cancel with its caller.
 *
 * Caller and callee are two jobs, folded at different times: both are noted, and compared in the end. The end
 * of a pipeline is not judged: its tallies bring upkeep to it.
 */
import type { CallerRef, Job, Task } from '../../../kernel/index.ts'
import {
  calleeOf,
  isCalled,
  isFinal,
  jobState,
  LIMITS,
  NO_TALLIES,
  sameContent,
} from '../../../kernel/index.ts'
import type { JobRecord } from '../../../log/index.ts'
import type { CallCheck } from '../../state/call-checks.ts'
import { AS_CALLEE, pendingCalls } from '../../state/call-checks.ts'
import type { Row } from '../connection.ts'
import { rowKey } from '../rows/work-rows.ts'

/** As `calleeId` makes them: with the name of the wait, or cut to the most characters that an id may have. */
const CALLEE_ID = new RegExp(`:|^.{${LIMITS.nameChars}}$`, 'u')

export class CallFold {
  /** By callee: the task that waits for it. */
  readonly #waiting = new Map<string, CallCheck & { readonly ref: CallerRef }>()
  /** Jobs whose ids could be those of callees, and that no job called, or another one. */
  readonly #callers = new Map<string, CallerRef | null>()
  /** Callees that are not over, or whose end is for their tallies to tell. */
  readonly #open = new Set<string>()
  readonly #endingWithCaller: string[] = []
  readonly #named = new Set<string>()

  note({ job, stages }: JobRecord): void {
    const tasks = job.task === null ? (stages ?? []).flatMap((one) => one ?? []) : [job.task]
    for (const task of tasks) if (task.waiting !== null) this.#noteCaller(task)
    if (CALLEE_ID.test(job.id)) this.#callers.set(job.id, job.spec.caller)
    if (job.spec.caller !== null) this.#noteCallee(job, job.spec.caller)
  }

  #noteCaller(task: Task): void {
    const { job, stage, segment } = task
    for (const wait of pendingCalls(task)) {
      // One that has a time ends by it, and when it is over upkeep does not look any more.
      if (wait.until !== null) continue
      const ref = wait.callee?.caller as CallerRef
      this.#waiting.set(calleeOf(wait) as string, { job, stage, segment, ref })
    }
    for (const wait of task.waiting?.waits ?? []) {
      const ref = wait.callee?.caller ?? null
      if (ref !== null && isCalled(task, ref)) this.#named.add(calleeOf(wait) as string)
    }
  }

  #noteCallee(job: Job, ref: CallerRef): void {
    const isOver = job.task !== null && isFinal(jobState(job, NO_TALLIES, 0))
    if (isOver) return
    this.#open.add(job.id)
    // Of a pipeline it is not known here whether it is over. What is committed is only finished.
    const mayBeCancelled = job.task !== null && job.task.commit === null
    if (ref.withCaller && mayBeCancelled) this.#endingWithCaller.push(job.id)
  }

  /** Jobs of which `markedCalls` is to be asked. */
  get jobs(): Set<string> {
    const callers = [...this.#waiting].flatMap(([callee, { job }]) => [callee, job])
    return new Set([...callers, ...this.#endingWithCaller])
  }

  /** `marked`: the answer of `markedCalls`. What upkeep would not look at, and should. */
  missing(marked: readonly Row[]): CallCheck[] {
    const known = new Set(
      (marked as readonly [string, number, number][]).map((address) => rowKey(...address)),
    )
    const checks: CallCheck[] = []
    for (const [callee, { ref, ...check }] of this.#waiting) {
      const isMarked =
        known.has(rowKey(callee, AS_CALLEE, 0)) ||
        known.has(rowKey(check.job, check.stage, check.segment))
      const caller = this.#callers.get(callee)
      // A job that has the id for another reason: nothing can be done about the call.
      const isTaken = caller !== undefined && !sameContent(caller, ref)
      if (!this.#open.has(callee) && !isTaken && !isMarked) checks.push(check)
    }
    for (const job of this.#endingWithCaller) {
      if (!this.#named.has(job) && !known.has(rowKey(job, AS_CALLEE, 0))) {
        checks.push({ job, stage: AS_CALLEE, segment: 0 })
      }
    }
    return checks
  }
}
