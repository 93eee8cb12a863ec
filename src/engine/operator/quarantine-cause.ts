/**
 * Why a job is in quarantine, in the words that people sort by.
 */
import type { DeadTask } from '../../store/index.ts'
import type { Fingerprinted } from './error-fingerprint.ts'
import { fingerprintOf } from './error-fingerprint.ts'

export interface Cause {
  readonly fingerprint: string
  readonly code: string
  readonly message: string
  /** When the newest of its tasks was given up. */
  readonly since: number
}

/** For a list: the whole of it is in the job's info. */
const MESSAGE_CHARS = 500

/** Of all tasks that keep a job there, the first speaks for it. */
export function causeOf(tasks: readonly DeadTask[]): Cause {
  const why = tasks[0] === undefined ? UNKNOWN : whyGivenUp(tasks[0])
  const { code, message } = why
  return {
    fingerprint: fingerprintOf(why),
    code,
    message: message.length > MESSAGE_CHARS ? `${message.slice(0, MESSAGE_CHARS)}…` : message,
    since: tasks.reduce((newest, { since }) => Math.max(newest, since), 0),
  }
}

const UNKNOWN: Fingerprinted = { code: 'Unknown', message: 'Nobody said why.', stack: null }

function whyGivenUp({ held, endedBy, error }: DeadTask): Fingerprinted {
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
  // It was not told why: an older error may be another one.
  if (endedBy === 'LeaseExpired')
    return silent(endedBy, 'Its worker fell silent: the lease ran out.')
  if (endedBy === 'LeaseRevoked')
    return silent(endedBy, 'Its lease was taken away: its history says why.')
  return error ?? UNKNOWN
}

function silent(code: string, message: string): Fingerprinted {
  return { code, message, stack: null }
}
