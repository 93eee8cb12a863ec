/**
 * What a job was given and made: input, output, error, what it waits for, effects, steps with their values, streams, and what
 * its handler says while it runs, in whatever process that is.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { JobLink, JsonBlock, Text, Time } from '../parts.tsx'
import { line, seen } from '../safe-text.ts'
import { seesPayloads } from '../session.ts'
import { EffectList } from './effect-list.tsx'
import { ErrorText } from './error-text.tsx'
import type { ShownJob } from './job-actions.ts'
import type { ShownHistory } from './job-timeline.ts'
import { shareIn } from './progress-share.ts'
import { StreamPart } from './streams.tsx'

export function Part({
  name,
  children,
}: {
  readonly name: string
  readonly children: ComponentChildren
}) {
  const id = `part-${name.toLowerCase().replaceAll(' ', '-')}`
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{name}</h2>
      {children}
    </section>
  )
}

const NONE = { progress: undefined, metadata: undefined }

export function JobPayloads({
  job,
  history,
}: {
  readonly job: ShownJob
  readonly history: ShownHistory
}) {
  const { error, lines, effects, steps, waits, streams, exact = {} } = job
  // The server says nothing in their place whether there are any or not.
  const { progress, metadata } = seesPayloads() ? job : NONE
  return (
    <>
      {(progress !== undefined || lines.length > 0) && (
        <Part name="Said by its handler">
          {progress !== undefined && <Progress value={progress} exact={exact.progress} />}
          {lines.length > 0 && <Lines lines={lines} />}
        </Part>
      )}
      {error !== null && (
        <Part name="Error">
          <ErrorText error={error} />
        </Part>
      )}
      <div class="columns">
        <Part name="Input">
          <JsonBlock value={job.input} exact={exact.input} label="Input" />
        </Part>
        <Part name="Output">
          <JsonBlock value={job.output} exact={exact.output} label="Output" />
        </Part>
      </div>
      {metadata !== undefined && (
        <Part name="Metadata">
          <JsonBlock value={metadata} exact={exact.metadata} label="Metadata" />
        </Part>
      )}
      {waits.length > 0 && <WaitsPart job={job} />}
      {effects.length > 0 && (
        <Part name="Effects">
          <EffectList effects={effects} />
        </Part>
      )}
      {steps.length > 0 && <StepsPart steps={steps} history={history} />}
      {streams.length > 0 && (
        <Part name="Streams">
          {streams.slice(0, 20).map(({ name, length }) => (
            <StreamPart key={name} job={job.id} name={name} length={length} />
          ))}
        </Part>
      )}
    </>
  )
}

/** A share of a whole, if it is one, and as it was said. */
function Progress({
  value,
  exact,
}: {
  readonly value: unknown
  readonly exact: string | undefined
}) {
  const share = shareIn(value)
  return (
    <>
      {share !== null && (
        <progress max={1} value={share} aria-label={`${Math.round(share * 100)} % done`} />
      )}
      <JsonBlock value={value} exact={exact} label="Progress" />
    </>
  )
}

/** The newest are in view, unless the reader looks at older ones. */
function Lines({ lines }: { readonly lines: readonly string[] }) {
  const element = useRef<HTMLPreElement>(null)
  const isAtEnd = useRef(true)
  const shown = lines.join('\n').slice(-20_000)
  useEffect(() => {
    if (isAtEnd.current) element.current?.scrollTo({ top: element.current.scrollHeight })
  }, [shown])
  return (
    <pre
      ref={element}
      tabIndex={0}
      role="log"
      aria-label="Lines"
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollTop + clientHeight >= scrollHeight - 20
      }}
    >
      {seen(shown)}
    </pre>
  )
}

function WaitsPart({ job: { waits } }: { readonly job: ShownJob }) {
  return (
    <Part name="Waits for">
      <ul>
        {waits.map(({ name, message, callee, until }, i) => (
          <li key={`${name} ${i}`}>
            <Text text={name} />
            {message !== null && <Text text={`, message ${message}`} />}
            {callee !== null && (
              <>
                , <JobLink id={callee} />
              </>
            )}
            {until !== null && (
              <>
                , until <Time at={until} />
              </>
            )}
          </li>
        ))}
      </ul>
    </Part>
  )
}

/** As JSON text, by the names of steps: those that it began with, and those that it recorded. */
export function stepValues(history: ShownHistory): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  for (const { entry } of history) {
    if (entry?.type === 'StepRecorded') values.set(entry.name, entry.value)
    if (entry?.type !== 'JobSubmitted') continue
    for (const { name, value } of entry.spec.steps) values.set(name, value)
  }
  return values
}

const MOST_STEPS = 500

/** Their values are in the history: of steps that are behind what is shown of it, the names. */
function StepsPart({
  steps,
  history,
}: {
  readonly steps: readonly string[]
  history: ShownHistory
}) {
  const values = seesPayloads() ? stepValues(history) : new Map<string, string>()
  return (
    <Part name="Steps">
      <ol class="steps">
        {steps.slice(0, MOST_STEPS).map((one) => (
          <li key={one}>
            <Text text={one} /> {values.has(one) && <code>{line(values.get(one) ?? '', 400)}</code>}
          </li>
        ))}
      </ol>
      {steps.length > MOST_STEPS && <p class="aside">And {steps.length - MOST_STEPS} more.</p>}
    </Part>
  )
}
