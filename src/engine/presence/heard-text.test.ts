import { describe, expect, it } from 'vitest'
import { processStateIn, reportIn } from './heard-text.ts'

const WORKER = {
  id: 'w-1',
  name: null,
  serves: [{ queue: 'default', type: 'mail', stage: null, version: 1 }],
  used: 1,
  free: 0,
  isDraining: true,
  drained: { at: 1_763_479_200_000, by: 'ada', reason: 'deploy' },
  held: 1,
  holds: [{ job: 'a', stage: 0, segment: 0 }],
  startedAt: 1_763_479_200_000,
}
const STALLED = {
  job: 'a',
  stage: 0,
  segment: 0,
  type: 'mail',
  worker: 'w-1',
  attempt: 1,
  since: 1_763_479_200_000,
  isRecovered: false,
}
const WAITS = { count: 1, sum: 3, counts: [0, 0, 1] }
const TOTALS = {
  since: 1_763_479_200_000,
  submitted: 1,
  granted: 1,
  committed: 1,
  failed: 0,
  effectsFailed: 0,
  lost: 0,
  quarantined: 0,
  moves: { 'job - QUEUED': 1 },
  waitMs: WAITS,
  runMs: WAITS,
}
const STATE = {
  host: 'here',
  pid: 7,
  version: '0.1.0',
  workers: [WORKER],
  stalled: [STALLED],
  totals: TOTALS,
}

/** Every value that stands in another one, and where. */
function placesIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path]
  const within = Object.entries(value).flatMap(([name, one]) => placesIn(one, [...path, name]))
  return path.length === 0 ? within : [path, ...within]
}

/** The same, with another value, or without one, at a place. */
function withAt(value: unknown, [name = '', ...rest]: readonly string[], put: unknown): unknown {
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as never
  if (rest.length > 0) Object.assign(copy, { [name]: withAt(copy[name], rest, put) })
  else if (put === undefined) delete copy[name]
  else Object.assign(copy, { [name]: put })
  return copy
}

describe('what a process says of itself', () => {
  it('is read as it was said, also without what another version does not say', () => {
    expect(processStateIn(JSON.stringify(STATE))).toEqual(STATE)
    const { drained: _, ...worker } = WORKER
    const { totals: _totals, ...older } = { ...STATE, workers: [worker] }
    expect(processStateIn(JSON.stringify(older))).toEqual(older)
    const short = { ...older, totals: { since: 1, submitted: 7 } }
    expect(processStateIn(JSON.stringify(short))).toEqual(short)
  })

  it.each(['', 'x', 'null', '7', '"text"', '[]', '{}', '{"workers":[],"stalled":[]}'])(
    'says nothing if it cannot be read: %s',
    (text) => {
      expect(processStateIn(text)).toBe(null)
    },
  )

  it.each(placesIn(STATE).map((path) => [path.join('.'), path] as const))(
    'says nothing with something else as %s',
    (_, path) => {
      const odd = withAt(STATE, path, { odd: [null] })
      expect(processStateIn(JSON.stringify(odd))).toBe(null)
    },
  )

  it.each([
    ['workers', '0', 'startedAt'],
    ['stalled', '0', 'since'],
    ['totals', 'since'],
  ])('says nothing with a time that no clock shows: %s.%s', (...path) => {
    expect(processStateIn(JSON.stringify(withAt(STATE, path, 1e300)))).toBe(null)
  })
})

describe('what handlers say of a job', () => {
  it('is read as it was said', () => {
    const report = { progress: '{"done":1}', lines: ['half of it'] }
    expect(reportIn(JSON.stringify(report))).toEqual(report)
    expect(reportIn('{"progress":null,"lines":[]}')).toEqual({ progress: null, lines: [] })
  })

  it.each(['x', 'null', '{}', '{"progress":"x","lines":[]}', '{"progress":null,"lines":[7]}'])(
    'is nothing if it cannot be read: %s',
    (text) => {
      expect(reportIn(text)).toBe(null)
    },
  )
})
