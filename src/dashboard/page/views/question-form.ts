/**
 * The fields of a form for the answer to a question, from its JSON Schema. What is too rich for fields is one field that
 * takes JSON: the server checks the answer in any case.
 */
import type { ActionField } from '../action.ts'
import { fieldValues } from '../action.ts'

interface FieldSchema {
  readonly type?: unknown
  readonly title?: unknown
  readonly description?: unknown
  readonly enum?: unknown
  readonly const?: unknown
  readonly properties?: unknown
  readonly required?: unknown
}

export interface AnswerForm {
  readonly fields: readonly ActionField[]
  /** What was filled in, as the answer. */
  readonly valueOf: (given: Readonly<Record<string, string>>) => unknown
}

const WHOLE = 'value'

export function answerForm(schema: object | null): AnswerForm {
  const form = schema === null ? null : (objectForm(schema) ?? singleForm(schema))
  return form ?? jsonForm()
}

function jsonForm(): AnswerForm {
  const fields: ActionField[] = [
    { name: WHOLE, label: 'Answer', kind: 'json', hint: 'JSON, such as true or "yes".' },
  ]
  return { fields, valueOf: (given) => fieldValues(fields, given)[WHOLE] ?? null }
}

function singleForm(schema: FieldSchema): AnswerForm | null {
  const field = fieldOf(WHOLE, schema, 'Answer')
  if (field === null) return null
  return {
    fields: [field],
    valueOf: (given) => valuesIn([field], { [WHOLE]: schema }, given)[WHOLE],
  }
}

function objectForm({ type, properties, required }: FieldSchema): AnswerForm | null {
  if (type !== 'object' || typeof properties !== 'object' || properties === null) return null
  const schemas = properties as Readonly<Record<string, FieldSchema>>
  const needed = Array.isArray(required) ? (required as unknown[]) : []
  const fields: ActionField[] = []
  for (const [name, schema] of Object.entries(schemas)) {
    const label = typeof schema.title === 'string' ? schema.title : name
    const field = fieldOf(name, schema, needed.includes(name) ? label : `${label} (may be empty)`)
    // One property that no field can hold: all of it is JSON.
    if (field === null) return null
    fields.push(field)
  }
  return { fields, valueOf: (given) => valuesIn(fields, schemas, given) }
}

function fieldOf(name: string, schema: FieldSchema, label: string): ActionField | null {
  const hint = typeof schema.description === 'string' ? { hint: schema.description } : {}
  if (Array.isArray(schema.enum) && schema.enum.every((one) => typeof one === 'string')) {
    return { name, label, kind: schema.enum, ...hint }
  }
  switch (schema.type) {
    case 'boolean':
      return { name, label, kind: ['yes', 'no'], ...hint }
    case 'string':
      return { name, label, kind: 'text', ...hint }
    case 'integer':
      return { name, label, kind: 'number', ...hint }
    case 'number':
      return { name, label, kind: 'json', ...hint }
    default:
      return null
  }
}

/** A truth is chosen as yes or no, so that none is given by not looking. */
function valuesIn(
  fields: readonly ActionField[],
  schemas: Readonly<Record<string, FieldSchema>>,
  given: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const values = fieldValues(fields, given)
  for (const [name, value] of Object.entries(values)) {
    if (schemas[name]?.type === 'boolean') values[name] = value === 'yes'
  }
  return values
}
