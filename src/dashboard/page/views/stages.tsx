/**
 * The stages of a pipeline: drawn with what each waits for, and as a table. However many segments a stage has, it is one box
 * with a bar.
 */
import type { AnswerOf } from '../api.ts'
import { action } from '../action.ts'
import { ShareBar } from '../chart.tsx'
import { countText } from '../duration-text.ts'
import { Cell, Table, Text } from '../parts.tsx'
import { line } from '../safe-text.ts'
import { may } from '../session.ts'
import { resolveAction } from './job-actions.ts'
import { stageLayout } from './stage-layout.ts'

type Stages = AnswerOf<'jobs.show'>['stages']
type Stage = Stages[number]

const BOX = { width: 150, height: 46, gapX: 50, gapY: 16 }

export function StagesPart({ job, stages }: { readonly job: string; readonly stages: Stages }) {
  return (
    <>
      <Drawing stages={stages} />
      <Table
        label="Stages"
        columns={[
          'Stage',
          'State',
          'Segments',
          'Progress',
          'Waiting',
          'Running',
          'Done',
          'Failed',
          'Given up',
        ]}
      >
        {stages.map((one) => (
          <tr key={one.name}>
            <Cell of="Stage">
              <Text text={one.name} most={60} />
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
            <Cell of="Waiting" number>
              {countText(one.waiting)}
            </Cell>
            <Cell of="Running" number>
              {countText(one.running)}
            </Cell>
            <Cell of="Done" number>
              {countText(one.completed)}
            </Cell>
            <Cell of="Failed" number>
              {countText(one.failed)}
            </Cell>
            <Cell of="Given up" number>
              {countText(one.dead)}
            </Cell>
          </tr>
        ))}
      </Table>
      <Troubled job={job} stages={stages} />
    </>
  )
}

function partsOf({ completed, running, waiting, failed, dead }: Stage) {
  return [
    { name: 'SUCCEEDED', count: completed },
    { name: 'RUNNING', count: running },
    { name: 'FAILED', count: failed },
    { name: 'QUARANTINED', count: dead },
    { name: 'QUEUED', count: waiting },
  ]
}

function Drawing({ stages }: { readonly stages: Stages }) {
  const { stages: placed, columns, rows } = stageLayout(stages)
  const width = columns * (BOX.width + BOX.gapX) - BOX.gapX + 4
  const height = rows * (BOX.height + BOX.gapY) - BOX.gapY + 4
  const places = new Map(
    placed.map(({ name, column, row }) => [
      name,
      { x: 2 + column * (BOX.width + BOX.gapX), y: 2 + row * (BOX.height + BOX.gapY) },
    ]),
  )
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Stages, drawn">
      <svg
        class="stages"
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label="The stages and what each waits for; the table has the same"
      >
        {stages.flatMap(({ name, after }) =>
          after.map((before) => {
            const [from, to] = [places.get(before), places.get(name)]
            if (from === undefined || to === undefined) return null
            const [x1, y1] = [from.x + BOX.width, from.y + BOX.height / 2]
            const [x2, y2] = [to.x, to.y + BOX.height / 2]
            const bend = (x2 - x1) / 2
            const path = `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`
            return <path key={`${before} ${name}`} class="arrow" d={path} />
          }),
        )}
        {stages.map((one) => (
          <StageBox key={one.name} of={one} place={places.get(one.name) ?? { x: 0, y: 0 }} />
        ))}
      </svg>
    </div>
  )
}

function StageBox({ of, place }: { readonly of: Stage; readonly place: { x: number; y: number } }) {
  const { x, y } = place
  const total = Math.max(1, of.segments ?? 1)
  const isOpen = of.segments !== null
  let from = x + 8
  return (
    <g class={`stage stage-${of.state}`}>
      <rect x={x} y={y} width={BOX.width} height={BOX.height} rx={6} />
      <text x={x + 8} y={y + 18}>
        {line(of.name, 18)}
      </text>
      <text x={x + BOX.width - 8} y={y + 18} class="end">
        {of.segments !== null && of.segments > 1 ? `×${countText(of.segments)}` : ''}
      </text>
      <rect class="track" x={x + 8} y={y + 30} width={BOX.width - 16} height={6} />
      {isOpen &&
        partsOf(of).map(({ name, count }) => {
          const width = (count / total) * (BOX.width - 16)
          const at = from
          from += width
          return (
            <rect key={name} class={`fill-${name}`} x={at} y={y + 30} width={width} height={6} />
          )
        })}
    </g>
  )
}

function Troubled({ job, stages }: { readonly job: string; readonly stages: Stages }) {
  const troubled = stages.flatMap((stage) => stage.troubled.map((task) => ({ stage, task })))
  if (troubled.length === 0) return null
  return (
    <>
      <h3>Segments in trouble</h3>
      <Table
        label="Segments that failed or wait for a person"
        columns={['Segment', 'State', 'Attempt', 'Error', 'Effects']}
      >
        {troubled.map(({ stage, task }) => (
          <tr key={`${stage.name} ${task.segment}`}>
            <Cell of="Segment">
              <Text text={stage.name} /> {task.segment}
            </Cell>
            <Cell of="State">{task.state}</Cell>
            <Cell of="Attempt" number>
              {task.attempt}
            </Cell>
            <Cell of="Error">
              {task.error === null ? (
                '–'
              ) : (
                <Text text={`${task.error.code}: ${task.error.message}`} />
              )}
            </Cell>
            <Cell of="Effects">
              {task.effects.map(({ name, state }, i) => (
                <p key={i}>
                  <Text text={name} />: {state}{' '}
                  {(state === 'HELD' || state === 'UNKNOWN') && may('jobs.resolve') && (
                    <button
                      type="button"
                      class="small"
                      onClick={() => {
                        const place =
                          stage.each === null
                            ? { stage: stage.name }
                            : { stage: stage.name, segment: task.segment }
                        action.value = resolveAction(job, i, name, place)
                      }}
                    >
                      Say what became of it…
                    </button>
                  )}
                </p>
              ))}
            </Cell>
          </tr>
        ))}
      </Table>
    </>
  )
}
