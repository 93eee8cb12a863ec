/**
 * Values as people type them: times, durations, JSON from the command line, from a file or from stdin.
 */
import { readFileSync } from 'node:fs'
import { toMs } from '../definition/duration.ts'
import { inexactFault } from '../definition/index.ts'
import { systemClock } from '../store/clock.ts'
import { WrongUsage } from './failure.ts'

const WHOLE = /^\d+$/
const DURATION = /^\d+(?:\.\d+)?(?:ms|s|m|h|d)$/
const TIMES = "a date such as 2026-11-18T15:00Z, or '10m' for ten minutes ago"
const TIMES_TO_COME = "a date such as 2026-11-18T15:00Z, or '10m' for in ten minutes"

/** `what`: the option or argument, as it is typed. */
export function timeFrom(text: string, what: string, isToCome = false): Date {
  const now = systemClock.now()
  if (text === 'now') return new Date(now)
  if (WHOLE.test(text)) return new Date(Number(text))
  if (DURATION.test(text)) {
    const ms = toMs(text as '1s', what)
    return new Date(isToCome ? now + ms : now - ms)
  }
  const date = new Date(text)
  if (!Number.isNaN(date.getTime())) return date
  throw new WrongUsage(`${what} is '${text}': write ${isToCome ? TIMES_TO_COME : TIMES}.`)
}

/** A time, or a position of the log. */
export function momentFrom(text: string, what: string): Date | number {
  if (WHOLE.test(text)) return Number(text)
  if (text === 'now' || DURATION.test(text) || !Number.isNaN(new Date(text).getTime())) {
    return timeFrom(text, what)
  }
  throw new WrongUsage(
    `${what} is '${text}': write ${TIMES}, or a position of the log such as 4711.`,
  )
}

export function wholeFrom(text: string, what: string, least = 0): number {
  const value = Number(text)
  if (WHOLE.test(text) && Number.isSafeInteger(value) && value >= least) return value
  throw new WrongUsage(`${what} is '${text}': write a whole number from ${least}.`)
}

/** A number is one of milliseconds. */
export function durationFrom(text: string, what: string): string | number {
  if (WHOLE.test(text)) return Number(text)
  if (DURATION.test(text)) return text
  throw new WrongUsage(`${what} is '${text}': write '30s', '5m', '2h' or '7d', or milliseconds.`)
}

/** `@file` and `@-`, which is stdin, are read. */
export function jsonFrom(text: string, what: string): unknown {
  const source = text.startsWith('@') ? textAt(text.slice(1), what) : text
  const value = parsed(source, text, what)
  const fault = inexactFault(source, what)
  if (fault !== null) throw new WrongUsage(fault)
  return value
}

/** `text`: as it was typed. */
function parsed(source: string, text: string, what: string): unknown {
  try {
    return JSON.parse(source)
  } catch (error) {
    const hint = text.startsWith('@') ? '' : `; a text has quotes: '"${text.slice(0, 20)}"'`
    throw new WrongUsage(
      `${what} is no JSON (${(error as Error).message})${hint}. To read it from a file, write @file.json, from stdin @-.`,
    )
  }
}

function textAt(path: string, what: string): string {
  try {
    // Bytes that are no UTF-8 are refused, and not replaced.
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path === '-' ? 0 : path))
  } catch (error) {
    throw new WrongUsage(`${what} cannot be read: ${(error as Error).message}`)
  }
}

/** `submittedFrom` is typed `--submitted-from`. */
export function flagOf(property: string): string {
  return `--${property.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
