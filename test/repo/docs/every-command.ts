/**
 * A walk that carries out every command once, and sends each a second time right after.
 */
import type { CommandType, Decision, JobSpec, WaitSpec } from '../../../src/kernel/index.ts'
import { calleeId, tickId } from '../../../src/kernel/index.ts'
import type { Brief } from '../../support/authority.ts'
import { Authority } from '../../support/authority.ts'
import {
  call,
  caller,
  failure,
  pipeline,
  plain,
  promise,
  retry,
  stage,
} from '../../support/specs.ts'

export interface Walked {
  readonly type: CommandType
  readonly first: Decision
  readonly again: Decision
}

type Send = <T extends CommandType>(brief: Brief<T>) => void

export function walkThrough(): Walked[] {
  const walked: Walked[] = []
  const authority = new Authority()
  const send: Send = (brief) => {
    // The attempt is the one that was seen, also when the command is sent again.
    const seen =
      'attempt' in brief || !OPERATOR.has(brief.type) ? {} : seenAttempt(authority, brief)
    const command = { ...brief, ...seen }
    const first = authority.must(command)
    walked.push({ type: brief.type, first, again: authority.send(command) })
  }
  queuesAndSchedules(send)
  oneJob(send)
  waits(send, authority)
  failures(send, authority)
  stages(send)
  send({ type: 'EraseJob', job: 'a' })
  send({ type: 'ForgetJob', job: 'a', endedBefore: authority.now })
  return walked
}

const OPERATOR: ReadonlySet<CommandType> = new Set<CommandType>([
  'RetryTask',
  'ForceTask',
  'RescheduleTask',
])

function seenAttempt(authority: Authority, brief: Brief<CommandType>): { attempt: number } {
  return { attempt: authority.task((brief as { job?: string }).job).attempt }
}

function queuesAndSchedules(send: Send): void {
  send({ type: 'ConfigureQueue', queue: 'q', concurrency: 5 })
  send({ type: 'PauseQueue', queue: 'q' })
  send({ type: 'ResumeQueue', queue: 'q' })
  send({ type: 'SetSchedule', definition: 'hourly' })
  const schedule = { id: 's', tick: 5 }
  send({ type: 'SubmitJob', job: tickId('s', 5), spec: plain({ schedule }) })
  send({ type: 'FireSchedule', tick: 5 })
  send({ type: 'RemoveSchedule' })
}

function oneJob(send: Send): void {
  send({ type: 'SubmitJob', spec: plain({ held: true }) })
  send({ type: 'ReplaceJob', input: '2' })
  send({ type: 'ReleaseJob' })
  send({ type: 'GrantLease' })
  send({ type: 'StartExecution' })
  send({ type: 'ExtendLease' })
  send({ type: 'RecordStep', name: 'one', value: '1' })
  send({ type: 'AppendStream', name: 'log', values: ['1', '2'] })
  send({ type: 'ReleaseLease' })
  send({ type: 'GrantLease', request: 2, started: true })
  const again = promise({ retry: retry({ delayMs: 0 }) })
  send({ type: 'CommitExecution', effects: [again, again] })
  send({ type: 'StartEffect' })
  send({ type: 'FailEffect', error: failure() })
  send({ type: 'GrantLease', request: 3 })
  send({ type: 'StartEffect' })
  send({ type: 'FinishEffect' })
  send({ type: 'StartEffect', effect: 1 })
  send({ type: 'RevokeLease' })
  send({ type: 'ResolveEffect', effect: 1, start: 3, outcome: 'happened' })
}

function waits(send: Send, authority: Authority): void {
  const nap: WaitSpec = { ...call(), name: 'nap', callee: null, delayMs: 5 }
  send({ type: 'SubmitJob', job: 'w', spec: plain() })
  send({ type: 'SendMessage', job: 'w', id: 'm', name: 'go', value: '1' })
  send({ type: 'GrantLease', job: 'w' })
  const go = { ...nap, name: 'go', message: 'go', delayMs: null }
  send({ type: 'EndWait', job: 'w', wait: go, message: 'm' })
  send({ type: 'SuspendExecution', job: 'w', waits: [nap] })
  authority.advance(5)
  send({ type: 'GrantLease', job: 'w', request: 2 })
  send({ type: 'ContinueExecution', job: 'w', input: '2' })
  send({ type: 'GrantLease', job: 'w', request: 3 })
  const wait = call({ job: 'w' })
  send({ type: 'SuspendExecution', job: 'w', waits: [wait] })
  const callee = calleeId(caller({ job: 'w' }))
  send({ type: 'SubmitJob', job: callee, spec: wait.callee as JobSpec })
  send({ type: 'CancelJob', job: callee })
  send({ type: 'AnswerCall', job: 'w', name: 'call' })
}

function failures(send: Send, authority: Authority): void {
  const once = { retry: retry({ max: 0 }) }
  send({ type: 'SubmitJob', job: 'b', spec: plain({}, once) })
  send({ type: 'RescheduleTask', job: 'b', priority: 5 })
  send({ type: 'GrantLease', job: 'b', started: true })
  send({ type: 'FailTask', job: 'b', error: failure() })
  send({ type: 'RetryTask', job: 'b' })
  send({ type: 'GrantLease', job: 'b', request: 2 })
  authority.advance(30_000)
  send({ type: 'ExpireLease', job: 'b' })
  send({ type: 'ForceTask', job: 'b', to: 'FAILED', output: null })
}

function stages(send: Send): void {
  send({ type: 'SubmitJob', job: 'p', spec: pipeline([stage('one')]) })
  send({ type: 'OpenStage', job: 'p' })
  send({ type: 'CancelJob', job: 'p' })
  send({ type: 'StopTask', job: 'p' })
}
