/**
 * What a job waits for, as clients see it: since when, until when, and for whom.
 */
import { questionIn } from '../../definition/index.ts'
import type { Task, Wait } from '../../kernel/index.ts'
import { calleeOf, isPending, waitsOfSuspension } from '../../kernel/index.ts'
import type { Queries } from '../../store/index.ts'

export interface WaitInfo {
  readonly name: string
  /** The name of the message that ends it; null: none does. */
  readonly message: string | null
  /** The job whose end it waits for; null: it calls none. */
  readonly callee: string | null
  readonly since: Date
  /** It ends then, if nothing ended it before; null: it has no such time. */
  readonly until: Date | null
}

/** Those that a suspended task waits for now. */
export function pendingWaits(task: Task): readonly Wait[] {
  return waitsOfSuspension(task).filter((wait) => isPending(task, wait))
}

export function waitInfo(wait: Wait): WaitInfo {
  const { name, message, since, until } = wait
  return {
    name,
    message,
    callee: calleeOf(wait),
    since: new Date(since),
    until: until === null ? null : new Date(until),
  }
}

/** All that it waits for, in words. */
export async function waitsText(store: Queries, task: Task): Promise<string> {
  const texts: string[] = []
  for (const wait of pendingWaits(task)) texts.push(await waitText(store, wait))
  return texts.join(task.waiting?.suspended === 'any' ? ' or ' : ' and ')
}

async function waitText(store: Queries, wait: Wait): Promise<string> {
  const callee = calleeOf(wait)
  if (callee !== null) {
    return `the end of job ${callee} ('${wait.name}')${await calleeText(store, callee)}`
  }
  if (wait.message === null) return `its time ('${wait.name}')`
  const asked = wait.ask === null ? null : questionIn(wait.ask)
  const people = asked === null || asked.for.length === 0 ? '' : `, for ${asked.for.join(' or ')}`
  return `message '${wait.message}'${asked === null ? '' : `, an answer to '${asked.ask}'${people}`}`
}

/** A callee that a person must look at keeps its caller. */
async function calleeText(store: Queries, job: string): Promise<string> {
  const outcome = await store.query({ kind: 'outcome', job })
  if (outcome === null) return ', which is about to be submitted'
  return outcome.state === 'QUARANTINED'
    ? ', which is in quarantine and keeps it waiting: retry, force or discard that job'
    : `, which is ${outcome.state}`
}
