/**
 * Entries of the log around a moment: what had happened up to it, and what came next.
 */
import type { LogEntry } from '../log-entries.ts'
import { Cell, Table, Text } from '../parts.tsx'
import type { RouteParameters } from '../route.ts'
import { linkTo } from '../route.ts'
import { withMoment } from './past-moment.ts'

interface PastEntriesProps {
  readonly around: readonly LogEntry[]
  /** The newest that had happened. */
  readonly at: number
  readonly parameters: RouteParameters
}

export function PastEntries({ around, at, parameters }: PastEntriesProps) {
  const last = around.findLast(({ position }) => position <= at)?.position
  return (
    <section aria-labelledby="around">
      <h2 id="around">What happened around it</h2>
      <Table label="Entries of the log" columns={['Entry', 'When', 'What', 'Job', 'By']}>
        {around.map((one) => (
          <tr
            key={one.position}
            class={one.position === last ? 'current' : one.position > at ? 'later' : undefined}
            aria-current={one.position === last ? 'step' : undefined}
          >
            <Cell of="Entry" number>
              <a href={linkTo('past', withMoment(parameters, { position: one.position }))}>
                {one.position}
              </a>
            </Cell>
            <Cell of="When">
              <time dateTime={new Date(one.at).toISOString()}>{clockText(one.at)}</time>
            </Cell>
            <Cell of="What">{one.type}</Cell>
            <Cell of="Job">
              {one.job === null ? (
                '–'
              ) : (
                <a
                  class="id"
                  href={linkTo('past', { job: one.job, position: String(one.position) })}
                >
                  <Text text={one.job} most={40} />
                </a>
              )}
            </Cell>
            <Cell of="By">{one.by === null ? '–' : <Text text={one.by} most={40} />}</Cell>
          </tr>
        ))}
      </Table>
    </section>
  )
}

function clockText(at: number): string {
  const date = new Date(at)
  return `${date.toLocaleTimeString('en-GB')}.${String(date.getMilliseconds()).padStart(3, '0')}`
}
