/**
 * A question as people see it: what is asked, by which job, since when and until when, and who has answered.
 */
import type { AnswerOf } from '../api.ts'
import { call, messageOf } from '../api.ts'
import { JobLink, JsonBlock, Problem, Since, Text, Time, Waiting } from '../parts.tsx'
import { useState } from 'preact/hooks'
import { may } from '../session.ts'

export type ShownQuestion = AnswerOf<'inbox.list'>['questions'][number]

/** `hasJob`: its reader may look at the job. */
export function QuestionFacts({
  of,
  hasJob,
}: {
  readonly of: ShownQuestion
  readonly hasJob: boolean
}) {
  return (
    <ul class="labels">
      <li>
        <Text text={of.type} most={60} /> {hasJob && <JobLink id={of.job} />}
      </li>
      <li>
        waits for <Since at={of.since} />
      </li>
      {of.until !== null && (
        <li>
          ends <Time at={of.until} />
        </li>
      )}
      {of.for.map((one) => (
        <li key={one} class="for">
          for <Text text={one} most={60} />
        </li>
      ))}
      {of.quorum > 1 && (
        <li class="count">
          {of.answers} of {of.quorum} answers came
        </li>
      )}
      {of.notBySubmitter && of.submittedBy !== null && (
        <li>
          not by <Text text={of.submittedBy} most={60} />, who submitted it
        </li>
      )}
    </ul>
  )
}

/** What the job was given, for those who decide by it: read when it is asked for. */
export function GivenInput({ job }: { readonly job: string }) {
  const [isOpen, setIsOpen] = useState(false)
  const [info, setInfo] = useState<AnswerOf<'jobs.show'> | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  if (!may('jobs.show')) return null
  const toggle = async (isOpenNow: boolean): Promise<void> => {
    setIsOpen(isOpenNow)
    if (!isOpenNow || info !== null) return
    try {
      setInfo(await call('jobs.show', { job }))
    } catch (error) {
      setProblem(messageOf(error))
    }
  }
  return (
    <details onToggle={(event) => void toggle(event.currentTarget.open)}>
      <summary>What the job was given</summary>
      <Problem problem={problem} />
      {info !== null ? (
        <JsonBlock value={info.input} exact={info.exact?.input} label="Input of the job" />
      ) : (
        isOpen && problem === null && <Waiting />
      )}
    </details>
  )
}
