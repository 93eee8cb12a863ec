/**
 * Completion for bash, zsh and fish: a script for each, made from the commands, with nothing to ask while typing.
 */
import type { CliCommand, OptionTerms } from './command.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const

export type Shell = (typeof SHELLS)[number]

interface Words {
  /** `pawl`, `pawl quarantine`: as typed so far. */
  readonly path: string
  readonly next: readonly { readonly word: string; readonly says: string }[]
  readonly options: readonly OptionTerms[]
}

function wordsOf(commands: readonly CliCommand[], globals: readonly OptionTerms[]): Words[] {
  const paths = new Set(['', ...commands.map(({ name }) => name)])
  for (const { name } of commands) if (name.includes(' ')) paths.add(name.split(' ')[0] as string)
  return [...paths].map((path) => {
    const own = commands.find(({ name }) => name === path)
    const depth = path === '' ? 0 : path.split(' ').length
    const next = new Map<string, string>()
    for (const { name, says } of commands) {
      const words = name.split(' ')
      if (words.length <= depth || words.slice(0, depth).join(' ') !== path) continue
      const word = words[depth] as string
      if (words.length === depth + 1 || !next.has(word)) next.set(word, says)
    }
    return {
      path,
      next: [...next].map(([word, says]) => ({ word, says })),
      options: [...(own?.options ?? []), ...globals],
    }
  })
}

export function completionScript(
  shell: Shell,
  commands: readonly CliCommand[],
  globals: readonly OptionTerms[],
): string {
  const words = wordsOf(commands, globals)
  if (shell === 'bash') return bash(words)
  return shell === 'zsh' ? zsh(words) : fish(words)
}

const LONG = /--[\w-]+/

/** Every option has a long name. */
function longOf({ flags }: OptionTerms): string {
  return LONG.exec(flags)?.[0] ?? flags
}

function longs(options: readonly OptionTerms[]): string[] {
  return options.map(longOf)
}

/** The command is what is typed before the word, without options; then its commands and options are offered. */
function bash(words: readonly Words[]): string {
  const cases = words.map(({ path, next, options }) => {
    const offered = [...next.map(({ word }) => word), ...longs(options)].join(' ')
    return `    '${path}') offered='${offered}' ;;`
  })
  const choices = choiceOptions(words).map(
    ([flag, values]) =>
      `    ${flag}) COMPREPLY=($(compgen -W '${values.join(' ')}' -- "$word")); return ;;`,
  )
  return [
    '# pawl completion for bash: eval "$(pawl completion bash)"',
    '_pawl() {',
    '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" path="" offered="" i',
    '  case "$before" in',
    ...choices,
    '  esac',
    '  for ((i = 1; i < COMP_CWORD; i++)); do',
    '    [[ "${COMP_WORDS[i]}" == -* ]] && break',
    '    path="${path:+$path }${COMP_WORDS[i]}"',
    '  done',
    '  case "$path" in',
    ...cases,
    '    *) case "${path%% *}" in',
    ...cases.slice(1).map((line) => `  ${line}`),
    '    esac ;;',
    '  esac',
    '  COMPREPLY=($(compgen -W "$offered" -- "$word"))',
    '}',
    'complete -o default -F _pawl pawl',
    '',
  ].join('\n')
}

function choiceOptions(words: readonly Words[]): [flag: string, values: readonly string[]][] {
  const found = new Map<string, readonly string[]>()
  for (const { options } of words) {
    for (const one of options) {
      const flag = longOf(one)
      if (one.choices !== undefined && !found.has(flag)) found.set(flag, one.choices)
    }
  }
  return [...found]
}

function zsh(words: readonly Words[]): string {
  const cases = words.map(({ path, next, options }) => {
    const commands = next.map(({ word, says }) => `'${word}:${quiet(says)}'`).join(' ')
    const flags = options.map((one) => `'${longOf(one)}:${quiet(one.says)}'`).join(' ')
    return `    '${path}') commands=(${commands}); flags=(${flags}) ;;`
  })
  return [
    '#compdef pawl',
    '# pawl completion for zsh: pawl completion zsh > "${fpath[1]}/_pawl"',
    '_pawl() {',
    '  local path="" i',
    '  local -a commands flags',
    '  for ((i = 2; i < CURRENT; i++)); do',
    '    [[ "${words[i]}" == -* ]] && break',
    '    path="${path:+$path }${words[i]}"',
    '  done',
    '  case "$path" in',
    ...cases,
    '  esac',
    "  [[ ${#commands} -gt 0 ]] && _describe 'command' commands",
    "  [[ ${#flags} -gt 0 ]] && _describe 'option' flags",
    '  _files',
    '}',
    'if [[ "$funcstack[1]" == _pawl ]]; then _pawl "$@"; else compdef _pawl pawl; fi',
    '',
  ].join('\n')
}

function fish(words: readonly Words[]): string {
  const lines = words.flatMap(({ path, next, options }) => {
    const when =
      path === ''
        ? '__fish_use_subcommand'
        : path
            .split(' ')
            .map((word) => `__fish_seen_subcommand_from ${word}`)
            .join('; and ')
    const commands = next.map(
      ({ word, says }) => `complete -c pawl -n '${when}' -f -a ${word} -d '${quiet(says)}'`,
    )
    const flags = options.map((one) => {
      const { flags: given, says, choices } = one
      const long = longOf(one).slice(2)
      const takes = given.includes('<') ? ' -r' : ''
      const values = choices === undefined ? '' : ` -f -a '${choices.join(' ')}'`
      return `complete -c pawl -n '${when}' -l ${long}${takes}${values} -d '${quiet(says)}'`
    })
    return [...commands, ...flags]
  })
  return ['# pawl completion for fish: pawl completion fish | source', ...lines, ''].join('\n')
}

/** What a description must not have inside single quotes. */
function quiet(text: string): string {
  return text.replaceAll("'", '’').replaceAll(':', ' -')
}
