/**
 * The list of fields that carry a user's data: everything that it names goes, nothing else does, and
 * every text stands in it.
 */
import * as fc from 'fast-check'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { anyEntry } from '../../test/support/arbitrary-entries.ts'
import { anyJob } from '../../test/support/arbitrary-records.ts'
import type { Entry, Failure } from './index.ts'
import { ERASED, redactEntry, redactJob, redactTask } from './index.ts'
import type { FieldFates } from './user-data.ts'
import { IDENTIFIERS } from './user-data.ts'

/** Texts that are no identifiers and stay, by the field that they stand in. */
const KEPT = new Set<string>([
  ...IDENTIFIERS,
  'error.code',
  'diagnostic',
  'report',
  'message',
  'wait',
  'backoff',
  'state',
  'suspended',
  'quarantine',
  'endedBy',
  'kind',
  'to',
  'next',
  'needs',
  'outcome',
  'schedule',
  'reason',
])

/** Texts that are left, with the fields that they stand in. */
function textsOf(value: unknown, field = '', inside = ''): [field: string, text: string][] {
  if (typeof value === 'string') return [[inside === 'error' ? `error.${field}` : field, value]]
  if (Array.isArray(value)) return value.flatMap((one) => textsOf(one, field, inside))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, one]) => textsOf(one, name, field))
}

function expectRedacted(value: unknown): void {
  for (const [field, text] of textsOf(value)) {
    if (!KEPT.has(field)) expect([ERASED, '', 'RETRYABLE', 'TERMINAL'], field).toContain(text)
  }
}

const OF_NO_JOB = ['queue', 'schedule']

describe('redacting', () => {
  it('leaves no text in an entry of a job but identifiers and the words of the kernel', () => {
    fc.assert(
      fc.property(anyEntry, (entry: Entry) => {
        const redacted = redactEntry(entry)
        expect(redactEntry(redacted)).toEqual(redacted)
        expect(Object.keys(redacted)).toEqual(Object.keys(entry))
        if (OF_NO_JOB.some((field) => field in entry && !('job' in entry))) {
          expect(redacted).toBe(entry)
        } else {
          const { reason = '' } = redacted as { reason?: string }
          if (entry.type !== 'JobErased' && entry.type !== 'TaskStopped') expect(reason).toBe('')
          expectRedacted(redacted)
        }
      }),
      { numRuns: 2_000 },
    )
  })

  it('leaves no text in a job and its tasks but identifiers, and who erased it and why', () => {
    fc.assert(
      fc.property(anyJob, ({ job, stages }) => {
        const { erased } = job
        redactJob(job)
        for (const task of (stages ?? []).flatMap((tasks) => tasks ?? [])) redactTask(task)
        expect(job.erased).toEqual(erased)
        expectRedacted([{ ...job, erased: null }, stages])
      }),
      { numRuns: 300 },
    )
  })
})

describe('the list', () => {
  it('must name each text that a record has: one that is left out does not compile', () => {
    const fates: FieldFates<Failure> = { message: 'text', stack: 'text' }
    expect(Object.keys(fates)).toEqual(['message', 'stack'])
    // @ts-expect-error -- the stack is missing
    const lacking: FieldFates<Failure> = { message: 'text' }
    expect(lacking).toBeDefined()
    interface Grown extends Failure {
      readonly detail: { readonly hint: string | null; readonly tries: number } | null
    }
    // @ts-expect-error -- the text inside the new field is missing
    const old: FieldFates<Grown> = fates
    expect(old).toBeDefined()
    expectTypeOf({ ...fates, detail: { hint: 'text' } } as const).toExtend<FieldFates<Grown>>()
  })
})
