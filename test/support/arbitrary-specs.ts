/**
 * Arbitrary texts, numbers, specs, policies and promises: not plausible ones, but all that the
 * kernel could let through, with every field at its extremes now and then.
 */
import * as fc from 'fast-check'
import type {
  EffectPromise,
  Failure,
  JobSpec,
  LimitSpec,
  ParentRef,
  Rate,
  RetryPolicy,
  StageSpec,
  TaskPolicy,
} from '../../src/kernel/index.ts'
import { LATEST_TIME_MS, LIMITS } from '../../src/kernel/index.ts'
import { policy, retry } from './specs.ts'

const PLAIN = { noNullPrototype: true } as const

/** Any sequence of UTF-16 units: lone surrogates, NUL and all. */
export const anyUnits = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0xd800, max: 0xdfff })), {
    maxLength: 40,
  })
  .map((units) => String.fromCharCode(...units))

/** Around the lengths at which a text is written in another way. */
const anyLength = fc.oneof(
  fc.constantFrom(0, 1, 23, 24, 25, 31, 32, 33, 63, 64, 4_095, 4_096, 5_000),
  fc.nat(80),
)
const repeated = fc
  .tuple(fc.constantFrom('a', '\0', '\u007f', '\u0080', 'é', 'ÿ', '漢', '😀', '\ud800'), anyLength)
  .map(([unit, length]) => unit.repeat(length))

export const anyText = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'grapheme-ascii', maxLength: 40 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 2, arbitrary: anyUnits },
  { weight: 1, arbitrary: repeated },
  { weight: 1, arbitrary: fc.tuple(repeated, anyUnits, repeated).map((parts) => parts.join('')) },
)
export const orNull = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.option(arbitrary, { nil: null, freq: 2 })

export const anyCount = fc.oneof(
  fc.nat(3),
  fc.constantFrom(127, 128, 16_383, 16_384, 2 ** 28 - 1, 2 ** 28, 2 ** 31 - 1, 2 ** 31, 2 ** 32),
  fc.maxSafeNat(),
  fc.constant(Number.MAX_SAFE_INTEGER),
)
export const anyTime = fc.oneof(
  fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 }),
  fc.constantFrom(0, 1, 2 ** 32 - 1, 2 ** 32, 2 ** 46, LATEST_TIME_MS),
  fc.integer({ min: 0, max: LATEST_TIME_MS }),
)
export const anyFlag = fc.boolean()

const upTo = (most: number): fc.Arbitrary<number> =>
  fc.oneof(fc.nat(3), fc.constant(most), fc.integer({ min: 0, max: most }))

export const anyRetry: fc.Arbitrary<RetryPolicy> = fc.oneof(
  fc.constant(retry()),
  fc.record<RetryPolicy>(
    {
      max: upTo(LIMITS.retries),
      backoff: fc.constantFrom('fixed', 'exponential', 'list'),
      delayMs: upTo(LIMITS.retryDelayMs),
      capMs: upTo(LIMITS.retryDelayMs),
      delaysMs: fc.array(upTo(LIMITS.retryDelayMs), { maxLength: 5 }),
      jitter: fc.oneof(
        fc.constantFrom(0, -0, 1, 0.1, Number.MIN_VALUE),
        fc.double({ min: 0, max: 1, noNaN: true }),
      ),
    },
    PLAIN,
  ),
)

export const anyRate: fc.Arbitrary<Rate> = fc.record<Rate>(
  { count: upTo(LIMITS.rateCount), perMs: upTo(LIMITS.ratePeriodMs) },
  PLAIN,
)

const anyLimit: fc.Arbitrary<LimitSpec> = fc.record<LimitSpec>(
  { key: anyText, concurrency: orNull(upTo(LIMITS.concurrency)), rate: orNull(anyRate) },
  PLAIN,
)

export const anyPolicy: fc.Arbitrary<TaskPolicy> = fc.oneof(
  fc.constant(policy()),
  fc.record<TaskPolicy>(
    {
      queue: anyText,
      leaseMs: upTo(LIMITS.leaseMs),
      timeoutMs: orNull(upTo(LIMITS.timeoutMs)),
      retry: anyRetry,
      quarantine: fc.constantFrom('always', 'never'),
      limits: fc.array(anyLimit, { maxLength: 3 }),
    },
    PLAIN,
  ),
)

export const anyStage: fc.Arbitrary<StageSpec> = fc.record<StageSpec>(
  {
    name: anyText,
    after: fc.array(anyText, { maxLength: 3 }),
    each: orNull(anyText),
    onFailure: anyFlag,
    tolerate: upTo(LIMITS.tolerate),
    version: anyCount,
    policy: anyPolicy,
  },
  PLAIN,
)

export const anyParent: fc.Arbitrary<ParentRef> = fc.record<ParentRef>(
  { job: anyText, stage: anyCount, segment: anyCount, effect: anyCount },
  PLAIN,
)

const anyOrigin = fc.record({ id: anyText, tick: anyTime }, PLAIN)

function specOf(parts: {
  readonly policy: fc.Arbitrary<TaskPolicy | null>
  readonly stages: fc.Arbitrary<StageSpec[] | null>
}): fc.Arbitrary<JobSpec> {
  return fc.record<JobSpec>(
    {
      type: anyText,
      version: fc.oneof(
        fc.constant(1),
        anyCount.map((count) => Math.max(1, count)),
      ),
      input: anyText,
      priority: fc.oneof(fc.constant(0), fc.integer({ min: -1_000, max: 1_000 })),
      delayMs: upTo(LIMITS.delayMs),
      dueAt: orNull(anyTime),
      startWithinMs: orNull(upTo(LIMITS.delayMs)),
      deadlineMs: orNull(upTo(LIMITS.delayMs)),
      deadlineAt: orNull(anyTime),
      key: orNull(anyText),
      unique: anyFlag,
      held: anyFlag,
      group: orNull(anyText),
      tags: fc.array(anyText, { maxLength: 3 }),
      parent: orNull(anyParent),
      schedule: orNull(anyOrigin),
      rerunOf: orNull(anyText),
      asked: orNull(fc.record({ by: anyText, reason: anyText }, PLAIN)),
      submittedBy: orNull(anyText),
      metadata: orNull(anyText),
      caller: orNull(
        fc.record(
          {
            job: anyText,
            stage: anyCount,
            segment: anyCount,
            name: anyText,
            run: anyText,
            depth: anyCount,
            withCaller: anyFlag,
          },
          PLAIN,
        ),
      ),
      steps: fc.array(fc.record({ name: anyText, value: anyText }, PLAIN), { maxLength: 2 }),
      retainMs: orNull(upTo(LIMITS.delayMs)),
      policy: parts.policy,
      stages: parts.stages,
    },
    PLAIN,
  )
}

export const anyPlainSpec = specOf({ policy: anyPolicy, stages: fc.constant(null) })
export const anyPipelineSpec = specOf({
  policy: fc.constant(null),
  stages: fc.array(anyStage, { minLength: 1, maxLength: 4 }),
})
export const anySpec = fc.oneof(anyPlainSpec, anyPipelineSpec)

export const anyPromise: fc.Arbitrary<EffectPromise> = fc.record<EffectPromise>(
  {
    name: anyText,
    input: anyText,
    idempotent: anyFlag,
    reconcile: anyFlag,
    retry: anyRetry,
    child: fc.option(anySpec, { nil: null, freq: 3 }),
  },
  PLAIN,
)

export const anyFailure: fc.Arbitrary<Failure> = fc.record<Failure>(
  {
    type: fc.constantFrom('RETRYABLE', 'TERMINAL'),
    code: anyText,
    message: anyText,
    stack: orNull(anyText),
  },
  PLAIN,
)
