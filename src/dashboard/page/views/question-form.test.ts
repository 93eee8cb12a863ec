/** Forms from JSON Schema: what they ask, what follows from what was filled in, and what is wrong with it. */
import { expect, it } from 'vitest'
import type { FilledForm, FormPart, ListPart, ValueField } from './question-form.ts'
import { formOf, readForm, withItem, withoutItem } from './question-form.ts'

function fieldsOf(part: FormPart): FormPart[] {
  return part.kind === 'group' ? part.parts.flatMap((one) => fieldsOf(one.part)) : [part]
}

function read(schema: object | null, filled: FilledForm): unknown {
  return readForm(formOf(schema), schema, filled)
}

const REFUND = {
  type: 'object',
  properties: {
    ok: { type: 'boolean' },
    cents: { type: 'integer', minimum: 1 },
    why: { enum: ['late', 'broken'] },
    note: { type: 'string', title: 'Note', description: 'For the customer.' },
  },
  required: ['ok'],
}

it('has a field for each property, and answers with what was filled in', () => {
  const fields = fieldsOf(formOf(REFUND)) as ValueField[]
  expect(fields.map(({ label, kind, isNeeded }) => [label, kind, isNeeded])).toEqual([
    ['ok', 'choice', true],
    ['cents', 'integer', false],
    ['why', 'choice', false],
    ['Note', 'text', false],
  ])
  expect(fields[3]?.hint).toBe('For the customer.')
  expect(read(REFUND, { ok: '1', cents: '70', why: '0' })).toEqual({
    value: { ok: false, cents: 70, why: 'late' },
  })
})

it('says beside each field what is wrong with it', () => {
  expect(read(REFUND, {})).toEqual({ problems: { ok: 'This is needed.' } })
  expect(read(REFUND, { ok: '0', cents: 'x' })).toEqual({
    problems: { cents: 'This is a whole number.' },
  })
  expect(read(REFUND, { ok: '0', cents: '0' })).toEqual({
    problems: { cents: 'This must be at least 1.' },
  })
})

it('keeps large numbers as they are, or says that they cannot be kept', () => {
  const schema = { type: 'object', properties: { n: { type: 'integer' }, id: { type: 'string' } } }
  expect(read(schema, { n: '9007199254740991', id: '9007199254740993' })).toEqual({
    value: { n: 9_007_199_254_740_991, id: '9007199254740993' },
  })
  expect(read(schema, { n: '9007199254740993' })).toEqual({
    problems: { n: 'This is too large to be kept as it is.' },
  })
})

it('asks for groups and lists within each other', () => {
  const schema = {
    type: 'object',
    properties: {
      address: {
        type: 'object',
        properties: { city: { type: 'string' }, zip: { type: 'string', pattern: '^\\d+$' } },
        required: ['city'],
      },
      items: {
        type: 'array',
        maxItems: 3,
        items: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      },
    },
  }
  expect(read(schema, {})).toEqual({ value: {} })
  expect(read(schema, { 'address.zip': '12' })).toEqual({
    problems: { 'address.city': 'This is needed.' },
  })
  const filled = { 'address.city': 'Ulm', 'address.zip': 'x', 'items#': '1', 'items.0.name': 'a' }
  expect(read(schema, filled)).toEqual({ problems: { 'address.zip': 'This must match ^\\d+$.' } })
  const whole = { ...filled, 'address.zip': '89073' }
  expect(read(schema, whole)).toEqual({
    value: { address: { city: 'Ulm', zip: '89073' }, items: [{ name: 'a' }] },
  })
  const list = fieldsOf(formOf(schema)).at(-1) as ListPart
  const more = {
    ...withItem(list, withItem(list, whole)),
    'items.1.name': 'b',
    'items.2.name': 'c',
  }
  expect(withoutItem(list, more, 1)).toEqual({ ...whole, 'items#': '2', 'items.1.name': 'c' })
})

it('asks a truth, a text, a choice or a list by itself', () => {
  expect(read({ type: 'boolean' }, { '': '0' })).toEqual({ value: true })
  expect(read({ type: 'string' }, { '': 'so' })).toEqual({ value: 'so' })
  expect(read({ enum: [1, 'one', null] }, { '': '2' })).toEqual({ value: null })
  const titled = { oneOf: [{ const: 'y', title: 'Yes, gladly' }, { const: 'n' }] }
  expect((formOf(titled) as ValueField).choices.map(({ label }) => label)).toEqual([
    'Yes, gladly',
    'n',
  ])
  const texts = { type: 'array', items: { type: 'string' } }
  const two = { '#': '2', '0': 'a', '1': 'b' }
  expect(read(texts, two)).toEqual({ value: ['a', 'b'] })
  expect(withoutItem(formOf(texts) as ListPart, two, 0)).toEqual({ '#': '1', '0': 'b' })
})

it('follows references, and takes what may be null as left empty', () => {
  const schema = {
    type: 'object',
    properties: {
      to: { $ref: '#/$defs/name' },
      cc: { anyOf: [{ $ref: '#/$defs/name' }, { type: 'null' }] },
      day: { type: ['string', 'null'], format: 'date' },
    },
    required: ['to', 'day'],
    $defs: { name: { type: 'string', title: 'Name', minLength: 2 } },
  }
  const fields = fieldsOf(formOf(schema)) as ValueField[]
  expect(fields.map(({ label, kind }) => [label, kind])).toEqual([
    ['Name', 'text'],
    ['Name', 'text'],
    ['day', 'date'],
  ])
  expect(read(schema, { to: 'ada' })).toEqual({ value: { to: 'ada', day: null } })
  expect(read(schema, { to: 'a' })).toEqual({
    problems: { to: 'The number of its characters must be at least 2.' },
  })
})

it('takes JSON where there is no schema, or one that fields cannot hold', () => {
  for (const schema of [null, {}, { anyOf: [{ type: 'string' }, { type: 'number' }] }]) {
    expect(formOf(schema).kind).toBe('json')
    expect(read(schema, { '': 'yes' })).toMatchObject({
      problems: { '': expect.stringContaining('no JSON') },
    })
  }
  expect(read(null, { '': '{"of":[1]}' })).toEqual({ value: { of: [1] } })
  const deep = { type: 'object', properties: { of: {}, name: { type: 'string' } } }
  expect(read(deep, { of: '[1]', name: 'a' })).toEqual({ value: { of: [1], name: 'a' } })
})

it('says at the innermost field or group that has a place what is wrong deeper in it', () => {
  const text = { type: 'string' }
  const schema = {
    type: 'object',
    properties: {
      byName: { type: 'object', additionalProperties: { type: 'integer' } },
      to: { type: 'object', properties: { name: text }, minProperties: 1, required: ['ghost'] },
      items: { type: 'array', items: { type: 'object', properties: { of: {} } } },
    },
    required: ['other'],
  }
  const filled = { byName: '{"a":"x"}', 'to.name': 'ada' }
  expect(read(schema, filled)).toEqual({
    problems: {
      '': 'other: This is needed.',
      byName: expect.stringMatching(/^a: This must be integer/),
      to: 'ghost: This is needed.',
    },
  })
  const deep = { type: 'object', properties: { a: { const: { b: [{ c: 1 }] } } } }
  const json = { type: 'object', additionalProperties: deep }
  expect(read(json, { '': '{"x":{"a":1}}' })).toEqual({
    problems: { '': expect.stringMatching(/^x\.a: This must be/) },
  })
})

it('answers null in place of a group that is needed and may be null, if nothing of it was filled in', () => {
  const schema = {
    type: 'object',
    properties: {
      to: {
        anyOf: [
          { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
          { type: 'null' },
        ],
      },
    },
    required: ['to'],
  }
  expect(read(schema, {})).toEqual({ value: { to: null } })
  expect(read(schema, { 'to.name': 'ada' })).toEqual({ value: { to: { name: 'ada' } } })
})

it('leaves out no group in which something was filled in wrongly', () => {
  const schema = {
    type: 'object',
    properties: { pay: { type: 'object', properties: { cents: { type: 'integer' } } } },
  }
  expect(read(schema, { 'pay.cents': 'x' })).toEqual({
    problems: { 'pay.cents': 'This is a whole number.' },
  })
})
