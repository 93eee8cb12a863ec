/**
 * Which token may send which command. A batch is refused as a whole if one of its commands is not the caller's to send.
 */
import type { CommandType } from '../kernel/index.ts'
import type { Role } from './operation.ts'

const REPORT = ['work'] as const
const OPERATOR = ['operate'] as const
/** What time and the orchestrator do: a server does it itself. */
const UPKEEP = [] as const
/** Commits promise children, and calls begin them: their submits are a worker's. */
const SUBMIT = ['submit', 'work'] as const

/** Any of these roles is enough; `admin` may send all. The compiler says which command is missing. */
export const COMMAND_ROLES: { readonly [T in CommandType]: readonly Role[] } = {
  SubmitJob: SUBMIT,
  ReplaceJob: ['submit'],
  ReleaseJob: ['submit', 'operate'],
  CancelJob: OPERATOR,
  OpenStage: UPKEEP,
  GrantLease: REPORT,
  StartExecution: REPORT,
  ExtendLease: REPORT,
  ReleaseLease: REPORT,
  RecordStep: REPORT,
  AppendStream: REPORT,
  EndWait: REPORT,
  SuspendExecution: REPORT,
  ContinueExecution: REPORT,
  CommitExecution: REPORT,
  FailTask: REPORT,
  StartEffect: REPORT,
  FinishEffect: REPORT,
  FailEffect: REPORT,
  SendMessage: ['submit', 'operate'],
  // Of a callee that it has finished. What it says is read from the callee's record.
  AnswerCall: REPORT,
  ResolveEffect: OPERATOR,
  ExpireLease: UPKEEP,
  RevokeLease: OPERATOR,
  StopTask: UPKEEP,
  RetryTask: OPERATOR,
  ForceTask: OPERATOR,
  RescheduleTask: OPERATOR,
  EraseJob: UPKEEP,
  ForgetJob: UPKEEP,
  ConfigureQueue: OPERATOR,
  PauseQueue: OPERATOR,
  ResumeQueue: OPERATOR,
  SetSchedule: OPERATOR,
  FireSchedule: UPKEEP,
  RemoveSchedule: OPERATOR,
}

/** Null: there is no such command, and the kernel says so. */
export function rolesForCommand(type: unknown): readonly Role[] | null {
  if (typeof type !== 'string' || !Object.hasOwn(COMMAND_ROLES, type)) return null
  return COMMAND_ROLES[type as CommandType]
}
