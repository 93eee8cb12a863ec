/**
 * Which fields of records and entries carry a user's data: the one list that erasing goes by, and
 * whatever else must tell a user's data from the rest.
 *
 * Every text of a job's records and entries is either an identifier (`IDENTIFIERS`), by which the
 * kernel finds and compares things, or stands in the list with what erasing makes of it. One that is
 * neither does not compile. Redacting keeps the shape: what was null stays null, and what was a value is a
 * value that says nothing. So entries that were redacted are folded as the others are, and
 * lead to the redacted record.
 */
import type { EntryOf, EntryType, JobEntry, TaskEntry } from './entries.ts'
import type {
  Asked,
  Cancelled,
  Effect,
  EffectPromise,
  Failure,
  Intervention,
  Job,
  JobSpec,
  KeptMessage,
  Message,
  PendingWait,
  Resolution,
  Task,
  Wait,
} from './model.ts'

/**
 * Names and ids, wherever they stand. They stay: that the job ran, and who did what to it, is said by
 * them, and repeats are answered by them. `docs/guide/16-erasing.md` tells users to put no personal data there.
 */
export const IDENTIFIERS = [
  'id',
  'job',
  'type',
  'name',
  'code',
  'key',
  'group',
  'tags',
  'each',
  'after',
  'queue',
  'toQueue',
  'worker',
  'session',
  'by',
  'submittedBy',
  'rerunOf',
  'unfit',
  'run',
  'replacement',
  'ids',
] as const

type Identifier = (typeof IDENTIFIERS)[number]

/** What erasing makes of a text: any JSON text becomes `ERASED`, any other text an empty one. */
type TextFate = 'payload' | 'text'

type IsNever<T> = [T] extends [never] ? true : false

/** `true` is among it if there is a text in the value that may be anything, and is no identifier. */
type HasText<V> = V extends string
  ? string extends V
    ? true
    : false
  : V extends number | boolean | null | undefined
    ? false
    : V extends readonly (infer E)[]
      ? HasText<E>
      : { [F in Exclude<keyof V, Identifier>]: HasText<V[F]> }[Exclude<keyof V, Identifier>]

type FateOf<V> = V extends string
  ? TextFate
  : V extends readonly (infer E)[]
    ? 'dropped' | FateOf<E>
    : FieldFates<V>

/** What becomes of each field that holds a text. `kept`: it is no user's data. `dropped`: a list becomes empty. */
export type FieldFates<T> = {
  readonly [
    F in keyof T as F extends Identifier ? never : true extends HasText<T[F]> ? F : never
  ]-?: 'kept' | FateOf<NonNullable<T[F]>>
}

/** In place of a payload. */
export const ERASED = 'null'

const ASKED: FieldFates<Asked> = { reason: 'text' }

const SPEC: FieldFates<JobSpec> = {
  input: 'payload',
  metadata: 'payload',
  asked: ASKED,
  steps: 'dropped',
}

/** What was thrown often quotes what it was thrown about. Its code is the program's own word. */
const FAILURE: FieldFates<Failure> = { message: 'text', stack: 'text' }

const PROMISE: FieldFates<EffectPromise> = { input: 'payload', child: SPEC }

const RESOLUTION: FieldFates<Resolution> = { reason: 'text' }

const EFFECT: FieldFates<Effect> = { promise: PROMISE, error: FAILURE, resolutions: RESOLUTION }

const INTERVENTION: FieldFates<Intervention> = { payload: 'payload', reason: 'text' }

/** `message` is the name of one. */
const PENDING_WAIT: FieldFates<PendingWait> = {
  message: 'kept',
  schema: 'payload',
  ask: 'payload',
  callee: SPEC,
}

const WAIT: FieldFates<Wait> = { ...PENDING_WAIT, value: 'payload' }

const MESSAGE: FieldFates<Message> = { value: 'payload', reason: 'text' }

const KEPT_MESSAGE: FieldFates<KeptMessage> = { value: 'payload', reason: 'text' }

const CANCELLED: FieldFates<Cancelled> = { reason: 'text' }

const TASK: FieldFates<Task> = {
  steps: 'dropped',
  commit: { effects: EFFECT },
  output: 'payload',
  error: FAILURE,
  input: 'payload',
  interventions: INTERVENTION,
  waiting: { waits: WAIT, messages: MESSAGE },
}

/** Its task is erased beside it, in place. Who erased it, and why, is said after the data was gone. */
const JOB: FieldFates<Job> = {
  spec: SPEC,
  replaced: { input: 'payload' },
  cancelled: CANCELLED,
  erased: 'kept',
  task: 'kept',
  messages: KEPT_MESSAGE,
}

type OfJob = (JobEntry | TaskEntry)['type']

type EntryFates = {
  readonly [
    T in OfJob as IsNever<keyof FieldFates<EntryOf<T>>> extends true ? never : T
  ]: FieldFates<EntryOf<T>>
}

/** Entries that are not here carry none. */
const ENTRIES: EntryFates = {
  JobSubmitted: { spec: SPEC },
  JobReleased: { reason: 'text' },
  JobReplaced: { input: 'payload', reason: 'text' },
  StageOpened: { error: FAILURE },
  MessageKept: { message: KEPT_MESSAGE },
  JobCancelled: { reason: 'text' },
  JobErased: { reason: 'kept' },
  StepRecorded: { value: 'payload' },
  // As many values as there were: the next offset follows from their number.
  StreamAppended: { values: 'payload' },
  WaitEnded: { wait: PENDING_WAIT, message: 'kept', answer: 'payload' },
  ExecutionSuspended: { waits: PENDING_WAIT },
  ExecutionContinued: { input: 'payload' },
  MessageSent: { value: 'payload', wait: 'kept', reason: 'text' },
  ExecutionCommitted: { output: 'payload', effects: PROMISE },
  EffectFailed: { error: FAILURE },
  EffectResolved: { reason: 'text' },
  TaskFailed: { error: FAILURE },
  // The kernel's own words: which worker went silent, in what phase.
  LeaseExpired: { diagnostic: 'kept' },
  LeaseRevoked: { reason: 'text' },
  ReportRefused: { report: 'kept' },
  TaskRetried: { input: 'payload', reason: 'text' },
  TaskForced: { output: 'payload', reason: 'text' },
  TaskRescheduled: { reason: 'text' },
}

type Fates = { readonly [field: string]: string | Fates }
type Changeable = Record<string, unknown>

const EMPTY = Object.freeze([])

function redactValue(value: unknown, fate: string | Fates): unknown {
  if (value === null || fate === 'kept') return value
  if (fate === 'dropped') return EMPTY
  if (Array.isArray(value)) return value.map((one) => redactValue(one, fate))
  if (fate === 'payload') return ERASED
  if (fate === 'text') return ''
  const fates = fate as Fates
  return redactFields({ ...(value as Changeable) }, fates)
}

/** In place. What is inside of its fields may be shared, and is copied. */
function redactFields<T extends object>(record: T, fates: Fates): T {
  const fields = record as Changeable
  for (const field of Object.keys(fates)) {
    fields[field] = redactValue(fields[field], fates[field] as string | Fates)
  }
  return record
}

const CARRYING = new Map<EntryType, Fates>(
  (Object.entries(ENTRIES) as [EntryType, Fates][]).filter(([, fates]) =>
    Object.values(fates).some((fate) => fate !== 'kept'),
  ),
)

/** A copy without a user's data; an entry of a type that carries none as it is. Redacting again changes nothing. */
export function redactEntry<T extends EntryOf<EntryType>>(entry: T): T {
  const fates = CARRYING.get(entry.type)
  return fates === undefined ? entry : redactFields({ ...entry }, fates)
}

/** In place, a plain job's task included. */
export function redactJob(job: Job): void {
  redactFields(job, JOB as Fates)
  if (job.task !== null) redactTask(job.task)
}

/** In place. */
export function redactTask(task: Task): void {
  redactFields(task, TASK as Fates)
}
