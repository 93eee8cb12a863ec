/**
 * The catalogue as an OpenAPI 3.1 document: for clients in other languages, and for tools that draw it.
 */
import { OPERATIONS, PUBLIC_OPERATIONS } from './catalogue.ts'
import type { Operation, OperationKind } from './operation.ts'
import { pathParameters } from './operation.ts'
import { PROBLEM_TYPE, PROBLEMS_OF_ALL, statusOf } from './problems.ts'
import type { JsonSchema } from './schema.ts'

const PROBLEM_SCHEMA = { $ref: '#/components/schemas/Problem' }

/** `base`: where it is mounted, such as '/pawl'; empty: at what is above `v1/openapi.json`, wherever a framework has that. */
export function openApiDocument(version: string, base = ''): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of Object.values(OPERATIONS)) {
    const at = (paths[operation.path] ??= {})
    at[operation.method.toLowerCase()] = describeOperation(operation)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Pawl',
      version,
      description: 'A durable job engine.',
      license: { name: 'MIT' },
    },
    servers: [{ url: base === '' ? '..' : base }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Problem: problemSchema() },
    },
  }
}

function describeOperation(operation: Operation): object {
  const { name, says, roles, changes, method, input } = operation
  const isPublic = PUBLIC_OPERATIONS.has(name)
  const who = roles.length === 0 ? 'admin' : roles.join(', ')
  const lines = [says, isPublic ? 'Needs no token.' : `Roles: ${who}.`]
  if (changes !== null) lines.push(`Changes: ${changes}`)
  const inPath = pathParameters(operation)
  return {
    operationId: name,
    summary: says,
    description: lines.join('\n\n'),
    ...(isPublic ? { security: [] } : {}),
    parameters: [...inPath, ...(method === 'GET' ? inQuery(input, inPath) : [])].map((one) =>
      parameter(one, input, inPath),
    ),
    ...(method === 'POST' ? { requestBody: bodyOf(operation, inPath) } : {}),
    responses: responsesOf(operation),
  }
}

function inQuery({ properties = {} }: JsonSchema, inPath: readonly string[]): string[] {
  return Object.keys(properties).filter((one) => !inPath.includes(one))
}

function parameter(name: string, input: JsonSchema, inPath: readonly string[]): object {
  const { description, ...schema } = input.properties?.[name] ?? {}
  return {
    name,
    in: inPath.includes(name) ? 'path' : 'query',
    required: input.required?.includes(name) ?? false,
    ...(description === undefined ? {} : { description }),
    schema,
  }
}

function bodyOf({ input, example }: Operation, inPath: readonly string[]): object {
  const without = <T>(record: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(record).filter(([name]) => !inPath.includes(name)))
  const schema = {
    ...input,
    properties: without(input.properties ?? {}),
    required: (input.required ?? []).filter((name) => !inPath.includes(name)),
  }
  const given = without(example.input as Record<string, unknown>)
  return { required: true, content: { 'application/json': { schema, example: given } } }
}

const JSON_TYPE = 'application/json'
const TEXT = { schema: { type: 'string' } }
const CONTENT_TYPES: Readonly<Record<OperationKind, string>> = {
  call: JSON_TYPE,
  poll: JSON_TYPE,
  long: JSON_TYPE,
  text: 'text/plain',
  events: 'text/event-stream',
}

function responsesOf({ kind, output, example, errors }: Operation): object {
  const type = CONTENT_TYPES[kind]
  const answer = type === JSON_TYPE ? { schema: output, example: example.output } : TEXT
  const responses: Record<string, object> = {
    200: { description: 'Done.', content: { [type]: answer } },
  }
  const byStatus = new Map<number, string[]>()
  for (const code of [...PROBLEMS_OF_ALL, ...errors]) {
    const status = statusOf(code, 'rejected')
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  for (const [status, codes] of byStatus) {
    const content = { [PROBLEM_TYPE]: { schema: PROBLEM_SCHEMA } }
    responses[status] = { description: `Codes: ${codes.join(', ')}.`, content }
  }
  return responses
}

function problemSchema(): object {
  const text = { type: 'string' }
  const properties = {
    type: text,
    title: text,
    status: { type: 'integer' },
    detail: text,
    code: text,
    kind: { type: 'string', enum: ['rejected', 'retryable', 'unknown_outcome', 'corrupt', 'bug'] },
    details: { type: 'object' },
  }
  return { type: 'object', properties, required: Object.keys(properties) }
}
