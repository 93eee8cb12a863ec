/**
 * From a state back to the story that leads there: real commands, in order, for people.
 *
 * The search remembers only numbers of alike parts. Here the story is told again from the
 * beginning, on a world that is not folded up: at each point, which command leads to a state
 * that is like the next one?
 */
import type { Command, Entry, Violation } from '../../../src/kernel/index.ts'
import { INVARIANTS } from '../../../src/kernel/index.ts'
import { Authority } from '../../support/authority.ts'
import type { Part } from './component.ts'
import { age, encode, goneBack, initialParts, NOW, shiftRecords, takeBack } from './component.ts'
import type { Result } from './search.ts'

/** One line of the story: a command with its entry, or the clock alone. */
export type Line =
  | { readonly kind: 'command'; readonly command: Command; readonly entry: Entry }
  | { readonly kind: 'clock'; readonly ticks: 1 | -1 }

export interface Story {
  readonly lines: readonly Line[]
  readonly parts: readonly Part[]
}

/** How the given state is reached. */
export function storyOf(result: Result, state: number): Story {
  const lines: Line[] = []
  let parts: readonly Part[] = initialParts(result.scope)
  for (const next of result.path(state).slice(1)) {
    const found = continuation(result, parts, next)
    lines.push(found.line)
    parts = found.parts
  }
  return { lines, parts }
}

function continuation(
  result: Result,
  parts: readonly Part[],
  next: readonly number[],
): { line: Line; parts: readonly Part[] } {
  for (const candidate of candidates(result, parts)) {
    const tuple = result.canonical(candidate.parts)
    if (tuple.every((id, i) => id === next[i])) return candidate
  }
  throw new Error('The explorer found a state that cannot be reached: alike parts are not alike.')
}

/** Everything that could happen next in a world. */
export function* candidates(
  result: Result,
  parts: readonly Part[],
): Generator<{ line: Line; parts: readonly Part[] }> {
  for (let i = 0; i < parts.length; i++) {
    for (const { command, entry, parts: after } of result.space.expand(parts, i)) {
      yield { line: { kind: 'command', command, entry }, parts: after }
    }
  }
  yield { line: { kind: 'clock', ticks: 1 }, parts: parts.map((part) => age(part, 1)) }
  const clock = parts.at(-1)
  if (clock?.kind !== 'clock' || clock.back === 0) return
  yield { line: { kind: 'clock', ticks: -1 }, parts: parts.map((part) => age(part, -1)) }
}

/** The story of the violation that a search found, the breaking command last. */
export function violationStory(
  result: Result,
): { lines: readonly Line[]; violations: readonly Violation[] } | null {
  if (result.violation === null) return null
  const { lines, parts } = storyOf(result, result.violation.state)
  for (let i = 0; i < parts.length; i++) {
    for (const { command, entry, violations } of result.space.expand(parts, i)) {
      if (violations.length > 0) {
        return { lines: [...lines, { kind: 'command', command, entry }], violations }
      }
    }
  }
  // No command breaks anything here, so it is the clock.
  return {
    lines: [...lines, { kind: 'clock', ticks: 1 }],
    violations: result.violation.violations,
  }
}

/**
 * Sends a story to an authority with a real log and a clock that moves, and says what each
 * part is like in the end: the same as in the explorer, if the explorer is right.
 */
export function retell(result: Result, { lines }: Story): { authority: Authority; parts: Part[] } {
  const authority = new Authority()
  authority.now = NOW
  let parts: Part[] = initialParts(result.scope)
  for (const line of lines) {
    if (line.kind === 'clock') {
      authority.advance(line.ticks)
      if (line.ticks < 0) parts = parts.map(goneBack)
      continue
    }
    const { entry } = authority.send(atTime(line.command, authority.now))
    if (entry?.type !== line.entry.type) {
      throw new Error(`${line.command.type} led to ${entry?.type}, not to ${line.entry.type}.`)
    }
    parts = parts.map((part) => takeBack(result.scope, part, authority.world))
  }
  return { authority, parts: parts.map((part) => shiftRecords(part, authority.now - NOW)) }
}

/** The only commands that carry a time: in the explorer it is always now, when they are made. */
function atTime(command: Command, now: number): Command {
  if (command.type === 'ForgetJob') return { ...command, endedBefore: now }
  if (command.type !== 'RescheduleTask' || command.dueAt === null) return command
  return { ...command, dueAt: command.dueAt - NOW + now }
}

export function describeLines(lines: readonly Line[]): string[] {
  let now = 0
  return lines.map((line, i) => {
    const number = String(i + 1).padStart(4)
    if (line.kind === 'clock') {
      now += line.ticks
      return `${number}  the clock ${line.ticks > 0 ? 'ticks' : 'goes back'}: it is ${now}`
    }
    return `${number}  ${describeCommand(line.command).padEnd(52)} → ${describeEntry(line.entry)}`
  })
}

export function describeViolation({ invariant, what }: Violation): string {
  return `invariant ${invariant} is broken: ${what}\n      (${INVARIANTS[invariant]})`
}

function describeCommand(command: Command): string {
  const fields = command as unknown as Record<string, string | number | undefined>
  const who = fields['worker'] ?? fields['by']
  const where = [fields['job'], fields['stage'], fields['segment']].filter(
    (one) => one !== undefined,
  )
  const shown = ['lease', 'attempt', 'to', 'effect', 'start', 'outcome', 'tick', 'extension']
    .filter((field) => fields[field] !== undefined)
    .map((field) => `${field} ${fields[field]}`)
  if ('error' in command) shown.push(command.error.type)
  if ('started' in command && command.started) shown.push('and started')
  const subject = where.length > 0 ? where.join('/') : `${fields['queue'] ?? fields['schedule']}`
  const asked = [subject, ...shown].join(', ')
  return `${who === undefined ? '' : `${who}: `}${command.type} ${asked}`
}

function describeEntry(entry: Entry): string {
  const next = 'next' in entry ? ` (then ${entry.next})` : ''
  return `${entry.type}${next}`
}

/** The parts of a world as text, for comparing. */
export function describeParts(result: Result, parts: readonly Part[]): string[] {
  return parts.map((part) => encode(part, result.scope))
}
