/**
 * A submit that takes the place of an earlier one with the same key, as long as that one has not begun: the last of
 * several submits within a while is the one that counts.
 *
 * It is a submit first. If the key has a job, that job is replaced. If the job ended in between, its key is free, and
 * the submit is sent again.
 */
import type { ReplaceJob, SubmitJob } from '../../kernel/index.ts'
import type { Answer } from '../../store/index.ts'

/** Submits that find a job which is over once it is to be replaced. */
const MOST_TRIES = 5

export async function submitOrReplace(
  command: SubmitJob,
  send: (command: SubmitJob | ReplaceJob) => Promise<Answer>,
): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    const submitted = await send(command)
    const holder = submitted.value
    if (submitted.rejection !== null || holder === command.job) return submitted
    const answer = await send(replacementOf(command, String(holder)))
    const isOver = answer.rejection?.code === 'JobEnding' || answer.rejection?.code === 'UnknownJob'
    if (!isOver || tries === MOST_TRIES) return answer
  }
}

function replacementOf({ job, spec }: SubmitJob, holder: string): ReplaceJob {
  const { input, version, delayMs, dueAt } = spec
  return {
    type: 'ReplaceJob',
    job: holder,
    replacement: job,
    input,
    definitionVersion: version,
    delayMs,
    dueAt,
    by: 'client',
    reason: 'Replaced by a later submit',
  }
}
