/**
 * The tests that hold what the source documents ask for, each under a short name: file and title, exactly
 * as in the code. Which stores a test runs on is read from the test.
 */
import type { TestReference } from '../test-stores.ts'

const KERNEL = 'src/kernel'
const MODEL = 'test/model'
const CONFORMANCE = 'test/conformance'
const FM = `${MODEL}/failure-modes`
const DIRECTORY = 'src/store/directory'
const PRESENCE = 'test/scenarios/presence'
const LIFE = `${CONFORMANCE}/lifecycle.test.ts`
const HANDLERS = `${CONFORMANCE}/handlers.test.ts`
const RECORDS = `${CONFORMANCE}/records.test.ts`
const STORES = `${CONFORMANCE}/stores.test.ts`
const DATABASES = ['SQLite', 'PostgreSQL']
const NO_STORE: readonly string[] = []

function at(file: string, name: string, on?: readonly string[]): TestReference {
  return on === undefined ? { file, name } : { file, name, on }
}

const ALL = {
  // The kernel by itself.
  movesWalked: at(`${KERNEL}/transitions.test.ts`, 'from %s to %s'),
  everyMove: at(
    `${KERNEL}/transitions.test.ts`,
    'every way that its table allows, and no other is listed here',
  ),
  finalStays: at(
    `${KERNEL}/transitions.test.ts`,
    'let nothing leave a final state, and let every job that is not final end both ways',
  ),
  mayStay: at(`${KERNEL}/transitions.test.ts`, 'allow to stay, by any entry'),
  unlistedMoves: at(`${KERNEL}/transitions.test.ts`, 'allow no move that they do not list'),
  byItsEntries: at(
    `${KERNEL}/transitions.test.ts`,
    'allow a move by the entries that they name, and by no other',
  ),
  pipelineNeverBack: at(
    `${KERNEL}/transitions.test.ts`,
    'never back to CREATED or QUEUED once it has begun',
  ),
  refusedWithStates: at(
    `${KERNEL}/decide.test.ts`,
    'is refused with where from, where to and what is allowed',
  ),
  derivedStates: at(`${KERNEL}/derive.test.ts`, 'is %s when %s'),
  mayOpen: at(`${KERNEL}/derive.test.ts`, 'is every stage whose prerequisites are DONE'),
  brokenSteps: at(`${KERNEL}/invariants/step.test.ts`, '%i: %s'),
  brokenRecords: at(`${KERNEL}/invariants/records.test.ts`, '%i: %s'),
  fixedDelay: at(`${KERNEL}/retry.test.ts`, 'is the same each time when it is fixed'),
  defaultRetry: at(
    `${KERNEL}/retry.test.ts`,
    'is one second, three times, when nobody says otherwise',
  ),
  noEffectBefore: at(`${KERNEL}/guards.test.ts`, 'is refused by %s, because there is none yet'),
  worlds: at(`${MODEL}/explorer/worlds.test.ts`, '%s (%s): no invariant is broken'),
  storiesRetold: at(
    `${MODEL}/explorer/worlds.test.ts`,
    'in %s, stories sent to an authority with a log lead to the same states, and so does replay',
  ),
  guardsNeeded: at(`${MODEL}/explorer/guards.test.ts`, '%s an invariant breaks'),
  naiveModel: at(
    `${MODEL}/properties/agreement.test.ts`,
    'agrees with a naive model on every answer and every state',
  ),
  prefixes: at(
    `${MODEL}/properties/properties.test.ts`,
    'replays to an equal state, and every prefix of its log is a valid state',
  ),
  sameSeed: at(`${MODEL}/properties/properties.test.ts`, 'gives the same events for the same seed'),
  deliveredAgain: at(
    `${MODEL}/properties/properties.test.ts`,
    'gets the answer it got, at once and after other things happened',
  ),
  whateverIsSent: at(
    `${MODEL}/properties/arbitrary.test.ts`,
    'nothing throws: every no comes with a code, a check and a message',
  ),
  sentTwice: at(
    `${MODEL}/golden/golden.test.ts`,
    'gives the same answers and the same log when every command is sent twice',
  ),
  foldedAgain: at(`${MODEL}/golden/golden.test.ts`, 'is folded from its log to the same state'),
  fm1Reproduced: at(
    `${FM}/FM_001_duplicate_execution/reproduction.test.ts`,
    'both workers charge the card when nothing is checked at commit',
  ),
  fm1Prevented: at(
    `${FM}/FM_001_duplicate_execution/prevention.test.ts`,
    'the worker that lost its lease is answered cancelled, and the card is charged once',
  ),
  fm2Prevented: at(
    `${FM}/FM_002_crash_after_commit/prevention.test.ts`,
    'the next worker can only finish what was promised, so the card is charged once',
  ),
  fm3Prevented: at(
    `${FM}/FM_003_stale_completion/prevention.test.ts`,
    'the stale report is answered cancelled, and the result stands',
  ),
  stormPrevented: at(
    `${FM}/FM_007_retry_storm/prevention.test.ts`,
    'with jitter a thousand jobs come back apart',
  ),
  unknownHeld: at(
    `${FM}/FM_008_unknown_outcome/prevention.test.ts`,
    'an effect that declares nothing is held for a person, and its task is not given out',
  ),
  olderView: at(
    `${FM}/FM_009_operator_race/prevention.test.ts`,
    'a retry that was decided on an old view is refused, and nothing is run',
  ),

  // A job's life, on every store.
  life: at(LIFE, 'goes from LEASED over IN_PROGRESS and COMMITTED to DONE, and its job follows it'),
  aborted: at(
    LIFE,
    'is ABORTED when its lease runs out, started or not, and its job is QUEUED again',
  ),
  commitsOnce: at(
    LIFE,
    'commits once: the late report of another is cancelled, on record once, and changes nothing',
  ),
  holderOnly: at(LIFE, 'is reported on by the worker that holds its lease, and by no other'),
  finishedByNext: at(
    LIFE,
    'is finished after its commit by the next worker, which can neither redo nor fail it',
  ),
  extended: at(LIFE, 'keeps its state when its lease is extended, which it is only before its end'),
  oneOfMany: at(LIFE, 'is granted to one of many that claim at the same moment'),
  notGranted: at(LIFE, 'is not granted while its job is held, nor before it is due'),
  retriedThreeTimes: at(
    LIFE,
    'is retried three times, a second apart, if nobody says otherwise (quarantine: %s)',
  ),
  failedAtOnce: at(
    LIFE,
    'is FAILED at once by a terminal error, and by a cancel before it was granted',
  ),
  freshBudget: at(LIFE, 'gets a fresh budget from an operator who saw it in quarantine, once'),
  sentAgain: at(LIFE, 'that is sent again is answered as the first time, and writes nothing'),
  overIsOver: at(LIFE, 'changes nothing of a job that is over'),
  notAllowed: at(
    LIFE,
    'that the table of states does not allow is refused with from, to and what is allowed',
  ),
  metadataKept: at(
    LIFE,
    'that submits a job may say by whom and note more, and both are kept as they were given',
  ),
  unknownJob: at(LIFE, 'about a job that there is not is refused'),
  stageStates: at(
    LIFE,
    'goes from NEW over READY and RUNNING to DONE, and only upkeep opens the next',
  ),
  oneSegment: at(LIFE, 'gets back just the segment whose lease ran out'),
  openedAgain: at(
    LIFE,
    'has what it had: a lease that runs on is kept, and one that ran out meanwhile is over',
  ),

  movesOnStores: at(
    `${CONFORMANCE}/stories.test.ts`,
    'lets a job go every way that the tables of states allow',
  ),
  tracesOnStores: at(
    `${CONFORMANCE}/stories.test.ts`,
    'answers every command of %s as the kernel does, twice',
  ),

  // What a handler may rely on, on every store.
  stepsKept: at(
    HANDLERS,
    'whose worker dies before the commit runs again, without the steps that it recorded',
  ),
  effectsFinished: at(
    HANDLERS,
    'whose worker dies after the commit is not run again: its effects are finished',
  ),
  silentHandler: at(
    HANDLERS,
    'that falls silent is flagged after the time that its job says, and run again if that says so',
  ),
  artifactFound: at(
    HANDLERS,
    'finds the artifact of an earlier attempt, whose checksum is in the commit',
  ),

  // What can be asked, on every store.
  attempts: at(RECORDS, 'has each attempt with its worker, its times, how it ended and its error'),
  openAttempts: at(RECORDS, 'has what runs, what waits for its effects, and the newest of many'),
  lostLease: at(RECORDS, 'says after a lost lease that it was lost, and the error before it'),
  whyFailed: at(RECORDS, 'is said alike by get, result() and explain: %s'),
  history: at(
    `${CONFORMANCE}/history.test.ts`,
    'has the state before and after each entry, and what only time did between them',
  ),
  historyByPeople: at(
    `${CONFORMANCE}/history.test.ts`,
    'shows what time did last, too, and who did something and why',
  ),
  noHistory: at(`${CONFORMANCE}/history.test.ts`, 'of a job that never was is refused'),
  whoAndWhy: at(
    `${CONFORMANCE}/who-and-why.test.ts`,
    'is kept with who did it and why, in history, events and watch',
  ),
  firstAsker: at(
    `${CONFORMANCE}/who-and-why.test.ts`,
    'stays that of who was first, when somebody else asks for the same',
  ),
  refusalCounted: at(
    `${CONFORMANCE}/refusals.test.ts`,
    'throws what has the code of the rejection, and is counted by it',
  ),
  refusalTold: at(
    `${CONFORMANCE}/refusals.test.ts`,
    'is a notice if the owner wants it, and none otherwise',
  ),
  sameToSame: at(
    `${CONFORMANCE}/refusals.test.ts`,
    'is answered without an entry: a cancel of a job that is FAILED',
  ),
  timeoutClassified: at(
    `${CONFORMANCE}/giving-up.test.ts`,
    'is terminal if classify says so of it',
  ),
  timeoutRetried: at(
    `${CONFORMANCE}/giving-up.test.ts`,
    'is terminal if the handler throws a TerminalError when it is told to stop',
  ),
  discardOnce: at(`${CONFORMANCE}/giving-up.test.ts`, 'gives up what is in quarantine, once'),
  rescheduledByCall: at(
    `${CONFORMANCE}/operators.test.ts`,
    'is due at once, later, or at a time, and says who asked for it',
  ),
  attemptSeen: at(
    `${CONFORMANCE}/operators.test.ts`,
    'is refused at another one, and nothing changes',
  ),
  leaseTaken: at(
    `${CONFORMANCE}/operators.test.ts`,
    'ends the attempt, whose handler is told who and why, and the job is tried again',
  ),
  recoveredLater: at(
    `${CONFORMANCE}/retry-after.test.ts`,
    'is tried again after the delay that its definition says',
  ),
  retryAfter: at(
    `${CONFORMANCE}/retry-after.test.ts`,
    'puts the job off for so long, and costs a retry',
  ),
  pastDeadline: at(
    `${CONFORMANCE}/retry-after.test.ts`,
    'ends a job that is not committed by then, whatever it does',
  ),
  pastMoments: at(
    `${CONFORMANCE}/time-travel.test.ts`,
    'a job is what it was after each of its entries, and each move of time',
  ),
  fromAStep: at(
    `${CONFORMANCE}/rerun.test.ts`,
    'from a step begins with the steps before it, by value, and does the others again',
  ),
  queueFull: at(
    'src/engine/client/max-waiting.test.ts',
    'refuses what would wait beyond it, says why, and takes more once there is room',
  ),
  neverInQuarantine: at(
    'src/engine/client/defaults.test.ts',
    'fails jobs that used up their retries, where it says so once',
  ),
  erasedJob: at(
    `${CONFORMANCE}/erase.test.ts`,
    'has nothing of what it was given and made, and knows that it ran',
  ),
  endOfHistory: at(
    'test/sql/verify/history.test.ts',
    'loses what is old of forgotten jobs and of schedules, and nothing else',
  ),
  validReused: at(
    'src/worker/artifact/artifacts.test.ts',
    "is the output of each segment whose stage says reuse: 'valid', and only of those that wrote one",
  ),
  rescheduled: at(
    `${CONFORMANCE}/reschedule.test.ts`,
    'grants one earlier, one later, and says who asked for it',
  ),
  lateByDeadline: at(
    `${CONFORMANCE}/deadlines.test.ts`,
    'asks to cancel jobs that are too late, and grants none of them meanwhile',
  ),
  stepsGiven: at(
    `${CONFORMANCE}/deadlines.test.ts`,
    'hands a job the steps that it was submitted with',
  ),
  limitsExact: at(
    `${CONFORMANCE}/limits.test.ts`,
    'are exact under load, and over restarts (seed %i)',
    ['directory', ...DATABASES],
  ),
  inOrder: at(STORES, 'answers each command in order and never throws for a bad one'),
  handedOver: at(STORES, 'hands over what the worker needs, with the time left as a duration'),
  claimRepeated: at(
    STORES,
    'that is repeated gets the same leases, those that are still held, and no others',
  ),
  stepsHandedOver: at(STORES, "gives the next attempt the recorded steps and the operator's input"),
  resumed: at(STORES, 'that resumes a commit names its unfinished effects'),
  eachElement: at(STORES, 'each: one task per element'),
  upkeepNames: at(STORES, 'names leases that ran out and tasks that were not taken in time'),
  snapshot: at(
    STORES,
    'job: a snapshot with derived state, stages and tasks; null if there is none',
  ),
  listed: at(STORES, 'jobs: page by page in order of submission, filtered'),
  listedAsSubmitted: at(`${CONFORMANCE}/queries.test.ts`, 'with what was submitted'),
  watched: at(STORES, 'sees every entry once, in order, wherever it is interrupted and resumed'),
  extensionSeen: at(
    `${CONFORMANCE}/lost-sessions.test.ts`,
    'keeps a lease that was extended since, and takes one that was not',
  ),
  directoryInStep: at(
    `${CONFORMANCE}/lockstep.test.ts`,
    'goes in step with a ledger that never stops (seed %i)',
    ['directory'],
  ),
  databasesInStep: at(
    `${CONFORMANCE}/sql-lockstep.test.ts`,
    'goes in step with a ledger that never stops (seed %i)',
    DATABASES,
  ),

  // Workers that are there, silent, stopped or dead.
  workersListed: at(
    `${PRESENCE}/heard.test.ts`,
    'are listed while they work, and what they hold with them',
  ),
  workersElsewhere: at(
    `${PRESENCE}/heard.test.ts`,
    'its workers are listed here, until it is closed',
  ),
  silentElsewhere: at(
    `${PRESENCE}/heard.test.ts`,
    'a handler that fell silent is known in every process, by the time of the authority',
  ),
  withoutPresence: at(
    `${PRESENCE}/kills.test.ts`,
    'without presence its job waits for the end of its lease',
  ),
  killedElsewhere: at(
    `${PRESENCE}/kills.test.ts`,
    'its job runs again elsewhere in under ${IN_MS[name]} ms, with the default lease of 30 s',
  ),
  killedOwner: at(
    `${PRESENCE}/kills.test.ts`,
    'the jobs of a killed owner run again in under a second after it was opened',
    ['directory'],
  ),
  stoppedProcess: at(
    `${PRESENCE}/kills.test.ts`,
    'one that is stopped for three leases and then goes on commits nothing',
  ),
  presenceBegunAnew: at(
    'src/store/sql/sqlite/presence.test.ts',
    'a file that is no database is begun anew',
  ),
  killedProcess: at(
    'test/scenarios/shared/processes.test.ts',
    'the jobs of one that is killed are taken by another when their leases have run out',
  ),
  silentWorker: at(
    'src/worker/loop/worker.test.ts',
    'that went silent loses its job to another, and its late commit changes nothing',
  ),
  uniqueNames: at(
    'src/worker/attempt/authority.test.ts',
    'is only what it is called: no two of them are ever the same',
    ['memory'],
  ),
  keptLease: at(
    'src/worker/loop/worker.test.ts',
    'keeps the lease of a handler that takes several times as long',
  ),
  stopsInTime: at(
    'src/worker/loop/worker.test.ts',
    'that is stopped gives back what did not finish in time, and it costs nothing',
  ),
  flaggedAfterTenMinutes: at(
    'src/worker/attempt/stalled.test.ts',
    'is flagged after ten minutes unless its job says otherwise, and goes on',
    ['memory'],
  ),
  triedAgainOnRecord: at(
    'src/worker/attempt/stalled.test.ts',
    'is tried again if its job says so: the lease is taken away, on record',
    ['memory'],
  ),
  stalledRefused: at(
    'src/worker/attempt/stalled.test.ts',
    'is refused where it makes no sense',
    NO_STORE,
  ),
  sleepCostsNothing: at('src/store/clock.test.ts', 'is not lost in a directory store', [
    'directory',
  ]),

  // Errors, effects, artifacts, and what people are shown.
  retryableError: at(
    'src/worker/handler/failure.test.ts',
    'keeps its message, code and stack, and is retryable',
    NO_STORE,
  ),
  terminalError: at(
    'src/worker/handler/failure.test.ts',
    'is terminal for a TerminalError, also one of another copy of the package',
    NO_STORE,
  ),
  classified: at(
    'src/worker/handler/failure.test.ts',
    'is what classify says, which sees what was thrown',
    NO_STORE,
  ),
  badInput: at(
    'src/engine/client/submit.test.ts',
    'goes through its schema before it is stored, and again before it is used',
  ),
  badDefinition: at('src/engine/client/client.test.ts', 'is refused where it is written', NO_STORE),
  effectAfterCommit: at(
    'src/worker/attempt/effects.test.ts',
    'runs after the commit, under a key that never changes, and is recorded once',
  ),
  artifactPlaces: at(
    'src/worker/artifact/paths.test.ts',
    'is another one for each job, each submit, and each store',
    NO_STORE,
  ),
  artifactHarmed: at(
    'src/worker/artifact/artifacts.test.ts',
    '%s is not used again: the work is done anew',
    ['directory'],
  ),
  artifactOfLoser: at(
    'src/worker/artifact/artifacts.test.ts',
    'that an attempt without a lease still writes does not touch the one that was committed',
  ),
  artifactCutShort: at(
    'test/scenarios/artifacts/artifacts.test.ts',
    'a process that is killed in the middle of a file leaves none, and the next one writes it',
    ['directory'],
  ),
  uuids: at('src/engine/random.test.ts', 'are UUIDs of version 7', NO_STORE),
  entriesCounted: at(
    'src/engine/inspect/metrics.test.ts',
    'count every entry, and the ways of each type in its queue',
  ),
  timesMeasured: at(
    'src/engine/inspect/metrics.test.ts',
    'tell how long jobs waited from when they were due, and how long they ran',
    ['memory'],
  ),
  diagramOfStates: at(
    'src/engine/client/diagram.test.ts',
    'without a job shows every state of a plain job, and which are final',
    NO_STORE,
  ),
  diagramOfJob: at(
    'src/engine/client/diagram.test.ts',
    'of a plain job marks the state that it is in',
    ['memory'],
  ),
  ranAgainAsNewJob: at('src/engine/pawl.test.ts', 'that throws a TerminalError fails at once', [
    'memory',
  ]),
  pipelineRetriesSegment: at(
    'test/scenarios/pipelines/failures.test.ts',
    'retries a segment alone',
  ),
  cancelReachesHandler: at(
    'src/worker/loop/worker.test.ts',
    'tells a running handler that its job was cancelled, and reports nothing more',
  ),
  handlerSettledOnce: at('src/testing/crash.test.ts', 'runs the handler twice and commits once'),

  // The log of a directory.
  faults: at(
    'test/faults/damage/faults.test.ts',
    'loses nothing that was answered, whichever it is',
  ),
  powerLoss: at(
    'test/faults/damage/power-loss.test.ts',
    'loses nothing that was answered, whenever it comes',
  ),
  plantedBugs: at('test/faults/damage/planted-bugs.test.ts', 'is caught: $name'),
  killedUnderLoad: at(
    'test/faults/crash/kill.test.ts',
    'loses nothing that it acknowledged, and leaves nothing that was not sent',
  ),
  fullDisk: at(
    'test/faults/crash/disk-full.test.ts',
    'refuses new work, and says what to do; nothing of it happened',
  ),
  flippedBits: at(
    'test/faults/damage/damage.test.ts',
    'never loses an entry by a bit that flipped',
  ),
  doubleGrantFound: at('test/faults/damage/verify.test.ts', 'finds a lease that was granted twice'),
  doubleEntryFound: at('test/faults/damage/verify.test.ts', 'finds an entry that is there twice'),
  repaired: at(
    'test/faults/damage/repair.test.ts',
    'cuts the log behind every checkpoint, and lists what is lost',
  ),
  timeTravel: at(
    'test/faults/damage/time-travel.test.ts',
    'equals the fold of every prefix, by time (%i%% checkpoints)',
  ),
  checkpointLost: at(
    `${DIRECTORY}/directory-store.test.ts`,
    'is safe to lose while the log is whole: opening gives the same',
  ),
  checkpointDamaged: at(
    `${DIRECTORY}/directory-store.test.ts`,
    'that is damaged is passed over for the one before, and reported',
  ),
  forgottenByAge: at(
    `${DIRECTORY}/retention.test.ts`,
    'forgets finished jobs that are too old, oldest first, wherever they are',
  ),
  oneOwner: at(
    'src/log/disk/owner.test.ts',
    'is refused in another process, at once, by the name of its owner',
  ),
  nextVersion: at(
    'test/golden-directories/next-version.test.ts',
    'opens under version 2 with its entries upcast, and nothing is rewritten',
  ),
  rebuiltLedger: at(
    'src/store/state/ledger.test.ts',
    'rebuilt from its log goes on as the one that lived (seed %i)',
    ['memory', 'directory'],
  ),
  ledgerInvariants: at(
    'src/store/state/ledger.test.ts',
    'keeps every invariant, with its own indexes (seed %i)',
    ['memory', 'directory'],
  ),
  examined: at(
    'src/store/views/examination.test.ts',
    'goes through all jobs, a few at a time, round after round',
    ['memory', 'directory'],
  ),
  contradictionFound: at(
    'src/store/views/examination.test.ts',
    'finds a record that contradicts itself',
    ['memory', 'directory'],
  ),
  orphanFound: at(
    'src/store/views/examination.test.ts',
    'finds a pipeline that can never advance',
    ['memory', 'directory'],
  ),
  brokenTold: at(
    'src/engine/inspect/health.test.ts',
    'tells it once, and keeps saying so when it is asked',
    ['memory'],
  ),

  // Databases.
  processesKilled: at(
    'test/sql/proof/kills.test.ts',
    'are killed, and nothing is lost, nothing is done twice, and all jobs end',
  ),
  serverCrashes: at(
    'test/sql/proof/kills.test.ts',
    'lose nothing that was acknowledged, and go on when it is back',
    ['PostgreSQL'],
  ),
  connectionsLost: at(
    'test/sql/proof/losses.test.ts',
    '%s each run of a story changes no answer and no state',
  ),
  anythingAtOnce: at(
    'test/sql/proof/traces.test.ts',
    'take any commands at once, and nothing illegitimate comes of it',
  ),
  claimsAtOnce: at(
    'test/sql/proof/claims.test.ts',
    'grant only what may be granted where their entries stand, with %i stores',
  ),
  skipsLocked: at(
    'test/scenarios/shared/skipped.test.ts',
    'what was locked while somebody looked for work is taken when it is let go',
    ['PostgreSQL'],
  ),
  rowsConstrained: at('test/sql/proof/opening.test.ts', 'refuses what no row may hold'),
  eventsAppended: at(
    'test/sql/proof/opening.test.ts',
    'refuses that any user changes or removes events',
  ),
  fullDatabase: at(
    'test/sql/proof/opening.test.ts',
    'that is full refuses what is new, loses nothing, and goes on when there is room',
    ['SQLite'],
  ),
  forgottenRows: at(
    'test/sql/proof/retention.test.ts',
    'forgets what is older than it or its job says',
  ),
  damagedOnOpen: at(
    'test/sql/verify/examination.test.ts',
    'does not open if a row of its newest events is missing or changed',
  ),
  changedByHand: at(
    'test/sql/verify/examination.test.ts',
    'finds what was changed by hand, names the job, and says no more once it is repaired',
  ),
  idTwice: at(
    'test/sql/verify/examination.test.ts',
    'finds an id that was submitted again although it was not forgotten',
  ),
  healthNamesJob: at(
    'test/sql/verify/examination.test.ts',
    'says in its health which job is broken, by itself',
  ),
  rowsRepaired: at('test/sql/verify/verify.test.ts', 'with %s is found out, and repaired'),
  rowTwice: at(
    'test/sql/verify/verify.test.ts',
    'with a row that is there twice is found out, and repaired',
    ['PostgreSQL'],
  ),
  walCutShort: at(
    'test/sql/sqlite-mark.test.ts',
    'does not open if its write-ahead log was %s and acknowledged work is lost with it',
  ),
  commitWithWrites: at(
    'test/sql/user-transaction/faults.test.ts',
    'at any %s: the commit and the write are there once',
    ['PostgreSQL'],
  ),
  nextVersionRows: at(
    'test/golden-directories/next-version.test.ts',
    'opens under version 2 with its entries upcast, and version 1 refuses what that writes',
    DATABASES,
  ),
} as const satisfies Record<string, TestReference>

export type TestName = keyof typeof ALL

export const TESTS: Readonly<Record<TestName, TestReference>> = ALL
