/**
 * Draws the tables of `docs/http.md` from the catalogue of operations.
 */
import type { CommandType } from '../../../src/kernel/index.ts'
import type {
  CommandTerms,
  JsonSchema,
  Operation,
  OperationKind,
  Role,
} from '../../../src/protocol/index.ts'
import {
  COMMAND_ROLES,
  describe,
  OPERATIONS,
  PROBLEMS_OF_ALL,
  PUBLIC_OPERATIONS,
  ROLES,
  SERVER_PROBLEMS,
} from '../../../src/protocol/index.ts'
import { mono, table } from './blocks.ts'

/** Groups of operations, by how their names begin. */
const GROUPS: readonly (readonly [title: string, pattern: RegExp])[] = [
  ['Jobs', /^jobs\./],
  ['Messages and questions', /^(?:messages|inbox)\./],
  ['Many jobs', /^(?:bulk|past|quarantine)\.|^counts$/],
  ['Queues, limits, schedules and workers', /^(?:queues|limits|schedules|workers)\./],
  ['Health', /^(?:health|figures|metrics|metrics\.text|healthz|readyz|caller|openapi)$/],
  ['Commands, claims and the log', /^store\./],
  ['Presence', /^presence\./],
  ['Queries', /^query\./],
]

const KINDS: Readonly<Record<OperationKind, string | null>> = {
  call: null,
  poll: 'A poll: `waitMs` says how long it may be held',
  long: 'Answers when all of it is done, and stops if the caller goes away',
  text: 'Answers with text, not JSON',
  events: 'Server-sent events',
}

function rolesText(roles: readonly Role[]): string {
  return [...roles, 'admin'].map(mono).join(', ')
}

function commandText({ words, positional }: CommandTerms): string {
  return ['pawl', words, ...positional.map((one) => `<${one}>`)].join(' ')
}

function section(operation: Operation): string {
  const {
    name,
    method,
    path,
    says,
    changes,
    roles,
    errors,
    example,
    kind,
    output,
    command,
    scope,
  } = operation
  const who = PUBLIC_OPERATIONS.has(name) ? 'no token' : rolesText(roles)
  const lines = [
    `#### ${mono(name)}`,
    `${mono(`${method} ${path}`)}: ${says}`,
    [
      `- Roles: ${who}. Scope: ${mono(scope)}`,
      `- Changes: ${changes ?? 'nothing'}`,
      ...(KINDS[kind] === null ? [] : [`- ${KINDS[kind]}`]),
      'words' in command
        ? `- Command: ${mono(commandText(command))}`
        : `- No command: ${command.none}`,
      ...(errors.length === 0 ? [] : [`- Problems: ${errors.map(mono).join(', ')}`]),
      ...(output.description === undefined ? [] : [`- Answers: ${output.description}`]),
    ].join('\n'),
    inputTable(operation.input),
    `\`\`\`json\n${JSON.stringify(example.input)}\n${JSON.stringify(example.output)}\n\`\`\``,
  ]
  return lines.filter((line) => line !== '').join('\n\n')
}

function inputTable({ properties = {}, required = [] }: JsonSchema): string {
  const rows = Object.entries(properties).map(([name, schema]) => [
    mono(name),
    required.includes(name) ? 'yes' : 'no',
    describe(schema),
    schema.description ?? '',
  ])
  return rows.length === 0 ? '' : table(['Input', 'Must be given', 'Is', 'Meaning'], rows)
}

function operationSections(): string {
  return GROUPS.map(([title, pattern]) => {
    const own = Object.values(OPERATIONS).filter(({ name }) => pattern.test(name))
    return [`### ${title}`, ...own.map(section)].join('\n\n')
  }).join('\n\n')
}

function commandTable(): string {
  const types = Object.keys(COMMAND_ROLES) as CommandType[]
  return table(
    ['Command', ...ROLES.map(mono)],
    types.map((type) => {
      const may = (role: Role): boolean => role === 'admin' || COMMAND_ROLES[type].includes(role)
      return [mono(type)].concat(ROLES.map((role) => (may(role) ? 'yes' : '')))
    }),
  )
}

function problemTable(): string {
  return table(
    ['Code', 'Status', 'Meaning', 'Of'],
    Object.entries(SERVER_PROBLEMS).map(([code, { status, says }]) => [
      mono(code),
      String(status),
      says,
      (PROBLEMS_OF_ALL as readonly string[]).includes(code) ? 'every operation' : 'some',
    ]),
  )
}

/** The operations that no group has: there must be none. */
export function ungrouped(): string[] {
  return Object.keys(OPERATIONS).filter((name) => !GROUPS.some(([, pattern]) => pattern.test(name)))
}

/** The parts of `docs/http.md`, by the name in their marker. */
export function httpParts(): Readonly<Record<string, string>> {
  return { operations: operationSections(), commands: commandTable(), problems: problemTable() }
}
