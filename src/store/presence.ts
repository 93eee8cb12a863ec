/**
 * Who is there: what the processes on a store say of themselves, and which of them are known to be dead.
 *
 * What is asked of workers is as soft: the newest request of each, until its process ends.
 *
 * All of it is soft. `decide` never reads it, it is lost without harm, and it is empty after a restart
 * until processes speak again. What a process says is text that only the engine reads. A session is the
 * name under which a process claims: its leases carry it, and presence judges the session, never a worker.
 *
 * A store whose processes share nothing but itself leaves it out: what is said stays in the process.
 */

/** What a process said last. */
export interface HeardProcess {
  /** The name of the process, which is also its session if it has one. */
  readonly name: string
  /** The authority's time. */
  readonly heardAt: number
  readonly text: string
}

/** What handlers said about a job last. */
export interface JobReport {
  readonly job: string
  /** The authority's time. */
  readonly saidAt: number
  /** Empty: what was said up to then was forgotten. */
  readonly text: string
}

/** Sessions of processes that are known to be dead. */
export interface DeadSessions {
  isDead(session: string): boolean
  /** AFTER their leases were revoked, as far as they can be: from here on nothing is known of them. */
  bury(): Promise<void>
}

/** Nothing was asked. */
export const NOTHING_ASKED: ReadonlyMap<string, string> = new Map()

export interface Presence {
  /** Of this process, as it is heard by others. */
  readonly name: string
  /** What the claims of this process name now; empty: it is not judged, and its leases are left to time. */
  readonly session: string
  /** Others may miss its session now, and take it for dead unless it speaks. */
  readonly isMissed: boolean
  /** Resolved BEFORE the first claim, once the session can be judged, or it is plain that it cannot. Never rejects. */
  begin(): Promise<void>
  /** Replaces what this process said before. `reports`: those that changed. A failure is harmless. */
  say(text: string, reports: readonly JobReport[]): Promise<void>
  /** What processes said that were heard lately. `isChecked`: those that are known to be dead are left out. */
  heard(isChecked: boolean): Promise<readonly HeardProcess[]>
  /** Null: no process said anything about the job that is still known. */
  reportOf(job: string): Promise<JobReport | null>
  /**
   * What handlers said about the job is gone, as far as any process was told of it. What they said, or say, up
   * to this time is not kept either: another process may be about to tell it.
   */
  forgetReport(job: string, until: number): Promise<void>
  /** AFTER it, what was forgotten is in no file of its own. */
  compact(): Promise<void>
  /**
   * What others asked of workers of this process, by the name of the worker: of each, the newest. It is read along with what
   * this process asks and says anyway, and is another map once it was read. What was never asked, or is lost, is missing.
   */
  readonly asked: ReadonlyMap<string, string>
  /** Asks something of a worker of another process. False: no such process is known. */
  ask(process: string, worker: string, text: string): Promise<boolean>
  /** Null: none that is known now. */
  dead(): Promise<DeadSessions | null>
  /** The last words of a process that leaves: others hear them for a while AFTER it was closed. Never rejects. */
  sayLast(text: string): Promise<void>
  /** Takes back what this process said, but for its last words, and ends its session. */
  close(): Promise<void>
}

/** A process that was not heard for so long is not shown. Nothing is decided by it. */
export const HEARD_WITHIN_MS = 30_000
/** How many jobs' reports are kept, the newest. */
export const MOST_REPORTS = 10_000
