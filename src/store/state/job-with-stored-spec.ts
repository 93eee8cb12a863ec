/**
 * A live job whose spec is read from the disk when it is asked for: to the kernel, a job like any
 * other.
 *
 * What was submitted never changes while the job is live, so it can be read again at any time from the newest checkpoint
 * that holds the job. It earns the payload of every waiting job: memory holds a million of them
 * without what they were submitted with.
 */
import type {
  CallerRef,
  Job,
  JobSpec,
  KeptMessage,
  Payload,
  Replaced,
  Task,
} from '../../kernel/index.ts'

export interface SpecSource {
  /** Reads what was submitted at a position of the log, at once. */
  readSpec(firstPosition: number): JobSpec
}

/** One list for nearly all jobs. */
const NO_TAGS: readonly string[] = []

export class JobWithStoredSpec implements Job {
  readonly id: string
  readonly type: string
  readonly tags: readonly string[]
  readonly caller: CallerRef | null
  /** The spec, while it is in memory. */
  loaded: JobSpec | null
  readonly source: SpecSource
  version: number
  time: number
  readonly submittedAt: number
  dueAt: number
  deadlineAt: number | null
  held: boolean
  cancelled: Job['cancelled']
  erased: Job['erased']
  opened: number[] | null
  task: Task | null
  messages: KeptMessage[]
  replaced: Replaced | null
  firstPosition: number
  lastPosition: number

  /** Begins with its spec in memory. */
  constructor(job: Job, source: SpecSource) {
    this.id = job.id
    const { spec } = job
    this.type = spec.type
    this.tags = spec.tags.length === 0 ? NO_TAGS : spec.tags
    this.caller = spec.caller
    this.loaded = spec
    this.source = source
    this.version = job.version
    this.time = job.time
    this.submittedAt = job.submittedAt
    this.dueAt = job.dueAt
    this.deadlineAt = job.deadlineAt
    this.held = job.held
    this.cancelled = job.cancelled
    this.erased = job.erased
    this.opened = job.opened
    this.task = job.task
    this.messages = job.messages
    this.replaced = job.replaced
    this.firstPosition = job.firstPosition
    this.lastPosition = job.lastPosition
  }

  /** Not kept: a list of a million jobs must not bring a million payloads into memory. */
  get spec(): JobSpec {
    return this.loaded ?? this.source.readSpec(this.firstPosition)
  }

  /** It was erased: what is stored elsewhere counts no more. */
  set spec(erased: JobSpec) {
    this.loaded = erased
  }
}

/** From now on the job has its spec in memory, if it had not. */
export function keepSpec(job: Job): void {
  if (job instanceof JobWithStoredSpec) job.loaded ??= job.spec
  if (hasStoredInput(job)) job.replaced = { ...(job.replaced as Replaced) }
}

/** Whether what the job was replaced with is not in memory. */
export function hasStoredInput({ replaced }: Job): boolean {
  if (replaced === null) return false
  return Object.getOwnPropertyDescriptor(replaced, 'input')?.get !== undefined
}

/** What a job was replaced with, without its input, which is read when it is asked for. */
export function withStoredInput(
  { ids, at, definitionVersion }: Replaced,
  read: () => Payload,
): Replaced {
  return {
    ids,
    at,
    definitionVersion,
    get input() {
      return read()
    },
  }
}

/** Every transition asks for the type of its job: the spec is not read for it. */
export function typeOf(job: Job): string {
  return job instanceof JobWithStoredSpec ? job.type : job.spec.type
}

/** Every change of state is counted by them: the spec is not read for it. */
export function tagsOf(job: Job): readonly string[] {
  return job instanceof JobWithStoredSpec ? job.tags : job.spec.tags
}

/** Every end asks who waits for the job: the spec is not read for it. */
export function callerOf(job: Job): CallerRef | null {
  return job instanceof JobWithStoredSpec ? job.caller : job.spec.caller
}

/** What was submitted is not in memory. */
export function isUnloaded(job: Job): boolean {
  return job instanceof JobWithStoredSpec && job.loaded === null
}
