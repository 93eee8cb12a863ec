/**
 * Diagrams as text in Mermaid, which editors and code hosts draw: the states of a job, or the stages of a
 * pipeline with theirs.
 */
import { InvalidDefinition } from '../../definition/index.ts'
import type { JobState } from '../../kernel/index.ts'
import { isFinal, PLAIN_JOB_TRANSITIONS } from '../../kernel/index.ts'
import type { JobInfo, StageInfo } from './job-info.ts'

/** How the state stands out that a job is in. */
const NOW = 'classDef now stroke-width:4px,font-weight:bold'

/**
 * Without a job: the states of a plain job, and which may follow which. With one, as `get` gives it: the
 * same, where its own state stands out; of a pipeline, its stages and what each waits for.
 */
export function diagram(job?: JobInfo): string {
  if (job === undefined) return lines('stateDiagram-v2', stateMachine())
  if (typeof job !== 'object' || job === null || !Array.isArray(job.stages)) {
    throw new InvalidDefinition(
      `diagram() takes nothing, or a job as get() gives it, not ${job === null ? 'null: there is no such job' : typeof job}. Write diagram(await pawl.get(id)).`,
    )
  }
  return job.stages.length === 0
    ? lines('stateDiagram-v2', [...stateMachine(), NOW, `class ${job.state} now`])
    : lines('flowchart TD', pipeline(job))
}

function lines(kind: string, rest: readonly string[]): string {
  return [kind, ...rest.map((line) => `    ${line}`)].join('\n')
}

function stateMachine(): string[] {
  const moves = Object.entries(PLAIN_JOB_TRANSITIONS).flatMap(([from, targets]) =>
    targets.map((to) => `${from} --> ${to}`),
  )
  const final = (Object.keys(PLAIN_JOB_TRANSITIONS) as JobState[]).filter(isFinal)
  return ['[*] --> CREATED', '[*] --> QUEUED', ...moves, ...final.map((one) => `${one} --> [*]`)]
}

/** Names are shown and never used as ids: they may hold anything. */
function pipeline({ type, state, stages }: JobInfo): string[] {
  const ids = new Map(stages.map(({ name }, i) => [name, `s${i}`]))
  const boxes = stages.map((stage) => `${ids.get(stage.name)}["${label(stage)}"]`)
  const arrows = stages.flatMap(({ name, after, onFailure }) => {
    // It waits for no stage, but for the end of the job.
    if (onFailure) return [`job -.->|on failure| ${ids.get(name)}`]
    return after.length === 0
      ? [`job --> ${ids.get(name)}`]
      : after.map((before) => `${ids.get(before)} --> ${ids.get(name)}`)
  })
  const running = stages.filter((stage) => stage.state === 'RUNNING' || stage.state === 'ERROR')
  const marks = running.map(({ name }) => `class ${ids.get(name)} now`)
  return [`job(["${shown(type)}<br/>${state}"])`, ...boxes, ...arrows, NOW, ...marks]
}

function label({ name, state, segments, completed }: StageInfo): string {
  const progress = segments === null || segments === 1 ? '' : `<br/>${completed} of ${segments}`
  return `${shown(name)}<br/>${state}${progress}`
}

/** What Mermaid would take for the end of a label, or for markup, as its code. */
function shown(name: string): string {
  return name.replaceAll(/["#&<>;]/g, (char) => `#${char.charCodeAt(0)};`)
}
