/**
 * What is used of a limit that jobs declare, such as one by tenant. A limit is known by its key alone: there is no list of them.
 */
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { countText } from '../duration-text.ts'
import { useLive } from '../live.ts'
import { Problem, Text, Time, Waiting } from '../parts.tsx'
import { goTo } from '../route.ts'
import { Holders } from './queue-panel.tsx'

/** `limit`: empty: none is chosen. */
export function LimitPanel({ limit }: { readonly limit: string }) {
  const [key, setKey] = useState(limit)
  return (
    <section aria-labelledby="limit">
      <h2 id="limit">Limits by key</h2>
      <p class="aside">
        Jobs that name the same key share its places and its rate, whatever queue they are in. A job
        says which keys it names.
      </p>
      <form
        class="lookup"
        onSubmit={(event) => {
          event.preventDefault()
          goTo('queues', { limit: key.trim() })
        }}
      >
        <label>
          Key of a limit
          <input
            name="limit"
            value={key}
            placeholder="tenant acme"
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        </label>
        <button type="submit">Look</button>
      </form>
      {limit !== '' && <Used limit={limit} />}
    </section>
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

/** A bucket is full in steps of 1/1024 of a millisecond. */
const STEPS = 1_024

function timeOf(fullAt: number): string {
  return new Date(fullAt / STEPS).toISOString()
}
