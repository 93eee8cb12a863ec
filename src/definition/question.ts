/**
 * Questions: waits for a message that a person is asked for, as they are stored with the wait and shown to
 * those who answer.
 *
 * The schema of a question names the question. So the store refuses an answer to one question where another
 * one waits, even if both ask for the same.
 */
import type { Payload } from '../kernel/index.ts'

export interface AskOptions {
  /** What is asked, for people. With it, the wait is a question, and stands in the inbox until it is answered. */
  readonly ask?: string
  /** For whom it is: people or groups, by the names that you use. */
  readonly for?: string | readonly string[]
  /** How many different people must answer: the handler gets a list of what they said. Default: one. */
  readonly quorum?: number
  /** The one who submitted the job (`by` of the submit) may not answer. Default: may. */
  readonly notBySubmitter?: boolean
}

/** What the wait keeps of it. */
export interface Question {
  readonly ask: string
  readonly for: readonly string[]
  /** The name of the wait that it began with: those of a quorum have it in common. */
  readonly name: string
  readonly quorum: number
  readonly notBySubmitter: boolean
}

/** As a wait has it; null: another program than a worker of ours wrote it. */
export function questionIn(ask: Payload): Question | null {
  let found: Partial<Question> | null
  try {
    found = JSON.parse(ask) as Partial<Question> | null
  } catch {
    return null
  }
  const isWhole =
    typeof found?.ask === 'string' && typeof found.quorum === 'number' && Array.isArray(found.for)
  return isWhole ? (found as Question) : null
}

const IDENTITY = '$comment'
const IS_QUESTION = 'pawl question '

/** `identity`: the same for this question in all attempts, and for no other. */
export function questionSchema(jsonSchema: Payload | null, identity: string): Payload {
  const schema = (jsonSchema === null ? {} : JSON.parse(jsonSchema)) as object
  return JSON.stringify({ ...schema, [IDENTITY]: `${IS_QUESTION}${identity}` })
}

/** Null: it is that of no question. */
export function questionIdentity(schema: Payload | null): string | null {
  if (schema === null) return null
  const { [IDENTITY]: comment } = JSON.parse(schema) as { [IDENTITY]?: unknown }
  return typeof comment === 'string' && comment.startsWith(IS_QUESTION)
    ? comment.slice(IS_QUESTION.length)
    : null
}

/** As those who answer get it: without what is only ours. */
export function askedSchema(schema: Payload | null): object | null {
  if (schema === null) return null
  const { [IDENTITY]: _, ...asked } = JSON.parse(schema) as Record<string, unknown>
  return Object.keys(asked).length === 0 ? null : asked
}

/** Ids of answers begin so: one that came too late for its question is none to another. */
const ANSWER = 'answer:'

/** One answer of a person to a question. */
export function answerId(identity: string, by: string): string {
  return `${ANSWER}${identity}:${by}`
}

export function isAnswer(messageId: string): boolean {
  return messageId.startsWith(ANSWER)
}
