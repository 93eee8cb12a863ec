/** What makes sense as a job: fields, sizes and the shape of a pipeline, refused at submit. */
import { describe, expect, it } from 'vitest'
import {
  caller,
  child,
  pipeline,
  plain,
  policy,
  promise,
  retry,
  stage,
} from '../../test/support/specs.ts'
import type { EffectPromise, JobSpec, KeptStep, LimitSpec, StageSpec } from './index.ts'
import { LIMITS, NONE } from './index.ts'
import {
  freezePolicy,
  invalidFields,
  invalidPolicy,
  invalidPromise,
  invalidRetry,
  invalidShape,
  isFrozenPolicy,
} from './spec.ts'

const oversize = <T>(item: T, most: number): T[] => Array.from({ length: most + 1 }, () => item)
const name = 'x'.repeat(LIMITS.nameChars + 1)
const parent = { job: 'p', stage: 0, segment: 0, effect: 0 }

function limit(key: string): LimitSpec {
  return { key, concurrency: 1, rate: null }
}

const step = (of: string, chars = 1): KeptStep => ({ name: of, value: '1'.repeat(chars) })

const BAD_FIELDS: readonly (readonly [field: string, wrong: string, spec: Partial<JobSpec>])[] = [
  ['type', 'a text of 1 to 256 characters', { type: '' }],
  ['version', 'a whole number from 1', { version: 0 }],
  ['version', 'a whole number from 1', { version: 1.5 }],
  ['version', 'a whole number from 1', { version: 2 ** 53 }],
  ['input', 'JSON text', { input: 'x'.repeat(LIMITS.payloadChars + 1) }],
  ['priority', 'a whole number from -1000 to 1000', { priority: 0.5 }],
  ['delayMs', 'a whole number from 0', { delayMs: -1 }],
  ['dueAt', 'a time', { dueAt: -1 }],
  ['startWithinMs', 'a whole number from 1', { startWithinMs: 0 }],
  ['key', 'a text of at most 512 characters', { key: 'x'.repeat(LIMITS.keyChars + 1) }],
  ['key', 'a text without U.0000', { key: 'a\0' }],
  ['key', 'a text .*without halves of characters', { key: 'a\uD800' }],
  ['unique', 'true or false', { unique: 1 as unknown as boolean }],
  ['held', 'true or false', { held: 'no' as unknown as boolean }],
  ['group', 'a text of 1 to 256 characters', { group: '' }],
  ['tags', 'a list of at most 32', { tags: oversize('tag', LIMITS.tags) }],
  ['tags', 'element 0 is a text', { tags: [''] }],
  ['parent', 'effect is a whole number', { parent: { ...parent, effect: -1 } }],
  ['schedule', 'tick is a time', { schedule: { id: 's', tick: -1 } }],
  ['rerunOf', 'a text of 1 to 256 characters', { rerunOf: name }],
  ['asked', 'by is a text of 1 to 256 characters', { asked: { by: '', reason: 'x' } }],
  ['asked', 'reason is a text of at most 4096', { asked: { by: 'x', reason: 'x'.repeat(5_000) } }],
  ['retainMs', 'a whole number from 0', { retainMs: -1 }],
  ['deadlineMs', 'a whole number from 1', { deadlineMs: 0 }],
  ['deadlineAt', 'a time', { deadlineAt: 0.5 }],
  ['submittedBy', 'a text of 1 to 256 characters', { submittedBy: '' }],
  ['metadata', 'JSON text of at most 4096 characters', { metadata: 'x'.repeat(4_097) }],
  ['metadata', 'JSON text of at most 4096 characters', { metadata: 7 as unknown as null }],
  ['metadata', 'JSON text', { metadata: '' }],
  ['caller', 'name is a text', { caller: caller({ name: '' }) }],
  ['steps', 'value is JSON text', { steps: [{ name: 's', value: '' }] }],
  ['steps', 'names each step once', { steps: [step('s'), step('s')] }],
  ['steps', 'characters in all', { steps: Array.from({ length: 9 }, (_, i) => step(`${i}`, 1e6)) }],
  ['policy', 'queue is a text', { policy: policy({ queue: '' }) }],
  ['policy', 'leaseMs is a whole number from 1', { policy: policy({ leaseMs: 0 }) }],
  ['policy', 'timeoutMs is a whole number from 1', { policy: policy({ timeoutMs: 0 }) }],
  ['policy', 'max is a whole number', { policy: policy({ retry: retry({ max: -1 }) }) }],
  [
    'policy',
    'delaysMs is a list of at most 64',
    { policy: policy({ retry: retry({ delaysMs: oversize(1, LIMITS.retryDelays) }) }) },
  ],
  [
    'policy',
    'jitter is a number from 0 to 1',
    { policy: policy({ retry: retry({ jitter: NaN }) }) },
  ],
  ['policy', 'jitter is a number', { policy: policy({ retry: retry({ jitter: -0.1 }) }) }],
  [
    'policy',
    "quarantine is one of 'always', 'never'",
    { policy: policy({ quarantine: 'sometimes' as 'always' }) },
  ],
  [
    'policy',
    'limits is a list of at most 8',
    {
      policy: policy({
        limits: oversize({ key: 'k', concurrency: 1, rate: null }, LIMITS.limitsPerTask),
      }),
    },
  ],
  [
    'policy',
    'rate is an object whose perMs',
    { policy: policy({ limits: [{ key: 'k', concurrency: null, rate: { count: 1, perMs: 0 } }] }) },
  ],
  [
    'policy',
    "limits is a list that names the key 'k' once",
    { policy: policy({ limits: [limit('k'), limit('j'), limit('k')] }) },
  ],
  [
    'stages',
    'a list of at most 256',
    { policy: null, stages: oversize(stage('one'), LIMITS.stages) },
  ],
  ['stages', 'a list of at most 256', { policy: null, stages: 'one' as unknown as null }],
]

/** Each is given after a stage that is right. */
const BAD_STAGES: readonly (readonly [named: string, wrong: string, stage: unknown])[] = [
  ['two', 'an object whose tolerate is a whole', stage('two', { tolerate: -1 })],
  ['two', 'an object whose each is a text', stage('two', { each: name })],
  [
    'two',
    "an object whose policy is an object whose limits is a list that names the key 'k' once",
    stage('two', { policy: policy({ limits: [limit('k'), limit('k')] }) }),
  ],
  ['a\0', 'an object whose name is a text without U+0000', stage('a\0')],
  ['two', 'an object without a field color', { ...stage('two'), color: 'red' }],
  ['x'.repeat(LIMITS.nameChars), 'an object whose name is a text', stage(name)],
  ['number 2', 'an object whose name is a text', { ...stage('two'), name: 7 }],
  ['number 2', 'an object', null],
  ['number 2', 'an object', undefined],
]

describe('a field of a job', () => {
  it.each(BAD_FIELDS)('%s must be: %s', (field, wrong, changes) => {
    const rejection = invalidFields(plain(changes))
    expect(rejection?.code).toBe('InvalidSpec')
    expect(rejection?.message).toMatch(new RegExp(`^The job's ${field} must be .*${wrong}`))
    expect(rejection?.details).toEqual({ field })
  })

  it.each(BAD_FIELDS.filter(([field]) => field !== 'policy' && field !== 'stages'))(
    '%s must be %s, also beside a policy that was checked before',
    (field, wrong, changes) => {
      const usual = plain({ tags: NONE, steps: NONE, policy: freezePolicy(policy()) })
      expect([invalidFields(usual), invalidFields(usual)]).toEqual([null, null])
      const rejection = invalidFields({ ...usual, ...changes })
      expect(rejection?.message).toMatch(new RegExp(`^The job's ${field} must be .*${wrong}`))
    },
  )

  it('that does not exist is found beside a policy that was checked before', () => {
    const usual = plain({ tags: NONE, steps: NONE, policy: freezePolicy(policy()) })
    expect(invalidFields(usual)).toBeNull()
    const color = invalidFields({ ...usual, color: 'red' } as JobSpec)
    expect(color?.message).toBe('A job has no field color: remove it.')
    const inherited = invalidFields(Object.assign(Object.create({}), usual))
    expect(inherited?.message).toBe('A job has no field inherited: remove it.')
  })

  it.each(BAD_STAGES)(
    'stages names the stage that is wrong: %s must be %s',
    (named, wrong, bad) => {
      const rejection = invalidFields(pipeline([stage('one'), bad as StageSpec]))
      expect(rejection?.code).toBe('InvalidSpec')
      expect(rejection?.message).toMatch(`Stage '${named}' must be ${wrong}`)
      expect(rejection?.details).toEqual({ field: 'stages', stage: named })
    },
  )

  it.each(Object.keys(plain()))('%s must be there', (field) => {
    const { [field as keyof JobSpec]: _left, ...rest } = plain()
    expect(invalidFields(rest as JobSpec)?.message).toMatch(`The job's ${field} must be `)
  })

  it.each([null, undefined, 'a'])('is looked for in vain when the spec is %s', (nonsense) => {
    const rejection = invalidFields(nonsense as unknown as JobSpec)
    expect(rejection?.message).toBe('The job has no spec: give its type, input and policy.')
  })

  it('may be as large as its limit says', () => {
    const spec = plain({
      input: 'x'.repeat(LIMITS.payloadChars),
      key: 'x'.repeat(LIMITS.keyChars),
      priority: -LIMITS.priority,
      tags: oversize('tag', LIMITS.tags - 1),
      parent,
      schedule: { id: 's', tick: 0 },
    })
    expect(invalidFields(spec)).toBeNull()
  })
})

describe('the limits of a task', () => {
  it('may be several, under different keys', () => {
    expect(invalidFields(plain({}, { limits: [limit('k'), limit('j')] }))).toBeNull()
  })
})

const stranger = <T>(object: T): T => Object.assign({}, object, { color: 'red' })

describe('a field that nobody knows is refused', () => {
  it('in a job', () => {
    const rejection = invalidFields(stranger(plain()))
    expect(rejection?.code).toBe('InvalidSpec')
    expect(rejection?.message).toBe('A job has no field color: remove it.')
    expect(rejection?.details).toEqual({ field: 'color' })
  })

  it.each([
    ['policy', plain({ policy: stranger(policy()) })],
    ['policy', plain({}, { retry: stranger(retry()) })],
    ['policy', plain({}, { limits: [stranger({ key: 'k', concurrency: 1, rate: null })] })],
    ['parent', plain({ parent: stranger(parent) })],
    ['schedule', plain({ schedule: stranger({ id: 's', tick: 1 }) })],
  ])('in its %s', (field, spec) => {
    const rejection = invalidFields(spec)
    expect(rejection?.message).toMatch(/an object without a field color/)
    expect(rejection?.details).toEqual({ field })
  })

  it('and so is one that is only inherited, because nobody would keep it', () => {
    const { type, ...own } = plain()
    const spec = Object.assign(Object.create({ type }) as JobSpec, own)
    expect(invalidFields(spec)?.message).toBe('A job has no field inherited: remove it.')
  })

  it('in a promise, and in the child that it promises', () => {
    expect(invalidPromise(stranger(promise()), 0)?.message).toBe(
      'Effect 0 must be an object without a field color.',
    )
    expect(invalidPromise(child(stranger(plain())), 0)?.message).toBe(
      'Child 0: A job has no field color: remove it.',
    )
  })
})

describe('a job is plain or a pipeline', () => {
  it.each([
    ['both', plain({ stages: [stage('s')] })],
    ['neither', plain({ policy: null })],
  ])('and not %s', (_which, spec) => {
    const rejection = invalidFields(spec)
    expect(rejection?.code).toBe('InvalidSpec')
    expect(rejection?.message).toMatch(/either a policy \(plain\) or stages \(pipeline\): give one/)
  })
})

function shapeOf(...stages: Parameters<typeof pipeline>[0]) {
  const rejection = invalidShape(pipeline(stages))
  if (rejection !== null) expect(rejection.code).toBe('InvalidShape')
  return rejection
}

describe('the shape of a pipeline', () => {
  it('is nothing that a plain job has to worry about', () => {
    expect(invalidShape(plain())).toBeNull()
  })

  it('may be a diamond with a fan-out, a nested each and an on-failure stage', () => {
    const stages = [
      stage('join', { after: ['left', 'right'], each: 'split.pages' }),
      stage('left', { after: ['split'], each: 'split' }),
      stage('right', { after: ['split'], each: 'input.pages' }),
      stage('split'),
      stage('cleanup', { onFailure: true, each: 'input.pages' }),
    ]
    expect(invalidShape(pipeline(stages, { input: '{"pages":[1]}' }))).toBeNull()
  })

  it('an empty pipeline is refused', () => {
    expect(shapeOf()?.message).toMatch(/no stage to run: add one/)
  })

  it('a pipeline of on-failure stages only is refused', () => {
    expect(shapeOf(stage('s', { onFailure: true }))?.message).toMatch(/no stage to run/)
  })

  it.each(['', 'input', 'a.b'])("a stage named '%s' is refused and named", (bad) => {
    const rejection = shapeOf(stage(bad))
    expect(rejection?.message).toMatch(`A stage cannot be named '${bad}': use a name`)
    expect(rejection?.details).toEqual({ stage: bad })
  })

  it('two stages of one name are refused and named', () => {
    expect(shapeOf(stage('s'), stage('s'))?.message).toMatch("Two stages are named 's': rename one")
  })

  it('a dangling after is refused and names the stage, and those that there are', () => {
    const rejection = shapeOf(stage('a'), stage('b', { after: ['a', 'c'] }))
    expect(rejection?.message).toMatch(
      "Stage 'b' comes after 'c', which is no stage; the stages are: a, b.",
    )
    expect(rejection?.details).toEqual({ stage: 'b' })
  })

  it('an after that names an on-failure stage is refused', () => {
    const rejection = shapeOf(stage('a', { after: ['z'] }), stage('z', { onFailure: true }))
    expect(rejection?.message).toMatch("Stage 'a' comes after the on-failure stage 'z'")
    expect(rejection?.message).toMatch("remove it from 'after'")
  })

  it('an on-failure stage with an after is refused', () => {
    const rejection = shapeOf(stage('a'), stage('z', { onFailure: true, after: ['a'] }))
    expect(rejection?.message).toMatch("On-failure stage 'z' opens when the job is ending")
  })

  it('a cycle is refused and shown, without the stages that only lead to it', () => {
    const rejection = shapeOf(
      stage('lead', { after: ['a'] }),
      stage('a', { after: ['b'] }),
      stage('b', { after: ['a'] }),
    )
    expect(rejection?.message).toBe('The stages wait for each other: a → b → a. Break the cycle.')
  })

  it('an each that names no stage is refused', () => {
    const rejection = shapeOf(stage('a'), stage('b', { after: ['a'], each: 'c' }))
    expect(rejection?.message).toMatch("Stage 'b' has each: 'c', which is neither 'input' nor")
  })

  it('an each of a stage that does not come before is refused', () => {
    const rejection = shapeOf(stage('a'), stage('b', { each: 'a' }))
    expect(rejection?.message).toMatch("name one, or add it to 'after'")
  })

  it('an each may name an ancestor that is further back', () => {
    expect(
      shapeOf(stage('a'), stage('b', { after: ['a'] }), stage('c', { after: ['b'], each: 'a' })),
    ).toBeNull()
  })

  it('an each into the outputs of a stage with segments is refused', () => {
    const stages = [stage('a', { each: 'input' }), stage('b', { after: ['a'], each: 'a.pages' })]
    const rejection = invalidShape(pipeline(stages, { input: '[]' }))
    expect(rejection?.message).toMatch("'a' has one output per segment: use each: 'a'")
  })

  it('an each over an input that has no such array is refused and names the stage', () => {
    const rejection = shapeOf(stage('a'), stage('b', { each: 'input.pages' }))
    expect(rejection?.message).toBe(
      "Stage 'b': each: 'input.pages' is not an array; give the job an input with such an array there.",
    )
    expect(rejection?.details).toEqual({ stage: 'b' })
  })
})

describe('a promise', () => {
  it('of an effect or a child can be kept', () => {
    expect(invalidPromise(promise(), 0)).toBeNull()
    expect(invalidPromise(child(plain()), 0)).toBeNull()
    expect(invalidPromise(child(pipeline([stage('s')])), 0)).toBeNull()
  })

  it('that is no promise is refused by its number', () => {
    const rejection = invalidPromise('mail' as unknown as EffectPromise, 3)
    expect(rejection?.message).toBe('Effect 3 must be an object.')
    expect(rejection?.details).toEqual({ effect: 3 })
  })

  it.each([undefined, 7])('whose child is %s is no promise', (wrong) => {
    const bad = promise({ child: wrong as unknown as JobSpec })
    expect(invalidPromise(bad, 1)?.message).toBe(
      'Effect 1 must be an object whose child is a job, or null.',
    )
  })

  it('of a child is checked like a job', () => {
    const bad = invalidPromise(child(plain({ delayMs: -1 })), 2)
    expect(bad?.code).toBe('InvalidSpec')
    expect(bad?.message).toMatch("Child 2: The job's delayMs must be")
    const crooked = invalidPromise(child(pipeline([stage('s', { after: ['t'] })])), 2)
    expect(crooked?.code).toBe('InvalidShape')
    expect(crooked?.message).toMatch("Child 2: Stage 's' comes after 't'")
    expect(crooked?.details).toEqual({ stage: 's', effect: 2 })
  })

  it.each([
    ['names a parent', child(plain({ parent }))],
    ['names a schedule', child(plain({ schedule: { id: 's', tick: 1 } }))],
    ['is not idempotent', { ...child(plain()), idempotent: false }],
  ])('of a child that %s is refused', (_what, bad) => {
    expect(invalidPromise(bad, 1)?.message).toMatch(/Child 1 must be idempotent and name no parent/)
  })
})

it('a pipeline begins with no steps of another run', () => {
  const rejection = invalidFields(pipeline([stage('one')], { steps: [step('s')] }))
  expect(rejection?.message).toContain('Only a plain job begins with steps')
  expect(invalidFields(plain({ steps: [step('s')], metadata: '{}' }))).toBeNull()
})

it('a policy, and how it retries, can be asked about alone', () => {
  expect(invalidPolicy(policy())).toBeNull()
  expect(invalidPolicy(policy({ leaseMs: 0 }))).toContain('leaseMs')
  expect(invalidRetry(retry())).toBeNull()
  expect(invalidRetry(retry({ max: -1 }))).toContain('max')
})

describe('a policy that is frozen', () => {
  it('can never change, nor can anything in it', () => {
    const rate = { count: 1, perMs: 1 }
    const own = freezePolicy(policy({ limits: [{ key: 'k', concurrency: 1, rate }] }))
    const parts = [own, own.retry, own.retry.delaysMs, own.limits, own.limits[0], rate]
    expect(parts.every((part) => Object.isFrozen(part))).toBe(true)
    expect(isFrozenPolicy(own)).toBe(true)
    expect(freezePolicy(own)).toBe(own)
  })

  it('is refused as often as it is given if it is wrong', () => {
    const wrong = freezePolicy(policy({ leaseMs: 0 }))
    const messages = [1, 2].map(() => invalidFields(plain({ policy: wrong }))?.message)
    expect(messages[0]).toMatch('leaseMs is a whole number from 1')
    expect(messages[1]).toBe(messages[0])
  })

  it('is checked again if only its surface is frozen', () => {
    const shallow = Object.freeze(policy({ retry: { ...retry() } }))
    expect(isFrozenPolicy(shallow)).toBe(false)
    expect(invalidPolicy(shallow)).toBeNull()
    ;(shallow.retry as { max: number }).max = -1
    expect(invalidPolicy(shallow)).toMatch('max is a whole number')
  })
})
