/**
 * The fingerprint of an error: the same for failures that have the same cause, as far as their
 * words can tell.
 *
 * It is made from the code, the message without what varies from job to job (numbers, ids, quoted
 * text, paths), and the place where it was thrown, by function and file. Lines are left out, so
 * that it outlives a deploy. Two causes may share one, and one cause may have two: it is for
 * people who sort through failures, and nothing depends on it.
 */
import type { Failure, Job, LeaseEnd, Task } from './model.ts'
import { hash32 } from './retry.ts'

/** What of an error is looked at. */
export type Fingerprinted = Pick<Failure, 'code' | 'message' | 'stack'>

/** Beyond this a message is data. */
const MESSAGE_CHARS = 500
const FINGERPRINT_CHARS = 12

/** In this order: what is found first is not looked at again. Each is linear in its text. */
const VARYING: readonly (readonly [RegExp, string])[] = [
  // Quoted, and not an apostrophe in a word.
  [/(?<!\w)'[^'\n]*'(?!\w)|"[^"\n]*"|`[^`\n]*`/g, '…'],
  // A place in a file system, or behind a host.
  [/(?<![\w./~])(?:\w+:\/\/|[A-Za-z]:\\|[./~]*\/)[^\s,;()]+/g, '…'],
  // Anything with a digit in it: numbers, times, addresses, uuids, hex, ids.
  [/[\w@.:%+-]*\d[\w@.:%+-]*/g, '#'],
  // A mail address.
  [/[\w.%+-]+@[\w.-]+/g, '…'],
  [/\s+/g, ' '],
]

export function fingerprintOf({ code, message, stack }: Fingerprinted): string {
  const text = `${code}\n${withoutWhatVaries(message)}\n${placeOf(stack)}`
  const hash = [1, 2].map((seed) => hash32(text, seed).toString(16).padStart(8, '0')).join('')
  return hash.slice(0, FINGERPRINT_CHARS)
}

/** A message as it would be for any other job. */
export function withoutWhatVaries(message: string): string {
  let text = message.slice(0, MESSAGE_CHARS)
  for (const [pattern, stand] of VARYING) text = text.replaceAll(pattern, stand)
  return text.trim()
}

const FRAME = /^\s*at (?:async )?(?:(.+?) \()?([^()\s]+?)(?::\d+)?(?::\d+)?\)?$/m

/** Function and file of the first frame: 'charge pay.ts'. Empty if there is none. */
export function placeOf(stack: string | null): string {
  const [, called = '', file = ''] = FRAME.exec(stack ?? '') ?? []
  const name = file.split(/[/\\]/).at(-1) as string
  return `${called} ${name.split('?')[0]}`.trim()
}

/** What says why a task was given up. */
export interface GivenUpTask {
  readonly error: Failure | null
  readonly endedBy: LeaseEnd | null
  /** Effects of its commit that are held. */
  readonly held: readonly { readonly name: string; readonly error: Failure | null }[]
}

const UNKNOWN: Fingerprinted = { code: 'Unknown', message: 'No reason was given.', stack: null }

/** Why a task was given up, as an error: also where no handler reported one. */
export function whyGivenUp({ held, endedBy, error }: GivenUpTask): Fingerprinted {
  const [effect] = held
  if (effect !== undefined) {
    return (
      effect.error ?? {
        code: 'OutcomeUnknown',
        message: `Whether the effect ${effect.name} happened is not known.`,
        stack: null,
      }
    )
  }
  // The handler did not say why: an older error may have another cause.
  if (endedBy === 'LeaseExpired')
    return lostLease(endedBy, 'Its worker fell silent: the lease ran out.')
  if (endedBy === 'LeaseRevoked')
    return lostLease(endedBy, 'Its lease was taken away: its history says why.')
  return error ?? UNKNOWN
}

function lostLease(code: string, message: string): Fingerprinted {
  return { code, message, stack: null }
}

/** The same from the task itself. */
export function givenUp({ error, leases, commit }: Task): GivenUpTask {
  const held = (commit?.effects ?? []).filter(({ state }) => state === 'HELD')
  return {
    error,
    endedBy: leases.at(-1)?.endedBy ?? null,
    held: held.map((effect) => ({ name: effect.promise.name, error: effect.error })),
  }
}

/**
 * What a plain job failed of, or is in quarantine for; null: it is neither, it was cancelled, or no
 * error was reported. A pipeline has no error of its own: its tasks have.
 */
export function errorOf({
  task,
  cancelled,
}: Pick<Job, 'task' | 'cancelled'>): Fingerprinted | null {
  if (task === null) return null
  if (task.state === 'DEAD') return whyGivenUp(givenUp(task))
  if (task.state !== 'FAILED' || cancelled !== null) return null
  const why = whyGivenUp(givenUp(task))
  return why === UNKNOWN ? null : why
}

/** Null: it neither failed nor is in quarantine, or no error was reported. */
export function errorFingerprint(job: Pick<Job, 'task' | 'cancelled'>): string | null {
  const error = errorOf(job)
  return error === null ? null : fingerprintOf(error)
}
