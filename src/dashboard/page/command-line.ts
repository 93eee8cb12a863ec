/**
 * The command that does what an action of the page does, as one would type it.
 */
import type { OperationName } from '../../protocol/index.ts'
import { OPERATIONS } from '../../protocol/index.ts'

/** Null: there is no command for it. */
export function commandLine(
  name: OperationName,
  input: Readonly<Record<string, unknown>>,
): string | null {
  const { command } = OPERATIONS[name]
  if ('none' in command) return null
  const { words, positional, options, asks } = command
  const said = Object.entries(input).filter(([, value]) => value !== undefined && value !== '')
  const placed = positional.flatMap((one) => {
    const value = input[one]
    return value === undefined ? [] : [quoted(textOf(value))]
  })
  const named = said
    .filter(([property]) => !positional.includes(property))
    .map(([property, value]) => {
      const option = `--${options[property] ?? kebab(property)}`
      return value === true ? option : `${option} ${quoted(textOf(value))}`
    })
  return ['pawl', words, ...placed, ...named, ...(asks ? ['--yes'] : [])].join(' ')
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function kebab(property: string): string {
  return property.replaceAll(/[A-Z]/g, (one) => `-${one.toLowerCase()}`)
}

function quoted(text: string): string {
  return /^[\w.:/@=+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
