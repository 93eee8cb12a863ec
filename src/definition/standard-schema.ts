/**
 * Schemas: whatever speaks the Standard Schema interface (zod, valibot, arktype and others).
 *
 * A value goes into the log as it was given, and through its schema both when it is given and
 * when it is used. So a schema may transform (text to a Date, a default for what is missing),
 * and what is stored stays JSON.
 */
import type { SchemaIssue } from './errors.ts'
import { InvalidDefinition, InvalidValue } from './errors.ts'
import { shown } from './known-options.ts'

/** Version 1 of the interface. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] }

interface Issue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export type MaybeSchema = StandardSchema | undefined

/** What may be given. Without a schema: nothing. */
export type GivenTo<S extends MaybeSchema> =
  S extends StandardSchema<infer Input, unknown> ? Input : undefined

/** What comes out of it. */
export type ValueOf<S extends MaybeSchema> = S extends StandardSchema
  ? NonNullable<S['~standard']['types']>['output']
  : undefined

/**
 * A schema that checks nothing: the type is taken on trust. For values that come from code
 * which the compiler has seen.
 */
export function typed<T>(): StandardSchema<T> {
  return {
    '~standard': { version: 1, vendor: 'pawl', validate: (value) => ({ value: value as T }) },
  }
}

/** `which`: the option that it is given by. */
export function assertSchema(schema: unknown, which: 'input' | 'output', what: string): void {
  if (schema === undefined || isSchema(schema)) return
  throw new InvalidDefinition(
    `\`${which}\` of ${what} is no schema, but ${shown(schema)}. Give one of zod, valibot, arktype or another library that speaks Standard Schema, or typed<…>() to check nothing.`,
    { option: which },
  )
}

function isSchema(schema: unknown): schema is StandardSchema {
  const standard = (schema as Partial<StandardSchema> | null)?.['~standard']
  return typeof standard === 'object' && typeof standard?.validate === 'function'
}

/** The value that the schema makes of what is given, or `InvalidValue`. A promise only if it must. */
export function validated(schema: MaybeSchema, given: unknown, what: string): unknown {
  if (schema === undefined) return given
  const result = schema['~standard'].validate(given)
  return 'then' in result
    ? Promise.resolve(result).then((settled) => valueFrom(settled, what))
    : valueFrom(result, what)
}

/**
 * The same, of a value that was stored. Nothing at all is stored as null, so a schema that refuses
 * null is asked about nothing.
 */
export function validatedStored(schema: MaybeSchema, stored: unknown, what: string): unknown {
  return stored === null && schema !== undefined
    ? validatedNothing(schema, what)
    : validated(schema, stored, what)
}

async function validatedNothing(schema: StandardSchema, what: string): Promise<unknown> {
  try {
    return await validated(schema, null, what)
  } catch {
    return validated(schema, undefined, what)
  }
}

function valueFrom(result: Validated<unknown>, what: string): unknown {
  if (result.issues === undefined) return result.value
  throw new InvalidValue(what, result.issues.map(issueOf))
}

function issueOf({ message, path }: Issue): SchemaIssue {
  const steps = (path ?? []).map((step) => String(typeof step === 'object' ? step.key : step))
  return { path: steps.join('.'), message }
}
