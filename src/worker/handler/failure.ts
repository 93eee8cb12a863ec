/**
 * What a handler threw, as the failure that goes on record.
 *
 * Owns how an error becomes data: its type, code, message and stack, within the bounds that the
 * kernel sets. Anything can be thrown, and looking at it can run code of the user (a getter, a
 * Proxy), so every look is guarded: this never throws, and what was thrown is never lost.
 */
import { inspect, types } from 'node:util'
import type { Classify } from '../../definition/index.ts'
import { RetryAfter, TerminalError } from '../../definition/index.ts'
import type { Failure } from '../../kernel/index.ts'
import { LIMITS } from '../../kernel/index.ts'

const CAUSES = 5
/** Of the errors in an AggregateError: how many are listed, and how much of each. */
const LISTED = 10
const LISTED_CHARS = 1_200
const SHOWN_CHARS = 4_000
const NOTE_CHARS = 500

/** What is reported when something failed. */
export interface FailureReport {
  readonly failure: Failure
  /** What the error says of the next attempt; null: nothing, so the policy says. */
  readonly retryAfter: { readonly delayMs: number; readonly free: boolean } | null
}

/**
 * A `TerminalError` is terminal. Of all else `classify` decides; what it does not decide is
 * retryable, a `RetryAfter` when it says.
 */
export function failureReport(thrown: unknown, classify?: Classify): FailureReport {
  const isTerminal = isErrorLike(thrown) && saysTerminal(thrown)
  const said = isTerminal ? TERMINAL : classified(thrown, classify)
  const failure = failureWith(thrown, said)
  return { failure, retryAfter: said.terminal ? null : (said.retryAfter ?? retryAfterOf(thrown)) }
}

export function failureOf(thrown: unknown, classify?: Classify): Failure {
  return failureReport(thrown, classify).failure
}

function failureWith(thrown: unknown, { terminal, note }: Classified): Failure {
  const error = isErrorLike(thrown) ? thrown : null
  const message =
    error === null
      ? `A value that is not an Error was thrown: ${shown(thrown)}`
      : messageOf(error) || summaryOf(error)
  return {
    type: terminal ? 'TERMINAL' : 'RETRYABLE',
    code: error !== null ? cutEnd(codeOf(error), LIMITS.nameChars) : 'ThrownValue',
    // The note stays whole: it is what makes the message worth reading.
    message: cutMiddle(message, LIMITS.errorChars - note.length) + note,
    stack: error === null ? null : cutMiddle(stackOf(error), LIMITS.errorChars),
  }
}

interface Classified {
  readonly terminal: boolean
  /** What to add to the message: that `classify` itself went wrong. */
  readonly note: string
  readonly retryAfter: FailureReport['retryAfter']
}

const TERMINAL: Classified = { terminal: true, note: '', retryAfter: null }
const RETRYABLE: Classified = { terminal: false, note: '', retryAfter: null }

/** By name, too: two copies of this package have two classes. */
function saysTerminal(error: object): boolean {
  return isA(error, TerminalError) || read(error, 'name') === 'TerminalError'
}

/** Null: it is no `RetryAfter`. By name, too; and what it says is checked, because anything can be thrown. */
function retryAfterOf(thrown: unknown): FailureReport['retryAfter'] {
  if (!isErrorLike(thrown)) return null
  if (!isA(thrown, RetryAfter) && read(thrown, 'name') !== 'RetryAfter') return null
  const delayMs = read(thrown, 'delayMs')
  if (typeof delayMs !== 'number' || !Number.isInteger(delayMs)) return null
  if (delayMs < 0 || delayMs > LIMITS.retryDelayMs) return null
  return { delayMs, free: read(thrown, 'free') === true }
}

function classified(thrown: unknown, classify: Classify | undefined): Classified {
  if (classify === undefined) return RETRYABLE
  try {
    const said: unknown = classify(thrown)
    if (said === 'terminal') return TERMINAL
    if (said === 'retryable' || said === undefined) return RETRYABLE
    const retryAfter = retryAfterOf(said)
    if (retryAfter !== null) return { ...RETRYABLE, retryAfter }
    // A promise is not waited for, and if it is rejected, that must not end the process.
    if (types.isPromise(said)) said.catch(() => undefined)
    const what = cutEnd(shown(said), NOTE_CHARS)
    const note = `\n(classify returned ${what}, and not 'terminal', 'retryable', a RetryAfter or undefined: it was ignored)`
    return { ...RETRYABLE, note }
  } catch (error) {
    const what = cutEnd(headline(error), NOTE_CHARS)
    return { ...RETRYABLE, note: `\n(classify threw ${what}: it was ignored)` }
  }
}

/** Errors of another realm, too. */
function isErrorLike(thrown: unknown): thrown is object {
  return types.isNativeError(thrown) || isA(thrown, Error)
}

function isA(value: unknown, ofClass: abstract new (...args: never[]) => unknown): boolean {
  try {
    return value instanceof ofClass
  } catch {
    return false
  }
}

/** The property; undefined if there is none, or if it cannot be read. */
function read(value: object, key: string): unknown {
  try {
    return (value as Readonly<Record<string, unknown>>)[key]
  } catch {
    return undefined
  }
}

function textAt(error: object, key: string): string | null {
  const text = read(error, key)
  return typeof text === 'string' && text !== '' ? text : null
}

function nameOf(error: object): string {
  return textAt(error, 'name') ?? 'Error'
}

function codeOf(error: object): string {
  return textAt(error, 'code') ?? nameOf(error)
}

function messageOf(error: object): string {
  const message = read(error, 'message')
  if (typeof message === 'string') return message
  return message === undefined ? '(without a message)' : `(its message is ${shown(message)})`
}

/** Node gives an AggregateError without a message for a connection that is refused. */
function summaryOf(error: object): string {
  return errorsOf(error).first.map(headline).join('; ')
}

/** One line for an error, or for what was thrown in its place. */
function headline(thrown: unknown): string {
  if (!isErrorLike(thrown)) return shown(thrown)
  const message = messageOf(thrown)
  return message === '' ? nameOf(thrown) : `${nameOf(thrown)}: ${message}`
}

/** The stack of an error, and below it those of its causes. */
function stackOf(error: object): string {
  const parts = [frames(error) + list(error)]
  const seen = new Set<unknown>([error])
  for (let next = read(error, 'cause'); next !== undefined && next !== null;) {
    if (seen.has(next) || seen.size > CAUSES) {
      const why = seen.has(next) ? 'an error that stands above' : 'more, which is left out'
      parts.push(`caused by ${why}`)
      break
    }
    seen.add(next)
    parts.push(`caused by ${frames(next)}${isErrorLike(next) ? list(next) : ''}`)
    next = isErrorLike(next) ? read(next, 'cause') : undefined
  }
  return parts.join('\n')
}

function frames(thrown: unknown): string {
  return (isErrorLike(thrown) ? textAt(thrown, 'stack') : null) ?? headline(thrown)
}

/** The errors of an AggregateError, below its own stack. */
function list(error: object): string {
  const { first, count } = errorsOf(error)
  const lines = first.map(
    (one, i) => `error ${i + 1} of ${count}: ${cutEnd(frames(one), LISTED_CHARS)}`,
  )
  if (count > LISTED) lines.push(`and ${count - LISTED} more`)
  return lines.map((line) => `\n  ${line.replaceAll('\n', '\n  ')}`).join('')
}

function errorsOf(error: object): { readonly first: readonly unknown[]; readonly count: number } {
  const errors = read(error, 'errors')
  const count = types.isProxy(errors) || !Array.isArray(errors) ? 0 : errors.length
  const length = Math.min(count, LISTED)
  return { first: Array.from({ length }, (_, i) => read(errors as object, `${i}`)), count }
}

/** Shows anything, and runs no code of the user's. */
function shown(value: unknown): string {
  try {
    const text = inspect(value, {
      customInspect: false,
      showProxy: true,
      depth: 3,
      maxArrayLength: 30,
      maxStringLength: SHOWN_CHARS,
    })
    return cutEnd(text, SHOWN_CHARS)
  } catch {
    return `something that cannot be shown (${typeof value})`
  }
}

function cutEnd(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, between(text, most - 1))}…`
}

/** The beginning says what, and the end says the last cause: what is in the middle goes. */
function cutMiddle(text: string, most: number): string {
  if (text.length <= most) return text
  // One to spare, because the tail may begin one earlier.
  const room = most - mark(text.length).length - 1
  const head = between(text, Math.ceil((room * 2) / 3))
  const tail = between(text, text.length - (room - head))
  return text.slice(0, head) + mark(tail - head) + text.slice(tail)
}

function mark(left: number): string {
  return `\n… ${left} characters are left out here …\n`
}

/** A place to cut at, here or one before: not inside of a surrogate pair. */
function between(text: string, at: number): number {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at
}

/** A child that died, as something that can be recorded. */
export function childDied({
  why,
  stack = null,
}: {
  readonly why: string
  readonly stack?: string | null | undefined
}): Error {
  const error = refusal({ code: 'ChildDied', message: why })
  return Object.assign(error, { stack: stack ?? `${error.name}: ${why}` })
}

/** A rejection, as something that can be thrown and recorded. */
export function refusal({ code, message }: { code: string; message: string }): Error {
  return Object.assign(new Error(message), { name: code, code })
}
