/**
 * The catalogue is whole: what it says of each operation fits together.
 */
import { describe, expect, it } from 'vitest'
import { OPERATIONS, PUBLIC_OPERATIONS } from './catalogue.ts'
import { misfit } from './check.ts'
import { COMMAND_ROLES, rolesForCommand } from './command-roles.ts'
import { openApiDocument } from './openapi.ts'
import type { Operation } from './operation.ts'
import { pathParameters, ROLES } from './operation.ts'
import { findRoute, pathOf } from './routes.ts'
import type { JsonSchema } from './schema.ts'

const ALL: readonly Operation[] = Object.values(OPERATIONS)

describe.each(ALL.map((one) => [one.name, one] as const))('%s', (_name, operation) => {
  it('has an example that fits its schemas', () => {
    expect(misfit(operation.input, operation.example.input)).toBe(null)
    expect(misfit(operation.output, operation.example.output)).toBe(null)
  })

  it('refuses an input with a property that it does not know', () => {
    const given = { ...(operation.example.input as object), unheardOf: 1 }
    expect(misfit(operation.input, given)).toMatch(/^`unheardOf` is not known here: /)
  })

  it('is found by its path, with what the path says', () => {
    const input = operation.example.input as Record<string, unknown>
    const found = findRoute(pathOf(operation, input).path)
    expect(found?.methods.get(operation.method)).toBe(operation)
    const inPath = Object.fromEntries(pathParameters(operation).map((one) => [one, input[one]]))
    expect(found?.parameters).toEqual(inPath)
  })

  it('has every property of its path as a text that must be given', () => {
    for (const name of pathParameters(operation)) {
      expect(operation.input.required).toContain(name)
      expect(operation.input.properties?.[name]?.type).toBe('string')
    }
  })

  it('has a command that can be typed, or says why it has none', () => {
    const { command } = operation
    if (!('words' in command)) return expect(command.none).toMatch(/^[A-Z].{20,}\.$/)
    const properties = Object.keys(operation.input.properties ?? {})
    expect(command.words).toMatch(/^[a-z]+( [a-z]+)?$/)
    expect(command.summary).toMatch(/^[A-Z].{5,58}[^.]$/)
    for (const one of [...command.positional, ...Object.keys(command.options)]) {
      expect(properties).toContain(one)
    }
    // What must be given is given by its place, and what may be left out comes behind it.
    const needed = operation.input.required ?? []
    const places = command.positional.map((one) => needed.includes(one))
    expect(places).toEqual(places.toSorted((a, b) => Number(b) - Number(a)))
    expect(needed.filter((one) => !command.positional.includes(one))).toEqual([])
  })

  it('is read by GET only if it changes nothing, and by GET takes only what a query can say', () => {
    if (operation.method !== 'GET') return
    expect(operation.changes).toBe(null)
    for (const property of Object.values(operation.input.properties ?? {})) {
      expect(['string', 'integer', 'boolean']).toContain(property.type)
    }
  })
})

describe('the catalogue', () => {
  it('has a place of its own for each operation', () => {
    const places = ALL.map(({ method, path }) => `${method} ${path}`)
    expect(new Set(places).size).toBe(places.length)
  })

  it('has words of its own for each command, and options that differ', () => {
    const commands = ALL.flatMap(({ command, input }) =>
      'words' in command ? [{ ...command, input }] : [],
    )
    const words = commands.map((one) => one.words)
    expect(words.filter((one, i) => words.indexOf(one) !== i)).toEqual([])
    for (const { input, positional, options } of commands) {
      const named = Object.keys(input.properties ?? {}).filter((one) => !positional.includes(one))
      const spelled = named.map((one) => options[one] ?? one)
      expect(new Set(spelled).size).toBe(spelled.length)
    }
  })

  it('closes every object that is given to the server', () => {
    const opened = ALL.flatMap(({ name, input }) => openObjects(input, name))
    expect(opened).toEqual([])
  })

  it('bounds every text and list that is given to the server', () => {
    expect(ALL.flatMap(({ name, input }) => unbounded(input, name))).toEqual([])
  })

  it('lets a worker send no command of an operator, and no role that of upkeep', () => {
    expect(rolesForCommand('CancelJob')).toEqual(['operate'])
    expect(rolesForCommand('CommitExecution')).toEqual(['work'])
    expect(rolesForCommand('ForgetJob')).toEqual([])
    expect(rolesForCommand('toString')).toBe(null)
    const known = Object.values(COMMAND_ROLES).flat()
    expect(known.filter((role) => !ROLES.includes(role))).toEqual([])
  })

  it('asks for no token only where nothing is said about jobs', () => {
    expect([...PUBLIC_OPERATIONS].toSorted()).toEqual(['healthz', 'readyz'])
  })

  it('is an OpenAPI document with an operation for each', () => {
    const { paths } = openApiDocument('1.0.0', '/pawl') as { paths: Record<string, object> }
    const ids = Object.values(paths).flatMap((at) =>
      Object.values(at).map((one: { operationId: string }) => one.operationId),
    )
    expect(ids.toSorted()).toEqual(ALL.map(({ name }) => name).toSorted())
    expect(() => JSON.stringify(openApiDocument('1.0.0'))).not.toThrow()
  })

  it.each([
    ['/v1/openapi.json', '', '/v1/jobs'],
    ['/ops/pawl/v1/openapi.json', '', '/ops/pawl/v1/jobs'],
    ['/ops/pawl/v1/openapi.json', '/ops/pawl', '/ops/pawl/v1/jobs'],
  ])('is an OpenAPI document at %s, whose operations are beside it', (at, base, path) => {
    const { servers } = openApiDocument('1.0.0', base) as { servers: { url: string }[] }
    const server = new URL(servers[0]?.url ?? '', `http://localhost${at}`)
    expect(`${server.pathname.replace(/\/$/, '')}/v1/jobs`).toBe(path)
  })
})

describe('a path', () => {
  it('that is not well encoded, or lacks a part, leads nowhere', () => {
    expect(findRoute('/v1/jobs/%ff')).toBe(null)
    expect(findRoute('/v1/jobs//cancel')).toBe(null)
    expect(findRoute('/v1/jobs/a/cancel/')).toBe(null)
    expect(findRoute('/v1')).toBe(null)
    expect(findRoute('')).toBe(null)
  })

  it('may have any text in it', () => {
    const { path } = pathOf(OPERATIONS['jobs.show'], { job: 'a/b ?#ü' })
    expect(findRoute(path)?.parameters).toEqual({ job: 'a/b ?#ü' })
  })
})

function childrenOf(schema: JsonSchema): readonly (readonly [string, JsonSchema])[] {
  return [
    ...Object.entries(schema.properties ?? {}),
    ...(schema.anyOf ?? []).map((one, i) => [`${i}`, one] as const),
    ...(schema.items === undefined ? [] : [['items', schema.items] as const]),
  ]
}

function openObjects(schema: JsonSchema, where: string): string[] {
  const isOpen = schema.type === 'object' && schema.additionalProperties !== false
  const below = childrenOf(schema).flatMap(([name, one]) => openObjects(one, `${where}.${name}`))
  return isOpen ? [where, ...below] : below
}

function unbounded(schema: JsonSchema, where: string): string[] {
  const isText = schema.type === 'string' && schema.enum === undefined
  const isFree =
    (isText && schema.maxLength === undefined) ||
    (schema.type === 'array' && schema.maxItems === undefined)
  const below = childrenOf(schema).flatMap(([name, one]) => unbounded(one, `${where}.${name}`))
  return isFree ? [where, ...below] : below
}
