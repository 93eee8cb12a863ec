/**
 * The stages of a pipeline: drawn, as a table, and of the one that is chosen its segments.
 */
import type { AnswerOf } from '../api.ts'
import { ShareBar } from '../chart.tsx'
import { countText } from '../duration-text.ts'
import { Cell, Table, Text } from '../parts.tsx'
import type { RouteParameters } from '../route.ts'
import { goTo } from '../route.ts'
import { may } from '../session.ts'
import type { ShownStage } from './job-actions.ts'
import { SegmentsPart } from './segments.tsx'
import { partsOf, StageGraph } from './stage-graph.tsx'

type Stages = AnswerOf<'jobs.show'>['stages']

const COLUMNS = ['Stage', 'State', 'Segments', 'Progress', 'Waiting', 'Running', 'Done']
const TROUBLE = ['Failed', 'Quarantined']

interface StagesProps {
  readonly job: string
  readonly stages: Stages
  /** Of the address of the job: which stage is shown, and which segment of it. */
  readonly parameters: RouteParameters
}

export function StagesPart({ job, stages, parameters }: StagesProps) {
  const { stage: asked, segment = '' } = parameters
  const chosen = stages.find(({ name }) => name === asked) ?? mostTelling(stages)
  const choose = (stage: string, of: number | null = null): void =>
    goTo('job', { ...parameters, stage, segment: of === null ? null : String(of) })
  return (
    <>
      <StageGraph stages={stages} chosen={chosen?.name ?? null} onChoose={choose} />
      <details>
        <summary>As a table</summary>
        <StageTable stages={stages} onChoose={choose} />
      </details>
      {chosen !== null && may('jobs.segments') && (
        <SegmentsPart
          key={chosen.name}
          job={job}
          stage={chosen}
          chosen={
            /^\d+$/.test(segment) && Number(segment) < (chosen.segments ?? 0)
              ? Number(segment)
              : null
          }
          onChoose={(of) => choose(chosen.name, of)}
        />
      )}
    </>
  )
}

/** What a reader comes for: what waits for a person, else what runs, else what ran last. */
function mostTelling(stages: Stages): ShownStage | null {
  const opened = stages.filter(({ segments }) => segments !== null)
  return (
    opened.find(({ dead }) => dead > 0) ??
    opened.find(({ running }) => running > 0) ??
    opened.find(({ state }) => state === 'RUNNING') ??
    opened.at(-1) ??
    null
  )
}

function StageTable({
  stages,
  onChoose,
}: {
  readonly stages: Stages
  readonly onChoose: (stage: string) => void
}) {
  return (
    <Table label="Stages" columns={[...COLUMNS, ...TROUBLE]}>
      {stages.map((one) => (
        <tr key={one.name}>
          <Cell of="Stage">
            <button type="button" class="link" onClick={() => onChoose(one.name)}>
              <Text text={one.name} most={60} />
            </button>
          </Cell>
          <Cell of="State">{one.state}</Cell>
          <Cell of="Segments" number>
            {one.segments === null ? '–' : countText(one.segments)}
          </Cell>
          <Cell of="Progress">
            <ShareBar
              parts={partsOf(one)}
              label={`${one.completed} of ${one.segments ?? 0} done`}
            />
          </Cell>
          {[one.waiting, one.running, one.completed, one.failed, one.dead].map((count, i) => (
            <Cell key={i} of={[...COLUMNS.slice(4), ...TROUBLE][i] as string} number>
              {countText(count)}
            </Cell>
          ))}
        </tr>
      ))}
    </Table>
  )
}
