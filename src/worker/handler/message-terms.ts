/**
 * Waits for a message: the first of its name that fits ends it, or its time does.
 */
import type { AnyMessage, Runnable, WaitForOptions } from '../../definition/index.ts'
import {
  fromJson,
  InvalidDefinition,
  KnownOptions,
  nameOf,
  validatedStored,
} from '../../definition/index.ts'
import type { WaitSpec } from '../../kernel/index.ts'
import { waitMs } from './sleep-terms.ts'
import type { WaitTerms } from './wait-nodes.ts'

const WAIT_FOR_OPTIONS = new KnownOptions<WaitForOptions>({ name: true, timeout: true })

export function messageTerms(
  definition: Runnable,
  message: AnyMessage,
  options: WaitForOptions = {},
): WaitTerms {
  assertListed(definition, message)
  const { messageName, schema, jsonSchema } = message
  const written = `waitFor(${messageName}, …)`
  WAIT_FOR_OPTIONS.assert(options, written, `waitFor(${messageName}, { timeout: '2d' })`)
  const { name = messageName, timeout } = options
  const value = (text: string): unknown => {
    const what = `What message '${messageName}' of wait '${name}' says`
    return validatedStored(schema, fromJson(text), what)
  }
  const spec: WaitSpec = {
    name,
    message: messageName,
    schema: jsonSchema,
    ask: null,
    delayMs: timeout === undefined ? null : waitMs(timeout, `\`timeout\` of ${written}`),
    dueAt: null,
    callee: null,
  }
  return {
    name,
    written,
    inPlaceMs: null,
    message: messageName,
    spec: () => spec,
    read: ({ by, value: text }) => (by === 'time' || text === null ? null : value(text)),
    misfit: async (text) => {
      try {
        await value(text)
        return null
      } catch (error) {
        return (error as Error).message
      }
    },
  }
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
