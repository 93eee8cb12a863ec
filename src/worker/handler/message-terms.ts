/**
 * Waits for a message: the first of its name that fits ends it, or its time does. With `ask` it is a question
 * to people, and may need several answers.
 */
import type { AnyMessage, Question, Runnable, WaitForOptions } from '../../definition/index.ts'
import {
  fromJson,
  InvalidDefinition,
  isAnswer,
  KnownOptions,
  nameOf,
  questionIdentity,
  questionSchema,
  TerminalError,
  toJson,
  validatedStored,
} from '../../definition/index.ts'
import type { Payload, Wait, WaitSpec } from '../../kernel/index.ts'
import { LIMITS } from '../../kernel/index.ts'
import { isWritable } from '../../kernel/wellformed.ts'
import { waitMs } from './sleep-terms.ts'
import type { WaitTerms } from './wait-nodes.ts'

const WAIT_FOR_OPTIONS = new KnownOptions<WaitForOptions>({
  name: true,
  timeout: true,
  onTimeout: true,
  ask: true,
  for: true,
  quorum: true,
  notBySubmitter: true,
})

/** What only the run knows. */
export interface MessageTermsParts {
  readonly definition: Runnable
  /** Of the attempt, and of no other of any job of this id. */
  readonly run: string
  readonly known: (name: string) => Readonly<Wait> | undefined
}

/** One for each answer that it needs; what came of them as one value. */
export interface MessageWait {
  readonly terms: readonly WaitTerms[]
  readonly join: (values: readonly unknown[]) => unknown
}

/** A value that no message has. */
const TIMED_OUT = Symbol('timed out')

export function messageWait(
  { definition, run, known }: MessageTermsParts,
  message: AnyMessage,
  options: WaitForOptions = {},
): MessageWait {
  assertListed(definition, message)
  const { messageName } = message
  const written = `waitFor(${messageName}, …)`
  WAIT_FOR_OPTIONS.assert(options, written, `waitFor(${messageName}, { timeout: '2d' })`)
  const { name = messageName, timeout, quorum } = options
  const question = questionOf(name, options, written)
  const schema =
    question === null
      ? message.jsonSchema
      : questionSchema(
          message.jsonSchema,
          questionIdentity(known(name)?.schema ?? null) ?? `${name} ${run}`,
        )
  const spec: Omit<WaitSpec, 'name'> = {
    message: messageName,
    schema,
    ask: question === null ? null : toJson(question, `\`ask\` of ${written}`, 'ask'),
    delayMs: timeout === undefined ? null : waitMs(timeout, `\`timeout\` of ${written}`),
    dueAt: null,
    callee: null,
  }
  const names = Array.from({ length: quorum ?? 1 }, (_, i) => (i === 0 ? name : `${name}#${i + 1}`))
  return {
    terms: names.map((one) => singleTerms({ ...spec, name: one }, message, written)),
    join: (values) => {
      if (values.includes(TIMED_OUT)) return onTimeout(name, options)
      return quorum === undefined ? values[0] : values
    },
  }
}

function singleTerms(
  spec: WaitSpec,
  { messageName, schema }: AnyMessage,
  written: string,
): WaitTerms {
  const what = `What message '${messageName}' of wait '${spec.name}' says`
  const value = (text: Payload): unknown => validatedStored(schema, fromJson(text), what)
  return {
    name: spec.name,
    written,
    inPlaceMs: null,
    message: messageName,
    spec: () => spec,
    read: ({ by, value: text }) => (by === 'time' || text === null ? TIMED_OUT : value(text)),
    misfit: async (text, id) => {
      if (isAnswer(id)) return 'it is the answer to another question'
      try {
        await value(text)
        return null
      } catch (error) {
        return (error as Error).message
      }
    },
  }
}

function onTimeout(name: string, { onTimeout: then, timeout }: WaitForOptions): unknown {
  if (then === undefined) return null
  if (then !== 'fail') return then.value
  throw new TerminalError(`Nothing came for '${name}' within ${String(timeout)}.`, {
    code: 'NotAnswered',
  })
}

function questionOf(name: string, options: WaitForOptions, written: string): Question | null {
  const { ask, for: who = [], quorum, notBySubmitter = false, timeout, onTimeout: then } = options
  if (then !== undefined && timeout === undefined) {
    throw new InvalidDefinition(`\`onTimeout\` of ${written} needs a \`timeout\`.`)
  }
  if (then !== undefined && then !== 'fail' && !(typeof then === 'object' && 'value' in then)) {
    throw new InvalidDefinition(`\`onTimeout\` of ${written} is 'fail' or { value: … }.`)
  }
  if (quorum !== undefined && !(Number.isSafeInteger(quorum) && quorum >= 1 && quorum <= 100)) {
    throw new InvalidDefinition(`\`quorum\` of ${written} must be a whole number from 1 to 100.`)
  }
  if (ask === undefined) {
    if ('for' in options || quorum !== undefined || notBySubmitter) {
      throw new InvalidDefinition(
        `${written} says who answers, and not what is asked: give it an \`ask\`.`,
      )
    }
    return null
  }
  if (typeof ask !== 'string' || ask.length > LIMITS.reasonChars) {
    throw new InvalidDefinition(
      `\`ask\` of ${written} is a text of at most ${LIMITS.reasonChars} characters.`,
    )
  }
  const people = typeof who === 'string' ? [who] : [...who]
  if (people.length > LIMITS.people || !people.every(isName)) {
    throw new InvalidDefinition(
      `\`for\` of ${written} is the name of a person or a group, or at most ${LIMITS.people} of them, each of at most ${LIMITS.nameChars} characters.`,
    )
  }
  return { ask, for: people, name, quorum: quorum ?? 1, notBySubmitter }
}

function isName(name: unknown): boolean {
  return (
    typeof name === 'string' && name !== '' && name.length <= LIMITS.nameChars && isWritable(name)
  )
}

function assertListed(definition: Runnable, message: AnyMessage): void {
  const name = (message as Partial<AnyMessage> | undefined)?.messageName
  if (name !== undefined && definition.messages.get(name) === message) return
  throw new InvalidDefinition(
    name === undefined
      ? `waitFor() of ${nameOf(definition)} was given no message: write waitFor(message('…'), …).`
      : `waitFor() of ${nameOf(definition)} was given the message '${name}', which is not in its \`messages\`: list it there, so that senders are told of wrong ones.`,
    { message: name },
  )
}
