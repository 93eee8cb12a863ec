/**
 * Workers of all processes, as they said of themselves in the last seconds.
 */
import { Fragment } from 'preact'
import { call } from '../api.ts'
import { ShareBar } from '../chart.tsx'
import { useLive } from '../live.ts'
import { Cell, Empty, JobLink, Problem, Table, Text, Time, Waiting } from '../parts.tsx'
import { linkTo } from '../route.ts'

const MOST_SHOWN = 500

const ask = (ended: AbortSignal) => call('workers.list', {}, ended)

export function WorkersView() {
  const { data, problem } = useLive('workers', ask, 2_000)
  if (data === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  const { workers } = data
  if (workers.length === 0) return <Empty>No worker said anything lately.</Empty>
  return (
    <>
      <Problem problem={problem} />
      <Table
        label="Workers"
        columns={['Worker', 'Process', 'Places', 'Serves', 'Holds', 'Began', 'Heard']}
      >
        {workers.slice(0, MOST_SHOWN).map((one) => (
          <tr key={one.id}>
            <Cell of="Worker">
              <a href={linkTo('jobs', { worker: one.id })}>
                <Text text={one.name ?? one.id} most={40} />
              </a>
              {one.isDraining && <span class="mark"> draining</span>}
            </Cell>
            <Cell of="Process">
              <Text text={one.host} most={40} /> {one.pid}
            </Cell>
            <Cell of="Places">
              {one.used} of {one.used + one.free} taken
              <ShareBar
                parts={[
                  { name: 'RUNNING', count: one.used },
                  { name: 'free', count: one.free },
                ]}
                label={`${one.used} of ${one.used + one.free} places are taken`}
              />
            </Cell>
            <Cell of="Serves">
              <Text text={servesText(one.serves)} most={120} />
            </Cell>
            <Cell of="Holds">
              {one.held === 0 ? 'nothing' : `${one.held}: `}
              {one.holds.slice(0, 3).map(({ job }) => (
                <Fragment key={job}>
                  <JobLink id={job} />{' '}
                </Fragment>
              ))}
            </Cell>
            <Cell of="Began">
              <Time at={one.startedAt} />
            </Cell>
            <Cell of="Heard">
              <Time at={one.heardAt} />
            </Cell>
          </tr>
        ))}
      </Table>
    </>
  )
}

function servesText(
  serves: readonly {
    readonly type: string
    readonly queue: string
    readonly stage: string | null
  }[],
): string {
  const names = serves.map(({ type, stage, queue }) => {
    const what = stage === null ? type : `${type}/${stage}`
    return queue === 'default' ? what : `${what} in ${queue}`
  })
  return [...new Set(names)].join(', ')
}
