/**
 * The arguments and options of an operation's command, from the schema of its input, and the input from what was typed.
 */
import { LATEST_TIME_MS } from '../../kernel/index.ts'
import type { CommandTerms, JsonSchema, Operation } from '../../protocol/index.ts'
import { misfit } from '../../protocol/index.ts'
import type { ArgumentTerms, OptionTerms } from '../command.ts'
import { WrongUsage } from '../failure.ts'
import { durationFrom, flagOf, jsonFrom, timeFrom } from '../option-values.ts'

/** How a property is typed. */
type TypedKind =
  | 'text'
  | 'choice'
  | 'whole'
  | 'flag'
  | 'list'
  | 'time'
  | 'duration'
  | 'rate'
  | 'json'

export interface CommandInput {
  readonly arguments: readonly ArgumentTerms[]
  readonly options: readonly OptionTerms[]
}

/** Written for a value that may be null. */
const NONE = 'none'

function isNullable({ anyOf = [] }: JsonSchema): boolean {
  return anyOf.some(({ type }) => type === 'null')
}

/** Without the null that it may be. */
function within(schema: JsonSchema): JsonSchema {
  if (!isNullable(schema)) return schema
  const others = (schema.anyOf ?? []).filter(({ type }) => type !== 'null')
  return others.length === 1 ? (others[0] as JsonSchema) : { ...schema, anyOf: others }
}

function kindOf(given: JsonSchema): TypedKind {
  const schema = within(given)
  const { type, enum: values, maximum, anyOf, properties } = schema
  if (anyOf !== undefined) {
    const types = new Set(anyOf.map((one) => one.type))
    return types.has('string') && types.has('integer') ? 'duration' : 'json'
  }
  if (values !== undefined) return 'choice'
  if (type === 'integer') return maximum === LATEST_TIME_MS ? 'time' : 'whole'
  if (type === 'boolean') return 'flag'
  if (type === 'string') return 'text'
  if (type === 'array' && schema.items?.type === 'string') return 'list'
  if (type === 'object' && Object.keys(properties ?? {}).join() === 'count,per') return 'rate'
  return 'json'
}

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

const HOW: Partial<Record<TypedKind, string>> = {
  time: 'A date, or 10m for ten minutes ago',
  duration: '30s, 5m, 2h, 7d',
  rate: 'Such as 100/1s',
  json: 'JSON; @file reads it',
}

function saysOf(name: string, schema: JsonSchema): string {
  const kind = kindOf(schema)
  const meaning = (schema.description ?? '')
    .replace('the name of the token', 'your name')
    .replace(/\.$/, '')
  const isOfTime = kind === 'time' && meaning.startsWith('Milliseconds since 1970')
  const parts = [isOfTime ? '' : meaning, HOW[kind] ?? '', isNullable(schema) ? `or '${NONE}'` : '']
  const told = parts.filter((part) => part !== '').join('; ')
  return told === '' ? capital(name.replaceAll(/[A-Z]/g, (one) => ` ${one.toLowerCase()}`)) : told
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

export function flagFor(terms: CommandTerms, property: string): string {
  return flagOf(terms.options[property] ?? property)
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
    options: options.map(([name, schema]) => optionOf(flagFor(terms, name), name, schema)),
  }
}

function optionOf(flag: string, name: string, schema: JsonSchema): OptionTerms {
  const kind = kindOf(schema)
  const values = within(schema).enum
  return {
    flags: kind === 'flag' ? flag : `${flag} ${PLACEHOLDERS[kind]}`,
    says: saysOf(name, schema),
    ...(values === undefined ? {} : { choices: values }),
    ...(kind === 'list' ? { isMany: true } : {}),
  }
}

function argumentSays(name: string, schema: JsonSchema): string {
  const { enum: values } = schema
  return values === undefined ? saysOf(name, schema) : values.join(', ')
}

/** As the schema wants it. `what`: how it was typed. */
function valueOf(schema: JsonSchema, given: unknown, what: string): unknown {
  if (typeof given !== 'string') return given
  if (given === NONE && isNullable(schema)) return null
  switch (kindOf(schema)) {
    case 'whole':
      return numberOf(given, what)
    case 'time':
      return timeFrom(given, what).getTime()
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
    const key = terms.options[name] ?? name
    const text = isPositional ? given[name] : options[key]
    if (text === undefined) continue
    input[name] = valueOf(schema, text, isPositional ? `<${name}>` : flagFor(terms, name))
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
