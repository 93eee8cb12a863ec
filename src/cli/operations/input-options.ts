/**
 * The arguments and options of an operation's command, from the schema of its input, and the input from what was typed.
 */
import type { CommandTerms, JsonSchema, Operation, TypedKind } from '../../protocol/index.ts'
import { isNullable, misfit, typedKind, withoutNull } from '../../protocol/index.ts'
import type { ArgumentTerms, OptionTerms } from '../command.ts'
import { WrongUsage } from '../failure.ts'
import { durationFrom, flagOf, jsonFrom, timeFrom } from '../option-values.ts'

export interface CommandInput {
  readonly arguments: readonly ArgumentTerms[]
  readonly options: readonly OptionTerms[]
}

/** Written for a value that may be null. */
const NONE = 'none'

const PLACEHOLDERS: Readonly<Record<Exclude<TypedKind, 'flag'>, string>> = {
  text: '<text>',
  choice: '<choice>',
  whole: '<n>',
  list: '<text>',
  time: '<time>',
  duration: '<time>',
  rate: '<n/time>',
  json: '<json>',
}

/** What a property is for; null: its name says it all. */
function meaningOf(schema: JsonSchema): string | null {
  const meaning = (schema.description ?? '')
    .replace('the name of the token', 'your name, or that of the token')
    .replace(/\.$/, '')
  // How a time, or a duration, is written is the same everywhere.
  const isForm = /^Milliseconds(?: since 1970$| or a text|, or a text)/.test(meaning)
  const told = isForm ? '' : meaning
  if (isNullable(schema)) return told === '' ? `'${NONE}': without one` : `${told}; or '${NONE}'`
  return told === '' ? null : told
}

const TIME_TO_COME = 'A date, or 10m for in ten minutes'

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function nameInWords(name: string): string {
  return capital(name.replaceAll(/[A-Z]/g, (one) => ` ${one.toLowerCase()}`))
}

function optionName(terms: CommandTerms, property: string): string {
  return terms.options[property] ?? property
}

export function flagFor(terms: CommandTerms, property: string): string {
  return flagOf(optionName(terms, property))
}

export function commandInput(operation: Operation, terms: CommandTerms): CommandInput {
  const { properties = {}, required = [] } = operation.input
  const options = Object.entries(properties).filter(([name]) => !terms.positional.includes(name))
  return {
    arguments: terms.positional.map((name) => ({
      name,
      says: argumentSays(name, properties[name] as JsonSchema),
      isRequired: required.includes(name),
    })),
    options: options.map(([name, schema]) => {
      const isToCome = isTimeToCome(operation, name)
      return optionOf(flagFor(terms, name), name, schema, isToCome)
    }),
  }
}

/** What is to be done has its time ahead of it; a filter looks back. */
function isTimeToCome({ changes }: Operation, property: string): boolean {
  return changes !== null && property === 'at'
}

function optionOf(flag: string, name: string, schema: JsonSchema, isToCome: boolean): OptionTerms {
  const kind = typedKind(schema)
  const values = withoutNull(schema).enum
  const meaning = isToCome ? TIME_TO_COME : meaningOf(schema)
  return {
    flags: kind === 'flag' ? flag : `${flag} ${PLACEHOLDERS[kind]}`,
    says: meaning ?? nameInWords(name),
    ...(values === undefined ? {} : { choices: values }),
    ...(kind === 'list' ? { isMany: true } : {}),
    ...(meaning === null && values === undefined ? { isPlain: true } : {}),
  }
}

function argumentSays(name: string, schema: JsonSchema): string {
  const { enum: values } = schema
  return values === undefined ? (meaningOf(schema) ?? nameInWords(name)) : values.join(', ')
}

/** As the schema wants it. `what`: how it was typed. */
function valueOf(schema: JsonSchema, given: unknown, what: string, isToCome: boolean): unknown {
  if (typeof given !== 'string') return given
  if (given === NONE && isNullable(schema)) return null
  switch (typedKind(schema)) {
    case 'whole':
      return numberOf(given, what)
    case 'time':
      return timeFrom(given, what, isToCome).getTime()
    case 'duration':
      return durationFrom(given, what)
    case 'rate':
      return rateOf(given, what)
    case 'json':
      return jsonFrom(given, what)
    default:
      return given
  }
}

function numberOf(text: string, what: string): number {
  if (/^-?\d+$/.test(text)) return Number(text)
  throw new WrongUsage(`${what} is '${text}': write a whole number.`)
}

function rateOf(text: string, what: string): unknown {
  const [, count, per] = /^(\d+)\/(.+)$/.exec(text) ?? []
  if (count !== undefined && per !== undefined) {
    return { count: Number(count), per: durationFrom(per, what) }
  }
  throw new WrongUsage(`${what} is '${text}': write how many in which time, such as 100/1s.`)
}

/** Throws `WrongUsage`, in the words of the command line. */
export function readInput(
  operation: Operation,
  terms: CommandTerms,
  given: Readonly<Record<string, string | undefined>>,
  options: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const input: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(operation.input.properties ?? {})) {
    const isPositional = terms.positional.includes(name)
    const key = optionName(terms, name)
    const text = isPositional ? given[name] : options[key]
    if (text === undefined) continue
    const what = isPositional ? `<${name}>` : flagFor(terms, name)
    input[name] = valueOf(schema, text, what, isTimeToCome(operation, name))
  }
  const fault = misfit(operation.input, input)
  if (fault !== null) throw new WrongUsage(asTyped(fault, terms))
  return input
}

/** `priority` is an option: it is typed `--priority`. */
function asTyped(fault: string, terms: CommandTerms): string {
  return fault.replace(/^`(\w+)([^`]*)`/, (_, name: string, rest: string) =>
    terms.positional.includes(name) ? `<${name}>${rest}` : `${flagFor(terms, name)}${rest}`,
  )
}
