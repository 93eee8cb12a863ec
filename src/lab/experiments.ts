/**
 * The failure modes as experiments: the same story with a guard left out, and with all of them. `pawl lab` shows them;
 * `docs/failure-modes.md` tells them, and the tests in `test/model/failure-modes` hold what they come to.
 */
import type { Rules } from '../kernel/index.ts'
import { INVARIANTS, RULES } from '../kernel/index.ts'
import { theFormIsOld, theWorkerIsOld } from './approval-after-deploy.ts'
import type { Authority } from './authority.ts'
import { theSubmitIsLate } from './caller-dies.ts'
import { theCancelIsFirst, theCommitIsFirst } from './cancel-race.ts'
import { theClockJumpsForward, theClockStepsBack } from './clock-jump.ts'
import { theNextWorkerDoesItAllAgain, theNextWorkerFails } from './crash-after-commit.ts'
import type { DeedLedger } from './deed-ledger.ts'
import { bothWorkersFinish } from './duplicate-execution.ts'
import { theCommitIsRepeated, theFinishIsRepeated, theSubmitIsRepeated } from './lost-answer.ts'
import { theApprovalIsFirst } from './lost-message.ts'
import { anOperatorActsOnAnOldView, theSlowWorkerReportsAfterTheRetry } from './operator-race.ts'
import { everyWorkerDies } from './poison-job.ts'
import { theServiceIsDown } from './retry-storm.ts'
import { COMMIT_FENCE, rulesForgetting, rulesLeavingOut } from './rules-left-out.ts'
import { aReportFromAnEarlierLife, aStaleResultArrives } from './stale-completion.ts'
import { answerOf, brokenInvariants } from './story.ts'
import { twoWorkersEndIt } from './two-ends-of-a-wait.ts'
import { theNextWorkerRunsIt } from './unknown-outcome.ts'

/** What a story leaves behind. */
interface Scene {
  readonly authority: Authority
  readonly ledger?: DeedLedger
  /** What else it came to. */
  readonly also?: readonly string[]
}

export interface Experiment {
  /** What happens without the guards. */
  readonly damage: string
  /** What is left out, in words: guards by their ids. */
  readonly leftOut: readonly string[]
  readonly rules: Rules
  play(rules: Rules): Scene
}

export interface FailureMode {
  readonly id: string
  readonly title: string
  readonly story: string
  readonly experiments: readonly Experiment[]
}

/** One command of a story, and what its sender was told. */
export interface LabStep {
  readonly atMs: number
  readonly by: string
  readonly command: string
  readonly answer: string
}

export interface LabRun {
  readonly steps: readonly LabStep[]
  readonly findings: readonly string[]
  readonly brokenInvariants: readonly number[]
}

function without(
  damage: string,
  play: (rules: Rules) => Scene,
  ...guards: readonly string[]
): Experiment {
  return { damage, leftOut: guards, rules: rulesLeavingOut(...guards), play }
}

export const FAILURE_MODES: readonly FailureMode[] = [
  {
    id: 'FM_001',
    title: 'Duplicate execution after a lease times out',
    story:
      'A slow worker takes the task. Its lease times out, and a quick worker is given the task. Then both report that they are done.',
    experiments: [without('The card is charged twice.', bothWorkersFinish, ...COMMIT_FENCE)],
  },
  {
    id: 'FM_002',
    title: 'Crash between COMMITTED and DONE',
    story:
      'A worker commits, charges the card, and dies before it has sent the receipt. The next worker is given the task.',
    experiments: [
      without(
        'The next worker does it all again: two charges.',
        theNextWorkerDoesItAllAgain,
        'CommitExecution.before-commit',
      ),
      without(
        'The next worker gives it up: the order is FAILED, and the card is charged.',
        theNextWorkerFails,
        'FailTask.before-commit',
      ),
    ],
  },
  {
    id: 'FM_003',
    title: 'Stale completion after recovery',
    story:
      'A worker reports on a job that another one has ended, or on an order whose id is used for a new one.',
    experiments: [
      without('A result that was read is replaced.', aStaleResultArrives, ...COMMIT_FENCE),
      without(
        'The new order gets the result of the old one.',
        (rules) => aReportFromAnEarlierLife(rules),
        'CommitExecution.lease-holder',
      ),
    ],
  },
  {
    id: 'FM_004',
    title: 'Answer lost, report repeated',
    story:
      'The authority writes the entry and answers. The answer is lost, and the command is sent again.',
    experiments: (
      [
        [
          'The work is committed, and its worker discards it: no charge.',
          theCommitIsRepeated,
          'CommitExecution',
        ],
        ['The client orders again under a new id: two charges.', theSubmitIsRepeated, 'SubmitJob'],
        ['The end of an effect is recorded twice.', theFinishIsRepeated, 'FinishEffect'],
      ] as const
    ).map(([damage, play, command]) => ({
      damage,
      leftOut: [`the answer to a repeated ${command}`],
      rules: rulesForgetting(command),
      play,
    })),
  },
  {
    id: 'FM_005',
    title: 'Clock jumps forward and back',
    story:
      'The clock steps back by ten seconds, so that a lease that ran out looks alive. Or it jumps forward by an hour.',
    experiments: [
      without(
        'Work that was discarded is accepted, and no card is charged.',
        theClockStepsBack,
        'clock',
      ),
      without('Both workers charge.', theClockJumpsForward, ...COMMIT_FENCE),
    ],
  },
  {
    id: 'FM_006',
    title: 'A job that kills its worker each time',
    story: 'Worker after worker takes the job and dies of it. There are a hundred of them.',
    experiments: [
      without(
        'All hundred die.',
        (rules) => {
          const { deaths, ...scene } = everyWorkerDies(rules, { started: true })
          return { ...scene, also: [`${deaths} workers died.`] }
        },
        'GrantLease.task-waiting',
      ),
    ],
  },
  {
    id: 'FM_007',
    title: 'Retry storm',
    story:
      'A service that fifty tasks need goes down, so they fail together. Then they all come back.',
    experiments: [
      without(
        'All retries are spent in the first instant.',
        (rules) => outage(rules, null),
        'GrantLease.task-due',
      ),
      without(
        'All fifty call at once, though the limit says ten.',
        (rules) => outage(rules, 10),
        'GrantLease.within-limits',
      ),
    ],
  },
  {
    id: 'FM_008',
    title: 'Effect with unknown outcome',
    story:
      'A worker starts a charge and is not heard of again. The card was charged; the log cannot know.',
    experiments: [
      without(
        'The next worker charges again.',
        (rules) => theNextWorkerRunsIt(rules, { reconcile: true }),
        'StartEffect.outcome-known',
      ),
    ],
  },
  {
    id: 'FM_009',
    title: 'Operator retry races a late worker',
    story:
      'An operator retries a task that looks dead, while its worker, or another operator, is about to act.',
    experiments: [
      without(
        'The worker that was given up and the new one both charge.',
        theSlowWorkerReportsAfterTheRetry,
        ...COMMIT_FENCE,
      ),
      without(
        'A decision on an old view runs what is paid by hand already.',
        anOperatorActsOnAnOldView,
        'RetryTask.attempt-seen',
      ),
    ],
  },
  {
    id: 'FM_010',
    title: 'Cancel races commit',
    story: 'A customer cancels at the moment at which the worker commits.',
    experiments: [
      without(
        'What is committed is cancelled, and the customer pays.',
        theCommitIsFirst,
        'CancelJob.something-to-cancel',
      ),
      without(
        'What is cancelled is committed, and the customer pays.',
        theCancelIsFirst,
        'CommitExecution.lease-held',
      ),
    ],
  },
  {
    id: 'FM_011',
    title: 'Message lost before the wait',
    story: 'An approval arrives while the handler still works. Then the handler waits for it.',
    experiments: [
      without(
        'The approval is there, and the job waits for ever.',
        theApprovalIsFirst,
        'SuspendExecution.outcome-open',
      ),
    ],
  },
  {
    id: 'FM_012',
    title: 'Two workers finish one wait',
    story:
      'A worker falls silent before it takes the answer. Another one takes it. The first comes back and finds the next answer.',
    experiments: [
      without(
        'One acts on yes, the other on no.',
        twoWorkersEndIt,
        'EndWait.lease-held',
        'EndWait.lease-unexpired',
      ),
    ],
  },
  {
    id: 'FM_013',
    title: 'Caller dies between suspension and submit',
    story:
      'A job that calls another one suspends, and goes on without it. Then a slow process submits the callee.',
    experiments: [
      without(
        'The callee pays after its caller has paid.',
        theSubmitIsLate,
        'SubmitJob.callee-promised',
      ),
    ],
  },
  {
    id: 'FM_014',
    title: 'Approval after the deploy',
    story:
      'A new version asks for an amount, too. A person approves with the old form; a worker of the old version takes the job.',
    experiments: [
      without(
        'The new handler gets an approval without an amount.',
        theFormIsOld,
        'SendMessage.value-checked',
      ),
      without(
        'People are shown the old form again.',
        theWorkerIsOld,
        'SuspendExecution.definition-not-older',
      ),
    ],
  },
]

function outage(rules: Rules, concurrency: number | null): Scene {
  const { callsAt, mostAtOnce, ...scene } = theServiceIsDown(
    rules,
    concurrency === null ? {} : { concurrency },
  )
  const calls = [...callsAt.values()].reduce((sum, count) => sum + count, 0)
  const moments = callsAt.size === 1 ? 'one moment' : `${callsAt.size} moments`
  return {
    ...scene,
    also: [
      `The service was called ${calls} times, at ${moments}, ${mostAtOnce} times at once at most.`,
    ],
  }
}

/** Plays the story on the real kernel, now. */
export function runExperiment(experiment: Experiment, isGuarded: boolean): LabRun {
  const scene = experiment.play(isGuarded ? RULES : experiment.rules)
  const { authority, also = [] } = scene
  const broken = brokenInvariants(authority)
  return {
    steps: authority.sent.map(({ command, at, decision }) => ({
      atMs: at,
      by: senderOf(command as unknown as Readonly<Record<string, unknown>>),
      command: command.type,
      answer: answerOf(decision),
    })),
    findings: [...also, ...deedsOf(scene), ...statesOf(authority)],
    brokenInvariants: broken,
  }
}

/** In every story a worker, time, a client or an operator sends the command. */
function senderOf({ type, worker, by }: Readonly<Record<string, unknown>>): string {
  if (type === 'SubmitJob' || type === 'SendMessage') return 'client'
  if (type === 'ExpireLease' || type === 'OpenStage' || type === 'ForgetJob') return 'time'
  if (type === 'RetryTask' || type === 'ForceTask' || type === 'CancelJob') return String(by)
  return String(worker)
}

function deedsOf({ ledger }: Scene): string[] {
  if (ledger === undefined) return []
  const kinds = new Set(ledger.deeds.map(({ what }) => what))
  const done = [...kinds].map((what) => {
    const by = ledger.doneBy(what)
    const times = by.length === 1 ? 'once' : `${by.length} times`
    return `${what}: ${times}, by ${by.join(', by ')}.`
  })
  return kinds.has('charge') ? done : ['charge: never.', ...done]
}

function statesOf(authority: Authority): string[] {
  return [...authority.world.jobs.keys()].map((job) => `Job ${job} is ${authority.state(job)}.`)
}

export function invariantText(number: number): string {
  return INVARIANTS[number as keyof typeof INVARIANTS]
}
