/**
 * Everything that happened to a job: what, when, who and why.
 */
import type { AnswerOf } from '../api.ts'
import { Cell, Moment, State, Table, Text } from '../parts.tsx'
import { linkTo } from '../route.ts'
import { may } from '../session.ts'

type Items = AnswerOf<'jobs.history'>['items']

export function HistoryPart({ id, items }: { readonly id: string; readonly items: Items }) {
  return (
    <Table
      isLong
      cards="history"
      label="History"
      columns={['When', 'What', 'State', 'By', 'Why', 'Position']}
    >
      {items.map(({ position, at, type, from, to, by, reason }, i) => (
        <tr key={`${position} ${i}`}>
          <Cell of="When">
            <Moment at={at} />
          </Cell>
          <Cell of="What">{type}</Cell>
          <Cell of="State">{to === null || from === to ? '–' : <State state={to} />}</Cell>
          <Cell of="By">
            <Text text={by} most={40} />
          </Cell>
          <Cell of="Why">{reason === null ? '–' : <Text text={reason} />}</Cell>
          <Cell of="Position" number>
            {may('past.show') ? (
              <a
                href={linkTo('past', { job: id, position: String(position) })}
                title="The job as it was then"
              >
                {position}
              </a>
            ) : (
              position
            )}
          </Cell>
        </tr>
      ))}
    </Table>
  )
}
