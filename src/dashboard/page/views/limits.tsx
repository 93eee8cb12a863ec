/**
 * The limits that jobs declare, such as one by tenant: those of which something is used now, and of one that is chosen, who holds its
 * places.
 */
import { useState } from 'preact/hooks'
import type { AnswerOf } from '../api.ts'
import { call } from '../api.ts'
import { countText, exactDurationText } from '../duration-text.ts'
import { useLive } from '../live.ts'
import { Cell, Problem, Table, Text, Time, Waiting } from '../parts.tsx'
import { linkTo } from '../route.ts'
import { may } from '../session.ts'
import { Holders } from './queue-panel.tsx'

const PAGE = 50

/** `limit`: empty: none is chosen. */
export function LimitPanel({ limit }: { readonly limit: string }) {
  return (
    <section aria-labelledby="limit">
      <h2 id="limit">Limits by key</h2>
      <p class="aside">
        Jobs that name the same key share its places and its rate, whatever queue they are in. A job
        says which keys it names.
      </p>
      {limit !== '' && may('limits.show') && <Used key={limit} limit={limit} />}
      {may('limits.list') && <LimitTable chosen={limit} />}
    </section>
  )
}

function LimitTable({ chosen }: { readonly chosen: string }) {
  const [prefix, setPrefix] = useState('')
  const [after, setAfter] = useState('')
  const { data, problem } = useLive(
    `limits ${JSON.stringify([prefix, after])}`,
    (ended) => call('limits.list', { prefix, after, limit: PAGE }, ended),
    2_000,
  )
  return (
    <>
      <form class="lookup" onSubmit={(event) => event.preventDefault()}>
        <label>
          Keys that begin with
          <input
            name="prefix"
            value={prefix}
            placeholder="tenant"
            autoComplete="off"
            onInput={(event) => {
              setPrefix(event.currentTarget.value)
              setAfter('')
            }}
          />
        </label>
      </form>
      <Problem problem={problem} />
      {data === null ? (
        problem === null && <Waiting />
      ) : data.limits.length === 0 && data.next === null && after === '' ? (
        <p class="none">
          {prefix === ''
            ? 'Nothing of any limit is used now.'
            : 'Nothing of such limits is used now.'}
        </p>
      ) : (
        <Table label="Limits" columns={['Limit', 'Held', 'Rate', 'Rate is whole']}>
          {data.limits.map((one) => (
            <LimitRow key={one.key} limit={one} isChosen={one.key === chosen} />
          ))}
        </Table>
      )}
      <div class="buttons">
        {after !== '' && (
          <button type="button" onClick={() => setAfter('')}>
            First page
          </button>
        )}
        {data !== null && data.next !== null && (
          <button type="button" onClick={() => setAfter(data.next ?? '')}>
            Next page
          </button>
        )}
      </div>
    </>
  )
}

function LimitRow({
  limit: { key, held, wholeAt, bounds },
  isChosen,
}: {
  readonly limit: AnswerOf<'limits.list'>['limits'][number]
  readonly isChosen: boolean
}) {
  const { concurrency = null, rate = null } = bounds ?? {}
  return (
    <tr class={isChosen ? 'chosen' : undefined}>
      <Cell of="Limit">
        <a
          href={linkTo('queues', { limit: isChosen ? null : key })}
          aria-current={isChosen ? 'true' : undefined}
        >
          <Text text={key} most={120} />
        </a>
      </Cell>
      <Cell of="Held" number>
        {countText(held)}
        {concurrency !== null && ` of ${countText(concurrency)}`}
      </Cell>
      <Cell of="Rate">
        {rate === null ? '–' : `${countText(rate.count)} per ${exactDurationText(rate.perMs)}`}
      </Cell>
      <Cell of="Rate is whole">{wholeAt === null ? '–' : <Time at={wholeAt} />}</Cell>
    </tr>
  )
}

function Used({ limit }: { readonly limit: string }) {
  const { data, problem } = useLive(`limit ${limit}`, (ended) =>
    call('limits.show', { limit }, ended),
  )
  if (data === null) return problem === null ? <Waiting /> : <Problem problem={problem} />
  const { held, fullAt, holders } = data
  return (
    <>
      <Problem problem={problem} />
      <p>
        <strong>
          {held === 0 ? 'Nothing' : `${countText(held)} ${held === 1 ? 'task' : 'tasks'}`} of limit{' '}
          <Text text={limit} most={120} />
        </strong>{' '}
        {held === 0 ? 'is used now' : held === 1 ? 'runs now' : 'run now'}.
        {fullAt > 0 && (
          <>
            {' '}
            Its rate is whole again <Time at={timeOf(fullAt)} />.
          </>
        )}
      </p>
      <Holders holders={holders} held={held} what={`limit ${limit}`} />
    </>
  )
}

/** A bucket is full at a part of a millisecond. */
function timeOf(fullAt: number): string {
  return new Date(Math.ceil(fullAt)).toISOString()
}
