/** Forms from JSON Schema: a field for each simple property, JSON for all else. */
import { expect, it } from 'vitest'
import { answerForm } from './question-form.ts'

it('has a field for each property, and answers with what was filled in', () => {
  const { fields, valueOf } = answerForm({
    type: 'object',
    properties: {
      ok: { type: 'boolean' },
      cents: { type: 'integer' },
      why: { enum: ['late', 'broken'] },
      note: { type: 'string', title: 'Note' },
    },
    required: ['ok'],
  })
  expect(fields.map(({ label }) => label)).toEqual([
    'ok',
    'cents (may be empty)',
    'why (may be empty)',
    'Note (may be empty)',
  ])
  expect(valueOf({ ok: 'no', cents: '70', why: 'late' })).toEqual({
    ok: false,
    cents: 70,
    why: 'late',
  })
  expect(valueOf({})).toEqual({})
  expect(() => valueOf({ cents: 'x' })).toThrow('cents (may be empty) is a whole number.')
})

it('asks a truth, a text or a choice by one field', () => {
  expect(answerForm({ type: 'boolean' }).valueOf({ value: 'yes' })).toBe(true)
  expect(answerForm({ type: 'string' }).valueOf({ value: 'so' })).toBe('so')
})

it('takes JSON where there is no schema, or one that fields cannot hold', () => {
  const list = { type: 'object', properties: { of: { type: 'array' } } }
  for (const schema of [null, {}, list, { anyOf: [] }]) {
    const { fields, valueOf } = answerForm(schema)
    expect(fields.map(({ kind }) => kind)).toEqual(['json'])
    expect(valueOf({ value: '{"of":[1]}' })).toEqual({ of: [1] })
    expect(() => valueOf({ value: 'yes' })).toThrow('no JSON')
  }
})
