/**
 * A run that begins anew: what a handler returns that goes on for months, as a poller or an agent does, so
 * that its steps and waits do not pile up.
 *
 * The new input is of the version of the definition that made it. Where that is another one than the job was
 * submitted under, it goes on record with its version, so that a later definition knows what to upgrade.
 */
import type { Payload } from '../kernel/index.ts'

const CONTINUATION = Symbol.for('pawl.continuation')

export interface Continuation {
  readonly [CONTINUATION]: true
  readonly input: unknown
}

export function makeContinuation(input: unknown): Continuation {
  return { [CONTINUATION]: true, input }
}

export function isContinuation(value: unknown): value is Continuation {
  return typeof value === 'object' && value !== null && CONTINUATION in value
}

/** What an input begins with that is on record with its version. */
const WITH_VERSION = '{"pawl:version":'
const BEFORE_INPUT = ',"input":'

/** `submitted`: the version that the job was submitted under. */
export function continuedInput(input: Payload, version: number, submitted: number): Payload {
  if (version === submitted && !input.startsWith(WITH_VERSION)) return input
  return `${WITH_VERSION}${version}${BEFORE_INPUT}${input}}`
}

/** An input of a task as it is on record, and the version that it is of. */
export function versionedInput(
  stored: Payload,
  submitted: number,
): { readonly input: Payload; readonly version: number } {
  if (!stored.startsWith(WITH_VERSION)) return { input: stored, version: submitted }
  const at = stored.indexOf(BEFORE_INPUT)
  const version = Number(stored.slice(WITH_VERSION.length, at))
  return { input: stored.slice(at + BEFORE_INPUT.length, -1), version }
}
