/**
 * What a handler emits to a stream, as it comes: the newest values, and those before them when they are asked for.
 */
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { countText } from '../duration-text.ts'
import { useLive } from '../live.ts'
import { NotForToken, Problem, Text, Time } from '../parts.tsx'
import { line } from '../safe-text.ts'
import { may, seesPayloads } from '../session.ts'

const SHOWN = 50

/** `length`: how many values there are. */
export function StreamPart({
  job,
  name,
  length,
  place,
}: {
  readonly job: string
  readonly name: string
  readonly length: number
  readonly place?: { readonly stage: string; readonly segment: number }
}) {
  const [asked, setAsked] = useState<number | null>(null)
  const newest = Math.max(0, length - SHOWN)
  const from = asked ?? newest
  const { data, problem } = useLive(`${name} ${from} ${length}`, async (ended) => {
    if (!may('jobs.stream')) return { from, items: [], isEnd: true }
    const page = await call(
      'jobs.stream',
      { job, stream: name, from, limit: SHOWN, ...place },
      ended,
    )
    return { ...page, from }
  })
  const [shown, setShown] = useState(data)
  // Until the next values are there, those before them stay.
  if (data !== null && data !== shown) setShown(data)
  const { items = [], isEnd = true } = data ?? shown ?? {}
  const until = from + items.length
  return (
    <div class="stream" role="region" aria-label={`Stream ${line(name, 60)}`}>
      <h3>
        <Text text={name} most={100} />{' '}
        <span class="aside">
          {countText(length)} values
          {items.length > 0 && from > 0 && `, from ${countText(from)} on`}
        </span>
      </h3>
      <Problem problem={problem} />
      <ol tabIndex={0} aria-label={`Values of ${line(name, 60)}`}>
        {items.map(({ offset, value, exact, attempt, at }) => (
          <li key={offset}>
            <span class="aside">{offset}</span>{' '}
            {seesPayloads() ? (
              <Text text={exact?.value ?? textOf(value)} most={500} />
            ) : (
              <NotForToken />
            )}{' '}
            <span class="aside">
              {attempt > 1 && `attempt ${attempt}, `}
              <Time at={at} />
            </span>
          </li>
        ))}
      </ol>
      <div class="buttons">
        {from > 0 && (
          <button type="button" class="small" onClick={() => setAsked(Math.max(0, from - SHOWN))}>
            Before these
          </button>
        )}
        {!isEnd && (
          <button type="button" class="small" onClick={() => setAsked(until)}>
            After these
          </button>
        )}
        {asked !== null && (
          <button type="button" class="small" onClick={() => setAsked(null)}>
            The newest
          </button>
        )}
      </div>
    </div>
  )
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
