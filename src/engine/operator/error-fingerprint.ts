/**
 * The fingerprint of an error: the same for failures that have the same cause, as far as their
 * words can tell.
 *
 * It is made from the code, the message without what varies from job to job (numbers, ids, quoted
 * text, paths), and the place where it was thrown, by function and file. Lines are left out, so
 * that it outlives a deploy. Two causes may share one, and one cause may have two: it is for
 * people who sort through failures, and nothing depends on it.
 */
import { createHash } from 'node:crypto'
import type { Failure } from '../../kernel/index.ts'

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
  return createHash('sha256').update(text).digest('hex').slice(0, FINGERPRINT_CHARS)
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
  const name = file.split(/[/\\]/).at(-1) ?? ''
  return `${called} ${name.split('?')[0]}`.trim()
}
