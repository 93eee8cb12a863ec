/**
 * The stages of a pipeline: drawn, as a table, and of the one that is chosen its segments.
 */
import { useState } from 'preact/hooks'
import type { AnswerOf } from '../api.ts'
import { ShareBar } from '../chart.tsx'
import { countText } from '../duration-text.ts'
import { Cell, Table, Text } from '../parts.tsx'
import { may } from '../session.ts'
import type { ShownStage } from './job-actions.ts'
import { SegmentsPart } from './segments.tsx'
import { partsOf, StageGraph } from './stage-graph.tsx'

type Stages = AnswerOf<'jobs.show'>['stages']

const COLUMNS = ['Stage', 'State', 'Segments', 'Progress', 'Waiting', 'Running', 'Done']
const TROUBLE = ['Failed', 'Quarantined']

export function StagesPart({ job, stages }: { readonly job: string; readonly stages: Stages }) {
  const [asked, setAsked] = useState<string | null>(null)
  const chosen = stages.find(({ name }) => name === asked) ?? mostTelling(stages)
  return (
    <>
      <StageGraph stages={stages} chosen={chosen?.name ?? null} onChoose={setAsked} />
      <details>
        <summary>As a table</summary>
        <StageTable stages={stages} onChoose={setAsked} />
      </details>
      {chosen !== null && may('jobs.segments') && (
        <SegmentsPart key={chosen.name} job={job} stage={chosen} />
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
