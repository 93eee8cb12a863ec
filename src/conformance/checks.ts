/**
 * What a worker must do, one check after the other, with one process of it. Its command has a handler for each of these
 * types:
 *
 * - conformance-echo: puts out its input.
 * - conformance-draw: records the step 'draw' with a value that it makes by chance; fails its first attempt after that,
 *   retryable, with the code EAGAIN; puts out `{ "drawn": … }` with the value of the step.
 * - conformance-fail: fails, terminal, with the `code` and the `message` of its input.
 * - conformance-nap: waits for `ms` of its input, or until it is told to stop; puts out `{ "napped": … }`.
 */
import type { ConformanceBench } from './bench.ts'
import { WorkerFault } from './bench.ts'
import { meansTheSame } from './json-tokens.ts'

export interface ConformanceCheck {
  /** What the worker does. */
  readonly name: string
  /** False: it is good to have, and a language may not be able to. */
  readonly isRequired: boolean
  readonly run: (bench: ConformanceBench) => Promise<void>
}

const SHORT_LEASE = '4s'
/** Longer than that. */
const NAP_MS = 6_000
/** Longer than any check waits. */
const LONG_NAP = '{"ms":600000}'
const STOP_MS = 15_000

const TEXTS = [
  '"plain"',
  '"äöü ß 漢字 עברית 🦀👩‍👩‍👧"',
  JSON.stringify('quotes " and \\ and \n \r \t \b and \u2028 \u2029 \u0000 \u001f'),
  JSON.stringify('e\u0301 and \u00e9 are two things, and \ufeff is one'),
  '"<a href=\'x\'>$HOME `id` %s</a> \\\\"',
  '""',
]
const VALUES = [
  '{"a":[1,2.5,-0.125,true,false,null,{"b":{}}],"ü":"ü"}',
  '[9007199254740991,-9007199254740991,0,123456789012]',
  'null',
  '[]',
]
const LARGE = '[9007199254740993,18446744073709551615,-9223372036854775808]'

function assertTrue(isSo: boolean, what: string): void {
  if (!isSo) throw new WorkerFault(what)
}

async function echoes(bench: ConformanceBench, inputs: readonly string[]): Promise<void> {
  const jobs = await Promise.all(inputs.map((input) => bench.submit('conformance-echo', input)))
  for (const [i, job] of jobs.entries()) {
    const output = await bench.outputOf(job)
    const input = inputs[i] as string
    assertTrue(meansTheSame(input, output), `it was given ${input} and put out ${output}`)
  }
}

async function draws(bench: ConformanceBench): Promise<void> {
  const job = await bench.submit('conformance-draw', '{}')
  const output = await bench.outputOf(job)
  const entries = await bench.entriesOf(job)
  const steps = entries.filter((one) => one.type === 'StepRecorded')
  const reports = bench.proxy.commands.filter((one) => one.job === job && one.type === 'RecordStep')
  assertTrue(steps.length === 1, `it recorded ${steps.length} steps, not one`)
  assertTrue(reports.length === 1, `it reported the step ${reports.length} times, not once`)
  const expected = `{"drawn":${steps[0]?.value}}`
  assertTrue(meansTheSame(expected, output), `the step was ${expected}, and it put out ${output}`)
}

async function failsAndIsTriedAgain(bench: ConformanceBench): Promise<void> {
  const job = await bench.submit('conformance-draw', '{}')
  await bench.outputOf(job)
  const failures = (await bench.entriesOf(job)).filter((one) => one.type === 'TaskFailed')
  const [failure] = failures
  assertTrue(failures.length === 1, `it reported ${failures.length} failures, not one`)
  const { type, code, message } = failure?.error ?? { type: null, code: '', message: '' }
  assertTrue(type === 'RETRYABLE', `the failure is ${type}, not RETRYABLE`)
  assertTrue(code === 'EAGAIN', `the code is '${code}', not 'EAGAIN'`)
  assertTrue(message !== '', 'the failure has no message')
  assertTrue((await bench.taskOf(job)).attempt === 2, 'it was not done at the second attempt')
}

async function failsForGood(bench: ConformanceBench): Promise<void> {
  const said = { code: 'ENOPE', message: 'it is no use: "ü" 🦀' }
  const job = await bench.submit('conformance-fail', JSON.stringify(said))
  await bench.until('did not fail a job', async () => (await bench.stateOf(job)) === 'FAILED')
  const { attempt, error } = await bench.taskOf(job)
  assertTrue(attempt === 1, `it tried ${attempt} times`)
  const { type, code, message = '' } = error ?? {}
  assertTrue(type === 'TERMINAL', `the failure is ${type}, not TERMINAL`)
  assertTrue(code === said.code, `the code is '${code}', not '${said.code}'`)
  assertTrue(message.includes(said.message), `the message is '${message}', not '${said.message}'`)
}

async function keepsItsLease(bench: ConformanceBench): Promise<void> {
  const job = await bench.submit('conformance-nap', `{"ms":${NAP_MS}}`, SHORT_LEASE)
  await bench.outputOf(job)
  const { attempt } = await bench.taskOf(job)
  assertTrue(attempt === 1, `a nap that is longer than its lease took ${attempt} attempts`)
}

async function dropsWhatIsCancelled(bench: ConformanceBench): Promise<void> {
  const job = await bench.submit('conformance-nap', LONG_NAP, SHORT_LEASE)
  await bench.untilLeased(job)
  await bench.cancel(job)
  const told = (): boolean =>
    bench.proxy.commands.some((one) => one.job === job && one.verdict === 'cancelled')
  await bench.until('did not ask about its lease', told)
  const next = await bench.submit('conformance-echo', '"after a cancelled job"')
  await bench.outputOf(next)
  const late = bench.proxy.commands.filter(
    ({ type, job: of }) => of === job && (type === 'CommitExecution' || type === 'FailTask'),
  )
  assertTrue(late.length === 0, `it sent ${late[0]?.type} of a job that was cancelled`)
}

async function reportsAgain(bench: ConformanceBench): Promise<void> {
  const { proxy } = bench
  const job = await bench.submit('conformance-echo', '"said twice"')
  const isOwn = (one: { readonly job: string; readonly type: string }): boolean =>
    one.job === job && one.type === 'CommitExecution'
  proxy.losesCommand = (one) => isOwn(one) && !proxy.commands.some(isOwn)
  await bench.until('did not say again what got no answer', () => {
    return proxy.commands.filter(isOwn).length > 1
  })
  proxy.losesCommand = () => false
  const output = await bench.outputOf(job)
  assertTrue(output.includes('said twice'), `it put out ${output}`)
  const [first, second] = proxy.commands.filter(isOwn)
  assertTrue(first?.lease === second?.lease, 'it reported under another lease')
  assertTrue((await bench.taskOf(job)).attempt === 1, 'it ran the job again')
}

async function claimsAgain(bench: ConformanceBench): Promise<void> {
  const { proxy } = bench
  let isFirst = true
  proxy.losesClaim = ({ jobs }) => {
    const isLost = isFirst && jobs.length > 0
    if (isLost) isFirst = false
    return isLost
  }
  const job = await bench.submit('conformance-echo', '"claimed twice"')
  await bench.outputOf(job)
  proxy.losesClaim = () => false
  const claims = proxy.claims.filter(({ jobs }) => jobs.includes(job))
  const [lost, again] = claims
  assertTrue(lost?.isLost === true && claims.length === 2, 'it did not claim again')
  const isSame = lost?.worker === again?.worker && lost?.request === again?.request
  assertTrue(isSame, 'it claimed with another worker or request number, so the lease was lost')
  assertTrue((await bench.taskOf(job)).attempt === 1, 'it has lost the lease')
}

async function givesBack(bench: ConformanceBench): Promise<void> {
  const { worker } = bench
  const job = await bench.submit('conformance-nap', LONG_NAP)
  await bench.untilLeased(job)
  worker.terminate()
  assertTrue(
    await worker.hasEnded(STOP_MS),
    `it did not end within ${STOP_MS / 1_000} s of SIGTERM`,
  )
  const types = (await bench.entriesOf(job)).map(({ type }) => type)
  assertTrue(types.includes('LeaseReleased'), 'it ended and did not give its lease back')
  assertTrue((await bench.stateOf(job)) === 'QUEUED', 'the job does not wait for another worker')
}

function required(name: string, run: ConformanceCheck['run']): ConformanceCheck {
  return { name, isRequired: true, run }
}

/** In this order: the last one ends the worker. */
export const CONFORMANCE_CHECKS: readonly ConformanceCheck[] = [
  required('claims jobs, and commits what their handlers put out', (bench) =>
    echoes(bench, VALUES),
  ),
  required('changes no text on its way', (bench) => echoes(bench, TEXTS)),
  {
    name: 'keeps whole numbers beyond 2 ** 53',
    isRequired: false,
    run: (bench) => echoes(bench, [LARGE]),
  },
  required('records a step, and does not do it again', draws),
  required('reports a failure with its code, and the job is tried again', failsAndIsTriedAgain),
  required('reports a failure that is not to be tried again', failsForGood),
  required('keeps its lease while a handler runs', keepsItsLease),
  required('drops a job that was cancelled, and goes on', dropsWhatIsCancelled),
  required('says again what got no answer', reportsAgain),
  required('claims again under the same number when no answer came', claimsAgain),
  required('gives back what it holds when it is told to stop', givesBack),
]
