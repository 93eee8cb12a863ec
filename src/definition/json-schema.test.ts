import { describe, expect, it } from 'vitest'
import { jsonSchemaIssues } from './json-schema.ts'

function said(schema: unknown, value: unknown): string[] {
  return jsonSchemaIssues(schema, value).map(({ path, message }) => `${path}: ${message}`)
}

describe('a value and a JSON Schema', () => {
  it('of what type it is', () => {
    expect(said({ type: 'string' }, 'a')).toEqual([])
    expect(said({ type: 'string' }, 1)).toEqual([': must be string, not number'])
    expect(said({ type: ['string', 'null'] }, null)).toEqual([])
    expect(said({ type: 'integer' }, 1)).toEqual([])
    expect(said({ type: 'integer' }, 1.5)).toEqual([': must be integer, not number'])
    expect(said({ type: 'array' }, {})).toEqual([': must be array, not object'])
    expect(said(true, 1)).toEqual([])
    expect(said(false, 1)).toEqual([': is not allowed'])
  })

  it('which values there are', () => {
    expect(said({ enum: ['a', { b: [1] }] }, { b: [1] })).toEqual([])
    expect(said({ enum: ['a'] }, 'b')).toEqual([': must be one of ["a"]'])
    expect(said({ const: 1 }, 2)).toEqual([': must be 1'])
    expect(said({ const: { a: 1 } }, { a: 1, b: 2 })).toEqual([': must be {"a":1}'])
  })

  it('how large it is', () => {
    expect(said({ minimum: 1, maximum: 2 }, 3)).toEqual([': must be at most 2'])
    expect(said({ minimum: 1 }, 0)).toEqual([': must be at least 1'])
    expect(said({ exclusiveMinimum: 1, exclusiveMaximum: 2 }, 1)).toEqual([': must be more than 1'])
    expect(said({ exclusiveMaximum: 2 }, 2)).toEqual([': must be less than 2'])
    expect(said({ multipleOf: 0.1 }, 0.3)).toEqual([])
    expect(said({ multipleOf: 2 }, 3)).toEqual([': must be a multiple of 2'])
    expect(said({ minLength: 2 }, '😀')).toEqual([': its characters must be at least 2'])
    expect(said({ maxLength: 1 }, 'ab')).toEqual([': its characters must be at most 1'])
    expect(said({ minItems: 1 }, [])).toEqual([': its elements must be at least 1'])
    expect(said({ maxItems: 1 }, [1, 2])).toEqual([': its elements must be at most 1'])
    expect(said({ pattern: '^a' }, 'b')).toEqual([': must match ^a'])
    expect(said({ pattern: '(' }, 'b')).toEqual([])
  })

  it('what it has', () => {
    const schema = {
      type: 'object',
      properties: { ok: { type: 'boolean' }, list: { items: { type: 'number' } } },
      required: ['ok'],
      additionalProperties: false,
    }
    expect(said(schema, { ok: true, list: [1] })).toEqual([])
    expect(said(schema, { list: [1, 'a'], other: 1 })).toEqual([
      'ok: is missing',
      'list.1: must be number, not string',
      'other: is not allowed',
    ])
    expect(said(schema, JSON.parse('{"ok":true,"__proto__":1}'))).toEqual([
      '__proto__: is not allowed',
    ])
    expect(said({ prefixItems: [{ type: 'string' }], items: false }, ['a', 1])).toEqual([
      '1: is not allowed',
    ])
  })

  it('of several', () => {
    const either = [{ type: 'string' }, { type: 'number' }]
    expect(said({ anyOf: either }, 1)).toEqual([])
    expect(said({ anyOf: either }, null)).toEqual([': fits none of what is allowed'])
    expect(said({ oneOf: [{ minimum: 1 }, { minimum: 2 }] }, 3)).toEqual([
      ': must fit exactly one of what is allowed',
    ])
    expect(said({ allOf: [{ minimum: 1 }, { minimum: 2 }] }, 1)).toEqual([': must be at least 2'])
    expect(said({ not: { type: 'string' } }, 'a')).toEqual([': is what it must not be'])
  })

  it('by reference, without end at most so deep', () => {
    const tree = {
      $ref: '#/$defs/node',
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
    }
    expect(said(tree, { next: { next: {} } })).toEqual([])
    expect(said(tree, { next: { next: 1 } })).toEqual(['next.next: must be object, not number'])
    expect(said({ $ref: '#' }, 1)).toEqual([])
    expect(said({ $ref: 'https://example.com/x' }, 1)).toEqual([])
    expect(said({ $ref: '#/nothing/here' }, 1)).toEqual([])
  })
})
