/**
 * What an attempt that is over means for others: a stage may be opened, or a job that waits for this one is told.
 *
 * The worker that writes the end of a callee tells its caller. Upkeep would, too, but it asks the store first what is due: so
 * upkeep is asked only where the end is not known here, or the word did not come through.
 */
import type { CallerRef } from '../../kernel/index.ts'
import type { CommandBatcher } from '../../store/command-batcher.ts'
import type { Claimed } from '../../store/index.ts'

export interface OthersParts {
  readonly batcher: CommandBatcher
  /** Called AFTER a report on a task of a pipeline, or of a job that was called: upkeep may have something to do. */
  readonly onStageReport: () => void
  /** Called AFTER the end of a callee was told to the job that waits for it. */
  readonly onCallAnswered: () => void
}

/** Never throws. `isOver`: it was answered that the task is committed, with every effect finished. */
export function tellOthers(
  parts: OthersParts,
  { caller, stageName }: Pick<Claimed, 'caller' | 'stageName'>,
  isOver: boolean,
): void {
  if (caller === null && stageName === null) return
  if (isOver && caller !== null && stageName === null) void answerCaller(parts, caller)
  else parts.onStageReport()
}

async function answerCaller(
  { batcher, onStageReport, onCallAnswered }: OthersParts,
  { job, stage, segment, name }: CallerRef,
): Promise<void> {
  try {
    const { verdict } = await batcher.send({ type: 'AnswerCall', job, stage, segment, name })
    if (verdict === 'committed') onCallAnswered()
    else onStageReport()
  } catch {
    onStageReport()
  }
}
