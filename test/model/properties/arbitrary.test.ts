/**
 * Commands come from other processes: whatever is sent, `decide` and `decideIn` answer and never
 * throw.
 */
import { anything, assert, constantFrom, nat, oneof, property, record, tuple } from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Command, Decision } from '../../../src/kernel/index.ts'
import { decide, noReads, REJECTION_CODES, RULES } from '../../../src/kernel/index.ts'
import { Authority } from './authority.ts'
import { Generator } from './generator.ts'
import { SEED, SHARES } from './steps.ts'

const FIELDS =
  'job stage segment lease worker spec request started extension name value output effects ' +
  'error effect start outcome attempt input to endedBefore queue concurrency rate schedule ' +
  'definition tick skipped by reason'

/** Something that happened before, so that names and numbers may be known. */
const authority = new Authority()
for (let i = 1; i <= 300; i++) authority.send(authority.next(Math.imul(i, 0x9e37_79b1) >>> 0))

const value = oneof(anything(), constantFrom('a', 'w1', 0, 1, null, '{}', []))

/** A type that exists, and anything in every field. */
const filled = tuple(
  constantFrom(...Object.keys(RULES.table)),
  record(Object.fromEntries(FIELDS.split(' ').map((name) => [name, value]))),
).map(([type, fields]) => Object.assign(fields, { type }))

/** A command that makes sense, but for one field, or one field of its spec. */
const spoiled = tuple(nat(), nat(), anything()).map(([number, place, wrong]) =>
  withWrongField(number, place, wrong),
)

function withWrongField(number: number, place: number, wrong: unknown): unknown {
  const { command } = new Generator().next(number, authority.world, authority.now)
  const inSpec = command?.type === 'SubmitJob' && place % 4 > 0
  const object = (inSpec ? command.spec : command) as unknown as Record<string, unknown> | null
  const names = Object.keys(object ?? {})
  const changed = { ...object, [names[place % names.length] ?? 'type']: wrong }
  return inSpec ? { ...command, spec: changed } : changed
}

function expectAnswer({ verdict, rejection }: Decision): void {
  if (verdict !== 'rejected') return
  const complete =
    rejection !== null &&
    REJECTION_CODES.includes(rejection.code) &&
    rejection.check !== '' &&
    rejection.message !== ''
  if (!complete) throw new Error(`an incomplete rejection: ${JSON.stringify(rejection)}`)
}

describe('whatever is sent', () => {
  it('nothing throws: every no comes with a code, a check and a message', () => {
    let steps = 0
    const answered = property(oneof(anything(), filled, spoiled), (something) => {
      const sent = something as Command
      expectAnswer(decide(sent, noReads(), authority.now))
      expectAnswer(authority.decide(sent))
      steps += 2
    })
    assert(answered, { seed: SEED, numRuns: SHARES.arbitrary })
    expect(steps).toBeGreaterThanOrEqual(SHARES.arbitrary)
  })
})
