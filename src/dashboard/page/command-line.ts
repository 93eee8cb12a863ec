/**
 * The command that does what an action of the page does, as one would type it in a POSIX shell.
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
  const { words, positional, options, json, asks } = command
  const typed = (property: string): readonly string[] =>
    textsOf(input[property], json.includes(property))
  const placed = positional.flatMap(typed)
  const named = Object.keys(input)
    .filter((property) => !positional.includes(property))
    .flatMap((property) => {
      const option = `--${kebab(options[property] ?? property)}`
      if (input[property] === true && !json.includes(property)) return [option]
      // What begins like an option would be taken for one.
      return typed(property).map(
        (text) => `${option}${text.startsWith('-') ? '=' : ' '}${quoted(text)}`,
      )
    })
  const yes = asks ? ['--yes'] : []
  const places = placed.map(quoted)
  // What begins like an option is one, unless all options stand BEFORE it and `--` between them.
  return placed.some((text) => text.startsWith('-'))
    ? ['pawl', words, ...named, ...yes, '--', ...places].join(' ')
    : ['pawl', words, ...places, ...named, ...yes].join(' ')
}

/** None: it is left out. Several: of a list, each is typed by itself. */
function textsOf(value: unknown, isJson: boolean): readonly string[] {
  // A flag that is not set has no text, either.
  if (value === undefined || (value === false && !isJson)) return []
  if (isJson) return [JSON.stringify(value)]
  if (value === null) return ['none']
  if (Array.isArray(value)) return value.map(String)
  if (typeof value === 'object') {
    const { count, per } = value as { count: number; per: number | string }
    return [`${count}/${per}`]
  }
  return [typeof value === 'string' ? value : JSON.stringify(value)]
}

function kebab(property: string): string {
  return property.replaceAll(/[A-Z]/g, (one) => `-${one.toLowerCase()}`)
}

function quoted(text: string): string {
  return /^[\w.:/@+-][\w.:/@=+-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
