/**
 * Jobs that call jobs, on every store: upkeep submits what a worker promised and could not submit, tells the
 * caller how its callee ended, and cancels what ends with its caller.
 */
import { describe, expect, it } from 'vitest'
import type { CallerRef, Command, JobSpec, WaitSpec } from '../../src/kernel/index.ts'
import { calleeId } from '../../src/kernel/index.ts'
import type { Answer, Claimed } from '../../src/store/index.ts'
import { openDirectory } from '../../src/store/index.ts'
import {
  call,
  caller,
  failure,
  pipeline,
  plain,
  policy,
  promise,
  retry,
  stage,
} from '../support/specs.ts'
import type { Bench } from './bench.ts'
import { CHANNEL, claim, commit, reportOf, setUp, simulated, STORES, TestClock } from './bench.ts'

async function due({ store }: Bench): Promise<readonly Command[]> {
  return store.query({ kind: 'upkeep', limit: 100, forgets: false })
}

/** What an engine's upkeep does, until nothing is due. The commands that were sent, in words. */
async function upkeep(bench: Bench): Promise<string[]> {
  const sent: string[] = []
  for (;;) {
    const commands = await due(bench)
    if (commands.length === 0) return sent
    for (const command of commands) sent.push(`${command.type} ${(command as { job: string }).job}`)
    for (const answer of await bench.store.execute(commands)) {
      expect(answer.verdict, answer.rejection?.message).toBe('committed')
    }
  }
}

async function stateOf({ store }: Bench, job: string): Promise<string | undefined> {
  return (await store.query({ kind: 'job', job }))?.state
}

async function waitsOf({ store }: Bench, job: string, at = 0, segment = 0) {
  const task = await store.query({ kind: 'task', job, stage: at, segment })
  return task?.waiting?.waits ?? []
}

let requests = 1

async function claimed(bench: Bench, job: string): Promise<Claimed> {
  const channels = [CHANNEL, { ...CHANNEL, stage: 'one' }, { ...CHANNEL, stage: 'only' }]
  const leased = await bench.store.claim(claim({ request: (requests += 1), max: 9, channels }))
  return leased.find((one) => one.job === job) as Claimed
}

function suspend(leased: Claimed, waits: readonly WaitSpec[]): Command {
  const report = { ...reportOf(leased), needs: 'any', waits, unfit: [] } as const
  return { type: 'SuspendExecution', ...report, definitionVersion: 1 }
}

/** Job `a` is submitted, granted, and waits for its callee; its worker dies before it submits that. */
async function calling(kind: string, ref: Partial<CallerRef> = {}, spec: JobSpec = plain()) {
  const bench = await setUp(kind)
  await bench.send({ type: 'SubmitJob', job: 'a', spec: plain() })
  const wait = call(ref, spec)
  await bench.send(suspend(await claimed(bench, 'a'), [wait]))
  return { bench, callee: calleeId(wait.callee!.caller!), wait }
}

describe.each(Object.keys(STORES))('of calls, the %s store', (kind) => {
  it('submits a callee whose worker died before it could, once, and tells its end', async () => {
    const { bench, callee } = await calling(kind)
    expect(await upkeep(bench)).toEqual([`SubmitJob ${callee}`])
    expect(await due(bench)).toEqual([])
    expect(await stateOf(bench, 'a')).toBe('SUSPENDED')
    await bench.send(commit(await claimed(bench, callee)))
    expect(await upkeep(bench)).toEqual(['AnswerCall a'])
    expect(await due(bench)).toEqual([])
    expect(await stateOf(bench, 'a')).toBe('QUEUED')
    const [wait] = await waitsOf(bench, 'a')
    expect(wait).toMatchObject({ name: 'call', endedBy: 'callee' })
    expect(JSON.parse(wait!.value!)).toMatchObject({ state: 'SUCCEEDED' })
    const again = await claimed(bench, 'a')
    expect(again.lease).toBe(2)
    await bench.send(commit(again))
    expect(await stateOf(bench, 'a')).toBe('SUCCEEDED')
  })

  it('leaves a callee that its worker submitted alone, and tells how it failed', async () => {
    const { bench, callee, wait } = await calling(kind)
    await bench.send({ type: 'SubmitJob', job: callee, spec: wait.callee! })
    expect(await upkeep(bench)).toEqual([])
    const error = failure({ type: 'TERMINAL' })
    const leased = await claimed(bench, callee)
    await bench.send({ type: 'FailTask', ...reportOf(leased), error })
    expect(await upkeep(bench)).toEqual(['AnswerCall a'])
    const [ended] = await waitsOf(bench, 'a')
    expect(JSON.parse(ended!.value!)).toEqual({ state: 'FAILED', cancelled: null, error })
  })

  it('keeps a caller waiting while its callee waits for a person', async () => {
    const once = plain({}, { retry: retry({ max: 0 }) })
    const { bench, callee } = await calling(kind, {}, once)
    await upkeep(bench)
    const leased = await claimed(bench, callee)
    await bench.send({ type: 'FailTask', ...reportOf(leased), error: failure() })
    expect(await stateOf(bench, callee)).toBe('QUARANTINED')
    expect(await due(bench)).toEqual([])
    await bench.send({ type: 'CancelJob', job: callee, by: 'ops', reason: 'enough' })
    expect(await upkeep(bench)).toEqual(['AnswerCall a'])
  })

  it('tells the end of a pipeline, to a segment of a pipeline', async () => {
    const bench = await setUp(kind)
    await bench.send({ type: 'SubmitJob', job: 'p', spec: pipeline([stage('one')]) })
    await upkeep(bench)
    const wait = call({ job: 'p' }, pipeline([stage('only', { policy: policy() })]))
    await bench.send(suspend(await claimed(bench, 'p'), [wait]))
    const callee = calleeId(wait.callee!.caller!)
    expect(await upkeep(bench)).toEqual([`SubmitJob ${callee}`, `OpenStage ${callee}`])
    await bench.send(commit(await claimed(bench, callee)))
    expect(await upkeep(bench)).toEqual(['AnswerCall p'])
    const [ended] = await waitsOf(bench, 'p')
    expect(ended).toMatchObject({ endedBy: 'callee', value: '{"state":"SUCCEEDED"}' })
    await bench.send(commit(await claimed(bench, 'p')))
    await upkeep(bench)
    expect(await stateOf(bench, 'p')).toBe('SUCCEEDED')
  })

  it('submits no callee of a caller that is over, and takes none from one that went on', async () => {
    const { bench, callee, wait } = await calling(kind)
    await bench.send({ type: 'CancelJob', job: 'a', by: 'ops', reason: '' })
    expect(await upkeep(bench)).toEqual([])
    const [late] = await bench.store.execute([
      { type: 'SubmitJob', job: callee, spec: wait.callee! },
    ])
    expect(late?.rejection?.code).toBe('UnknownCaller')
  })

  it('cancels with its caller only what is to end with it', async () => {
    const { bench, callee } = await calling(kind, { withCaller: true })
    await upkeep(bench)
    await bench.send({ type: 'CancelJob', job: 'a', by: 'ops', reason: '' })
    expect(await upkeep(bench)).toEqual([`CancelJob ${callee}`])
    expect(await stateOf(bench, callee)).toBe('FAILED')
    expect(await due(bench)).toEqual([])
    const other = await calling(kind)
    await upkeep(other.bench)
    await other.bench.send({ type: 'CancelJob', job: 'a', by: 'ops', reason: '' })
    expect(await upkeep(other.bench)).toEqual([])
    expect(await stateOf(other.bench, other.callee)).toBe('QUEUED')
  })

  it('cancels what is to end with a run that began anew, and lets the next run call again', async () => {
    const bench = await setUp(kind)
    await bench.send({ type: 'SubmitJob', job: 'a', spec: plain() })
    const nap: WaitSpec = { ...call(), name: 'nap', delayMs: 5, callee: null }
    const first = call({ withCaller: true, run: '1' })
    await bench.send(suspend(await claimed(bench, 'a'), [first, nap]))
    await upkeep(bench)
    bench.clock.time += 5
    const leased = await claimed(bench, 'a')
    const report = { ...reportOf(leased), input: '"next"', definitionVersion: 1 }
    await bench.send({ type: 'ContinueExecution', ...report })
    expect(await upkeep(bench)).toEqual([`CancelJob ${calleeId(first.callee!.caller!)}`])
    const next = await claimed(bench, 'a')
    expect(next).toMatchObject({ input: '"next"', lease: 3, steps: [] })
    const second = call({ run: '3' })
    await bench.send(suspend(next, [second]))
    expect(await upkeep(bench)).toEqual([`SubmitJob ${calleeId(second.callee!.caller!)}`])
  })

  it('lets a pipeline that ends with its caller finish what it committed, and asks for nothing more', async () => {
    const spec = pipeline([stage('only', { policy: policy() })])
    const { bench, callee } = await calling(kind, { withCaller: true }, spec)
    await upkeep(bench)
    const leased = await claimed(bench, callee)
    const effects = [promise({ name: 'mail', idempotent: true })]
    await bench.send({ ...commit(leased), effects } as Command)
    await bench.send({ type: 'CancelJob', job: 'a', by: 'ops', reason: '' })
    expect(await due(bench)).toEqual([])
    expect(await stateOf(bench, callee)).toBe('RUNNING')
    await bench.send({ type: 'StartEffect', ...reportOf(leased), effect: 0 })
    await bench.send({ type: 'FinishEffect', ...reportOf(leased), effect: 0 })
    expect(await stateOf(bench, callee)).toBe('SUCCEEDED')
    expect(await due(bench)).toEqual([])
  })

  it('asks for nothing if another job has the id of a callee, over or not', async () => {
    const { bench, callee } = await calling(kind)
    await bench.send({ type: 'SubmitJob', job: callee, spec: plain({ input: '"another"' }) })
    expect(await due(bench)).toEqual([])
    await bench.send(commit(await claimed(bench, callee)))
    await bench.send({ type: 'SubmitJob', job: 'b', spec: plain() })
    expect(await due(bench)).toEqual([])
    expect(await stateOf(bench, 'a')).toBe('SUSPENDED')
    // One that is over before the call is made.
    const second = call({ job: 'b' })
    const taken = calleeId(second.callee!.caller!)
    await bench.send({ type: 'SubmitJob', job: taken, spec: plain() })
    await bench.send({ type: 'CancelJob', job: taken, by: 'ops', reason: '' })
    await bench.send(suspend(await claimed(bench, 'b'), [second]))
    expect(await due(bench)).toEqual([])
  })

  it('ends a wait in place for a callee that is over, with what it said', async () => {
    const bench = await setUp(kind)
    await bench.send({ type: 'SubmitJob', job: 'a', spec: plain() })
    const nap: WaitSpec = { ...call(), name: 'nap', delayMs: 5, callee: null }
    await bench.send(suspend(await claimed(bench, 'a'), [call(), nap]))
    await upkeep(bench)
    const callee = calleeId(caller())
    const done = await claimed(bench, callee)
    bench.clock.time += 5
    const leased = await claimed(bench, 'a')
    await bench.send({ ...commit(done), output: '42' } as Command)
    expect(await upkeep(bench)).toEqual([])
    const report = { ...reportOf(leased), unfit: [], definitionVersion: 1 }
    const end = { type: 'EndWait', ...report, wait: call(), message: callee } as const
    const [answer] = await bench.store.execute([end])
    expect(answer).toMatchObject({
      verdict: 'committed',
      value: '{"state":"SUCCEEDED","output":42}',
    })
  })

  it('keeps a callee until its caller is over', async () => {
    const { bench, callee } = await calling(kind)
    await upkeep(bench)
    await bench.send(commit(await claimed(bench, callee)))
    await upkeep(bench)
    bench.clock.time += 10
    const forget = { type: 'ForgetJob', job: callee, endedBefore: bench.clock.time } as const
    const [kept] = await bench.store.execute([forget])
    expect(kept?.rejection?.code).toBe('CallerNotOver')
    await bench.send(commit(await claimed(bench, 'a')))
    await bench.send(forget)
    expect(await stateOf(bench, callee)).toBeUndefined()
  })
})

describe.each([
  ['', {}],
  [' with checkpoints', { checkpointBytes: 1 }],
])('a directory%s that is opened again', (_with, options) => {
  async function reopened() {
    const clock = new TestClock()
    const places = { ...simulated(clock), ...options }
    const bench = {} as Bench
    const open = async (): Promise<void> => {
      await bench.store?.close()
      const store = await openDirectory('/store', places)
      const send = async (command: Command) => (await store.execute([command]))[0] as Answer
      Object.assign(bench, { clock, store, send })
    }
    await open()
    await bench.send({ type: 'SubmitJob', job: 'a', spec: plain() })
    await bench.send(suspend(await claimed(bench, 'a'), [call({ withCaller: true })]))
    await open()
    return { bench, open, callee: calleeId(caller()) }
  }

  it('submits what was promised before, and tells an end that it was not told of', async () => {
    const { bench, open, callee } = await reopened()
    expect(await upkeep(bench)).toEqual([`SubmitJob ${callee}`])
    await open()
    expect(await upkeep(bench)).toEqual([])
    await bench.send(commit(await claimed(bench, callee)))
    await open()
    expect(await upkeep(bench)).toEqual(['AnswerCall a'])
    expect(await stateOf(bench, 'a')).toBe('QUEUED')
    await open()
    expect(await upkeep(bench)).toEqual([])
  })

  it('cancels what is to end with a caller that is over, or forgotten', async () => {
    const { bench, open, callee } = await reopened()
    await upkeep(bench)
    await bench.send({ type: 'CancelJob', job: 'a', by: 'ops', reason: '' })
    bench.clock.time += 1
    await bench.send({ type: 'ForgetJob', job: 'a', endedBefore: bench.clock.time })
    await open()
    expect(await upkeep(bench)).toEqual([`CancelJob ${callee}`])
  })
})
