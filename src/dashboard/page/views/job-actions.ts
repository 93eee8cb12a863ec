/**
 * What a job accepts as it stands now. An action that the server would refuse for the state of the job is not among them;
 * whether the reader may do the others is for the view.
 */
import type { Action, ActionField } from '../action.ts'
import type { AnswerOf } from '../api.ts'

export type ShownJob = AnswerOf<'jobs.show'>
type Why = AnswerOf<'jobs.explain'>

export interface OfferedAction {
  readonly label: string
  readonly action: Action
}

export function offeredActions(job: ShownJob, why: Why | null): readonly OfferedAction[] {
  const isOver = job.state === 'SUCCEEDED' || job.state === 'FAILED'
  return isOver ? overActions(job) : openActions(job, why)
}

function openActions(job: ShownJob, why: Why | null): OfferedAction[] {
  const { state } = job
  const isPlain = job.stages.length === 0
  // What is committed is only finished: its effects run, or a person says what became of them.
  const isCommitted = job.effects.length > 0
  const isEnding = job.cancelled !== null
  const offered: OfferedAction[] = []
  if (why?.reasons.some(({ what }) => what === 'held') === true && state === 'CREATED') {
    offered.push(release(job))
  }
  if (state === 'QUARANTINED' && !isCommitted && !isEnding) {
    if (isPlain || hasDeadSegments(job)) offered.push(retry(job))
    offered.push(discard(job))
  }
  if (state === 'RUNNING' && isPlain) offered.push(revoke(job))
  const isWaiting = state === 'CREATED' || state === 'QUEUED' || state === 'RETRYING'
  if (isWaiting && isPlain && !isCommitted && !isEnding) offered.push(reschedule(job))
  if (!isCommitted && !isEnding && state !== 'QUARANTINED') offered.push(cancel(job))
  if (isPlain && !isCommitted && !isEnding) offered.push(force(job))
  return offered
}

function hasDeadSegments(job: ShownJob): boolean {
  return job.stages.some(({ troubled }) =>
    troubled.some(({ state, effects }) => state === 'DEAD' && effects.length === 0),
  )
}

function overActions(job: ShownJob): OfferedAction[] {
  if (job.erased !== null) return []
  return [rerun(job), erase(job)]
}

/** At any other attempt it is refused: the reader has not seen that one. */
function seenAttempt(job: ShownJob): { attempt?: number } {
  return job.stages.length === 0 ? { attempt: job.attempt } : {}
}

function release({ id }: ShownJob): OfferedAction {
  return {
    label: 'Release',
    action: {
      title: 'Release the job',
      says: 'It was submitted on hold. Workers may take it from now on.',
      operation: 'jobs.release',
      input: { job: id },
    },
  }
}

function retry(job: ShownJob): OfferedAction {
  const input: ActionField = {
    name: 'input',
    label: 'Another input',
    kind: 'json',
    hint: 'JSON. Empty: the input stays as it is.',
  }
  return {
    label: 'Retry',
    action: {
      title: 'Retry the job',
      says: 'It gets a fresh budget of retries, and is tried again.',
      operation: 'jobs.retry',
      input: { job: job.id, ...seenAttempt(job) },
      fields: job.stages.length === 0 ? [input] : [],
    },
  }
}

function discard(job: ShownJob): OfferedAction {
  return {
    label: 'Discard',
    action: {
      title: 'Discard the job',
      says: 'It is given up for good: it FAILED.',
      operation: 'jobs.discard',
      input: { job: job.id, ...seenAttempt(job) },
      isGrave: true,
    },
  }
}

function revoke(job: ShownJob): OfferedAction {
  return {
    label: 'Take from its worker',
    action: {
      title: 'Take the job from its worker',
      says: 'Its lease ends, its handler is told, and the job is tried again.',
      operation: 'jobs.revoke',
      input: { job: job.id, ...seenAttempt(job) },
      isGrave: true,
    },
  }
}

function reschedule(job: ShownJob): OfferedAction {
  return {
    label: 'Reschedule',
    action: {
      title: 'Reschedule the job',
      says: 'It is due then, or as urgent, or stands in that queue.',
      operation: 'jobs.reschedule',
      input: { job: job.id, ...seenAttempt(job) },
      fields: [
        { name: 'delay', label: 'Due in', kind: 'text', hint: 'Such as 30s, 5m or 2h.' },
        { name: 'priority', label: 'Priority', kind: 'number', value: String(job.priority) },
        { name: 'queue', label: 'Queue', kind: 'text' },
      ],
    },
  }
}

function cancel({ id }: ShownJob): OfferedAction {
  return {
    label: 'Cancel',
    action: {
      title: 'Cancel the job',
      says: 'It is cancelled. A handler that runs is told.',
      operation: 'jobs.cancel',
      input: { job: id },
      isGrave: true,
    },
  }
}

function force(job: ShownJob): OfferedAction {
  return {
    label: 'Force',
    action: {
      title: 'Force the state of the job',
      says: 'It has that state, whatever its workers report.',
      operation: 'jobs.force',
      input: { job: job.id, ...seenAttempt(job) },
      fields: [
        { name: 'to', label: 'State', kind: ['SUCCEEDED', 'FAILED', 'QUEUED'], value: 'FAILED' },
        {
          name: 'output',
          label: 'Output',
          kind: 'json',
          hint: 'JSON. Of SUCCEEDED only.',
        },
      ],
      isGrave: true,
    },
  }
}

function rerun(job: ShownJob): OfferedAction {
  const from: ActionField[] =
    job.steps.length === 0
      ? []
      : [
          {
            name: 'from',
            label: 'From this step on',
            kind: job.steps,
            hint: 'Steps before it keep their values. Empty: from the beginning.',
          },
        ]
  // Effects of the first run were made: whether to make them again is for a person to say.
  const again: ActionField[] =
    job.effects.length === 0
      ? []
      : [{ name: 'effects', label: 'Effects', kind: ['again'], value: 'again' }]
  return {
    label: 'Run again',
    action: {
      title: 'Run the job again',
      says: 'A new job runs, which points to this one.',
      operation: 'jobs.rerun',
      input: { job: job.id },
      fields: [
        ...from,
        ...again,
        {
          name: 'input',
          label: 'Another input',
          kind: 'json',
          hint: 'JSON. Empty: the input of this one.',
        },
      ],
    },
  }
}

function erase({ id }: ShownJob): OfferedAction {
  return {
    label: 'Erase',
    action: {
      title: 'Erase what the job was given and made',
      says: 'Inputs, outputs, steps, errors and artifacts are gone. That it ran stays. This cannot be taken back.',
      operation: 'jobs.erase',
      input: { job: id },
      fields: [
        {
          name: 'copies',
          label: 'Jobs that hold copies of the same data',
          kind: ['erase', 'keep'],
          hint: 'Empty: if there are any, nothing is erased.',
        },
      ],
      isGrave: true,
    },
  }
}

/** Says what became of an effect. */
export function resolveAction(
  job: string,
  effect: number,
  name: string,
  place: { readonly stage?: string; readonly segment?: number } = {},
): Action {
  return {
    title: `Say what became of effect ${name}`,
    says: 'Look outside first: it may have happened, or not. Happened: it counts as done. Again: it runs again.',
    operation: 'jobs.resolve',
    input: { job, effect, ...place },
    fields: [{ name: 'outcome', label: 'Outcome', kind: ['happened', 'again'] }],
    isGrave: true,
  }
}
