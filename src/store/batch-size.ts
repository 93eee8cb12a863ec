/**
 * How large a batch of commands may be: by count, and by the characters of its payloads. A batch is
 * decided and written as one, and nothing else of the process goes on meanwhile.
 */
import type { Command } from '../kernel/index.ts'

/** More take long, and keep other transactions from their rows. */
export const MOST_COMMANDS = 500
/** Twice the largest payload. One command alone may have more. */
export const MOST_CHARS = 2 * 1_048_576

/** Of inputs, outputs and values. Commands come from users, too: any field may be missing. */
export function payloadChars(command: Command): number {
  switch (command?.type) {
    case 'SubmitJob':
      return lengthOf(command.spec?.input)
    case 'CommitExecution': {
      let chars = lengthOf(command.output)
      if (!Array.isArray(command.effects)) return chars
      for (const one of command.effects) chars += lengthOf(one?.input)
      return chars
    }
    case 'RecordStep':
      return lengthOf(command.value)
    case 'RetryTask':
      return lengthOf(command.input)
    case 'ForceTask':
      return lengthOf(command.output)
    default:
      return 0
  }
}

function lengthOf(text: unknown): number {
  return typeof text === 'string' ? text.length : 0
}

/** Of commands that are sent together, or under way. */
export class BatchSize {
  commands = 0
  chars = 0

  add(commands: number, chars: number): void {
    this.commands += commands
    this.chars += chars
  }

  subtract(other: BatchSize): void {
    this.commands -= other.commands
    this.chars -= other.chars
  }

  /** Whether so many more stay within `batches` whole ones. A first one always does. */
  hasRoom(commands: number, chars: number, batches = 1): boolean {
    if (this.commands === 0) return true
    return (
      this.commands + commands <= batches * MOST_COMMANDS &&
      this.chars + chars <= batches * MOST_CHARS
    )
  }
}
