/**
 * Jobs with an effect whose outcome a person has to say, told to a store command by command: plain ones, and pipelines.
 */
import type { Command, EffectPromise, JobSpec } from '../../src/kernel/index.ts'
import type { Answer, Claimed, Store } from '../../src/store/index.ts'
import { failure, onRecord, pipeline, plain, policy, promise, retry, stage } from './specs.ts'

const WORKER = 'w'
export const ONCE = { retry: retry({ max: 0 }) }
const CHARGE: readonly EffectPromise[] = [promise({ name: 'charge' })]
/** Behind those of others that claim as this worker. */
let requests = 1_000_000

function reportOf({ job, stage: index, segment, lease }: Claimed): Lease {
  return { job, stage: index, segment, lease, worker: WORKER }
}

interface Lease {
  readonly job: string
  readonly stage: number
  readonly segment: number
  readonly lease: number
  readonly worker: string
}

export function senderTo(store: Store): (command: Command) => Promise<Answer> {
  return async (command) => {
    const [answer] = await store.execute([command])
    if (answer?.verdict !== 'committed') throw new Error(JSON.stringify({ command, answer }))
    return answer
  }
}

export async function claimed(
  store: Store,
  type: string,
  stageName: string | null,
): Promise<Claimed> {
  requests += 1
  const channels = [{ queue: 'default', type, stage: stageName }]
  const request = { worker: WORKER, request: requests, channels, max: 1, started: true }
  const [one] = await store.claim(request)
  if (one === undefined) throw new Error(`Nothing of ${type} was granted.`)
  return one
}

/** Commits, starts all its effects, and is taken away: nothing is known of them. */
export async function hold(
  store: Store,
  type: string,
  stageName: string | null = null,
  effects = CHARGE,
): Promise<Claimed> {
  const send = senderTo(store)
  const one = await claimed(store, type, stageName)
  await send({ type: 'CommitExecution', ...reportOf(one), output: '1', effects })
  for (const effect of effects.keys()) {
    await send({ type: 'StartEffect', ...reportOf(one), effect })
  }
  const { worker: _, ...lease } = reportOf(one)
  await send({ type: 'RevokeLease', ...lease, ...onRecord })
  return one
}

export async function submitHeld(
  store: Store,
  job: string,
  changes: Partial<JobSpec> = {},
  effects = CHARGE,
): Promise<void> {
  const spec = plain({ type: 'order', ...changes })
  await senderTo(store)({ type: 'SubmitJob', job, spec })
  await hold(store, spec.type, null, effects)
}

export function resolved(
  job: string,
  outcome: 'happened' | 'again',
  { stage: index = 0, segment = 0, effect = 0, start = 1 } = {},
): Command {
  return {
    type: 'ResolveEffect',
    job,
    stage: index,
    segment,
    effect,
    start,
    outcome,
    ...onRecord,
  }
}

export async function openStages(store: Store): Promise<void> {
  const send = senderTo(store)
  for (const command of await store.query({ kind: 'upkeep', limit: 100, forgets: false })) {
    await send(command)
  }
}

const CARDS = [stage('charge', { each: 'input', policy: policy(ONCE) })]

/** A pipeline, of a type of its own, with one segment for each letter: `h` is held, `r` runs, `w` waits, `d` is done, `f` was given up before its commit. */
export async function submitHeldPipeline(
  store: Store,
  job: string,
  segments: string,
): Promise<void> {
  const send = senderTo(store)
  const spec = pipeline(CARDS, { type: job, input: JSON.stringify(segments.split('')) })
  await send({ type: 'SubmitJob', job, spec })
  await openStages(store)
  for (const [at, kind] of segments.split('').entries()) {
    if (kind === 'w') return
    if (kind === 'h') {
      const one = await hold(store, job, 'charge')
      if (one.segment !== at) throw new Error(`Segment ${one.segment} was granted.`)
      continue
    }
    const one = await claimed(store, job, 'charge')
    if (kind === 'd') {
      await send({ type: 'CommitExecution', ...reportOf(one), output: '1', effects: [] })
    }
    if (kind === 'f') await send({ type: 'FailTask', ...reportOf(one), error: failure() })
    // From here on the pipeline is counted as RUNNING.
    if (kind === 'r') await openStages(store)
  }
}
