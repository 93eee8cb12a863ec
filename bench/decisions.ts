/**
 * Each decision alone: `decide` over a thousand jobs that are ready for it, nothing applied.
 */
import type { Command, CommandOf, LeaseAddress } from '../src/kernel/index.ts'
import { decideIn, noReads } from '../src/kernel/index.ts'
import { Backlog, payload, spec } from './lives.ts'

const JOBS = 1_000
const PAYLOAD = payload('step', 200)
const LEASE_MS = 30_000

interface Case {
  readonly name: string
  readonly make: (at: LeaseAddress) => Command
  /** What the tasks have been through: nothing, granted, started or committed. */
  readonly after: 'nothing' | 'grant' | 'start' | 'commit'
  readonly laterMs: number
  readonly expect: 'committed' | 'cancelled'
}

const commit = (at: LeaseAddress): Command => ({
  type: 'CommitExecution',
  ...at,
  output: PAYLOAD,
  effects: [],
})

const grant = (at: LeaseAddress, started: boolean): CommandOf<'GrantLease'> => {
  const { job, stage, segment, worker } = at
  return { type: 'GrantLease', job, stage, segment, worker, request: 1, started }
}

const CASES: readonly Case[] = [
  {
    name: 'submit',
    make: ({ job }) => ({ type: 'SubmitJob', job: `new-${job}`, spec: spec(job) }),
    after: 'nothing',
    laterMs: 0,
    expect: 'committed',
  },
  {
    name: 'grant',
    make: (at) => grant(at, true),
    after: 'nothing',
    laterMs: 0,
    expect: 'committed',
  },
  {
    name: 'start',
    make: (at) => ({ type: 'StartExecution', ...at }),
    after: 'grant',
    laterMs: 0,
    expect: 'committed',
  },
  {
    name: 'extend',
    make: (at) => ({ type: 'ExtendLease', ...at, extension: 1 }),
    after: 'start',
    laterMs: 0,
    expect: 'committed',
  },
  {
    name: 'step',
    make: (at) => ({
      type: 'RecordStep',
      ...at,
      name: 'render',
      value: PAYLOAD,
      definitionVersion: 1,
    }),
    after: 'start',
    laterMs: 0,
    expect: 'committed',
  },
  { name: 'commit', make: commit, after: 'start', laterMs: 0, expect: 'committed' },
  {
    name: 'fail',
    make: (at) => ({
      type: 'FailTask',
      ...at,
      error: { type: 'RETRYABLE', code: 'Timeout', message: 'too slow', stack: null },
    }),
    after: 'start',
    laterMs: 0,
    expect: 'committed',
  },
  {
    name: 'expire',
    make: ({ job, stage, segment, lease }) => ({ type: 'ExpireLease', job, stage, segment, lease }),
    after: 'start',
    laterMs: LEASE_MS,
    expect: 'committed',
  },
  {
    name: 'late commit, refused',
    make: commit,
    after: 'start',
    laterMs: LEASE_MS,
    expect: 'cancelled',
  },
  { name: 'commit, repeated', make: commit, after: 'commit', laterMs: 0, expect: 'committed' },
]

/** Nanoseconds of each decision, by name. */
export function measureDecisions(forMsEach: number): [string, number][] {
  for (const one of CASES) measure(one, forMsEach / 4)
  return CASES.map((one) => [one.name, measure(one, forMsEach)])
}

function measure(one: Case, forMs: number): number {
  const { backlog, addresses } = prepare(one.after)
  const { ledger } = backlog
  const now = backlog.now + one.laterMs
  const commands = addresses.map(one.make)
  const reads = noReads()
  let decisions = 0
  const started = performance.now()
  let elapsed = 0
  do {
    for (const command of commands) {
      const { verdict } = decideIn(ledger.world, ledger, command, reads, now)
      if (verdict !== one.expect) throw new Error(`${one.name} was ${verdict}`)
    }
    decisions += commands.length
    elapsed = performance.now() - started
  } while (elapsed < forMs)
  return (elapsed * 1e6) / decisions
}

function prepare(after: Case['after']): { backlog: Backlog; addresses: LeaseAddress[] } {
  const backlog = new Backlog()
  backlog.fill(JOBS)
  const addresses = [...backlog.ledger.world.jobs.keys()].map((job) => ({
    job,
    stage: 0,
    segment: 0,
    lease: 1,
    worker: 'worker-1',
  }))
  for (const at of addresses) {
    if (after === 'nothing') break
    backlog.ledger.perform(grant(at, after !== 'grant'), backlog.now)
    if (after === 'commit') backlog.ledger.perform(commit(at), backlog.now)
  }
  return { backlog, addresses }
}
