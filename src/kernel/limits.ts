/**
 * A limit for everything.
 *
 * Every size, count and duration that a caller can choose has its bound here. A command that
 * exceeds one is rejected and told the bound; nothing is ever cut silently.
 * Text is measured in UTF-16 code units (`string.length`), because that costs nothing.
 */
export const LIMITS = {
  /** Ids of jobs and schedules, names of queues, workers, operators. */
  nameChars: 256,
  /** An idempotency key. */
  keyChars: 512,
  /** JSON text of an input, an output, a step's value or an effect's input. */
  payloadChars: 1_048_576,
  tags: 32,
  priority: 1_000,
  stages: 256,
  prerequisites: 256,
  segmentsPerStage: 200_000,
  tolerate: 200_000,
  limitsPerTask: 8,
  concurrency: 1_000_000,
  rateCount: 1_000_000,
  ratePeriodMs: 86_400_000,
  ageingMs: 30 * 86_400_000,
  /** Bounded so that an operator who gives fresh budgets for ever cannot overflow a counter. */
  retries: 1_000_000,
  retryDelays: 64,
  retryDelayMs: 30 * 86_400_000,
  /** Failures of one task that cost no retry: a job that is put off for ever must end some day. */
  snoozes: 1_000,
  /** JSON text of a job's metadata. */
  metadataChars: 4_096,
  delayMs: 10 * 365 * 86_400_000,
  leaseMs: 86_400_000,
  timeoutMs: 30 * 86_400_000,
  /** Effects and children promised by one commit, together. */
  effects: 256,
  /** Output and the inputs of everything promised by one commit, together. */
  commitChars: 8_388_608,
  steps: 1_024,
  /** Waits that one task records, ended ones included. */
  waits: 1_024,
  /** Jobs that wait for each other in a chain, the first caller not counted. */
  callDepth: 32,
  /** Messages to one task, or to the unopened stages of one job, that nothing took yet. */
  messages: 256,
  /** How many messages of one task are remembered for answering repeats; older ones count as new. */
  messagesRemembered: 1_000,
  /** How many submits that replaced a job are remembered for answering repeats; older ones count as new. */
  replacements: 16,
  /** Streams of one task. */
  streams: 16,
  /** Values that one append carries; their characters together are bounded by `commitChars`. */
  streamValues: 1_024,
  /** Values of one stream. */
  streamLength: 1_000_000,
  /** How many leases a suspension or a continuation leaves in mind: a task that waits often has many. */
  leasesAfterSuspension: 16,
  /** People and groups that one question is for. */
  people: 32,
  errorChars: 16_384,
  reasonChars: 4_096,
  scheduleChars: 65_536,
  /** How many leases of one task are remembered for answering repeats; older ones are cancelled. */
  leasesRemembered: 1_000,
  /** How many operator interventions of one task are kept. */
  interventions: 1_000,
} as const

/** Times are integers of milliseconds; this is the largest that arithmetic on them keeps exact. */
export const LATEST_TIME_MS = 8_640_000_000_000_000
