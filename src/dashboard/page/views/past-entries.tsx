/**
 * Entries of the log around a moment: what had happened up to it, and what came next.
 */
import type { AnswerOf } from '../api.ts'
import { serverNow } from '../clock.ts'
import { clockText, wholeTimeText } from '../duration-text.ts'
import { Cell, Table, Text } from '../parts.tsx'
import type { RouteParameters } from '../route.ts'
import { linkTo } from '../route.ts'
import { withMoment } from './past-moment.ts'

export type EntryThen = AnswerOf<'past.entries'>['entries'][number]

interface PastEntriesProps {
  readonly around: readonly EntryThen[]
  /** The newest that had happened. */
  readonly at: number
  readonly parameters: RouteParameters
}

export function PastEntries({ around, at, parameters }: PastEntriesProps) {
  const last = around.findLast(({ position }) => position <= at)?.position
  return (
    <section aria-labelledby="around">
      <h2 id="around">What happened around it</h2>
      <Table
        label="Entries of the log"
        cards="history"
        columns={['Position', 'When', 'What', 'Job', 'By']}
      >
        {around.map((one) => (
          <tr
            key={one.position}
            class={one.position === last ? 'current' : one.position > at ? 'later' : undefined}
            aria-current={one.position === last ? 'step' : undefined}
          >
            <Cell of="Position" number>
              <a href={linkTo('past', withMoment(parameters, { position: one.position }))}>
                {one.position}
              </a>
            </Cell>
            <Cell of="When">
              <time dateTime={one.at} title={wholeTimeText(Date.parse(one.at))}>
                {clockText(Date.parse(one.at), serverNow())}
              </time>
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
