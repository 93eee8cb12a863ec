/**
 * The statements of the read model by name: counts of jobs, which jobs have a label, the states of
 * pipelines as they are counted, and what people have to say: answers to questions, and outcomes of effects. How to read the comments: `statements.ts`. Nothing is decided by them.
 */
export interface CountStatements {
  /** rows (COUNT_COLUMNS): added to the counts. */
  readonly addCounts: string
  /** most → how many changes of counts were added up: so many at most. */
  readonly foldCounts: string
  /** Deletes counts that are all 0. */
  readonly deleteZeroCounts: string
  /** → COUNT_COLUMNS of all that are not 0. */
  readonly allCounts: string
  /** dimension, name, whether that one is meant, most → COUNT_COLUMNS of it, or of those behind it, in order of names. */
  readonly countsNamed: string
  /** dimension → COUNT_COLUMNS of changes that were not added up yet. */
  readonly changedCounts: string
  /**
   * now, most → type, queue, tags, attempt above 0 or not, suspended, segment or not, how many: tasks that are due
   * and that no claim has given a turn yet. It reads so many.
   */
  readonly dueCounts: string
  /**
   * now, most, most channels, most of each → channel, when the oldest was due: of the first tasks of each channel and
   * priority, of those without a turn, and of those that are parked. A channel may come more than once.
   */
  readonly oldestDue: string
  /** now, most → type, tags, counted, held, how many: pipelines whose state is another one by now. It reads so many. */
  readonly duePipelines: string
  /** most → how many leases are held, how many jobs are in quarantine, how many have held effects; of segments it reads so many. */
  readonly counts: string

  /** rows (label, position, job). */
  readonly insertLabels: string
  /** rows (label, position). */
  readonly deleteLabels: string
  /** rows (label, position) → label, position of those that are there. */
  readonly labelsAt: string
  /** → how many there are. */
  readonly countLabels: string
  /** most → job, label, position of labels whose job is not there. */
  readonly strayLabels: string

  /** rows (job, position, type, tags, counted, held, until): `until`: when it is in another state without an entry; null: never. */
  readonly savePipelines: string
  /** rows (job) → job, counted, held; without locks. */
  readonly countedPipelines: string
  /** rows (job) → job, counted, held; locked in order. */
  readonly lockPipelines: string
  /** rows (job): counted out, each as it is counted. */
  readonly uncountPipelines: string
  /** rows (job): counted in. */
  readonly countPipelines: string
  /** rows (job). */
  readonly deletePipelines: string
  /** → job, type, tags, counted, held, until of all. */
  readonly allPipelines: string

  /** rows (list, since, position, stage, segment, name, job). */
  readonly insertQuestions: string
  /** rows (list, since, position, stage, segment, name). */
  readonly deleteQuestions: string
  /** list, since, position, stage, segment, name, most → job, since, position, stage, segment, name of those behind. */
  readonly questionsBehind: string
  /** list, since, position, stage, segment, name, most → all columns of those behind, in any list. */
  readonly allQuestions: string
  /** position, most → loaded, spec of the own rows of jobs behind it that have a task with held effects. */
  readonly heldJobsAfter: string
  /** job, most → loaded, spec of its first tasks with held effects. */
  readonly heldTasks: string
}

/** The list of tasks with held effects, in the order of their jobs: all since 0. */
export const HELD_LIST = 'held'

/** Of a row `x`: it has begun before, or may still begin. */
export const STARTS_IN_TIME = (now: string): string => `(x.start_by is null or x.start_by > ${now})`
