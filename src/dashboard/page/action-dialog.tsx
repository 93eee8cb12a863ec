/**
 * The dialog in which a reader says who they are and why, sees what it would do to many jobs, and does it.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { BulkReport } from '../../engine/index.ts'
import type { OperationName } from '../../protocol/index.ts'
import type { Action, ActionField, Filled } from './action.ts'
import { action, announcement, FieldProblem, fieldsOf, fieldValues, rateIn } from './action.ts'
import type { InJson } from './api.ts'
import { call, follow, isConnected, messageOf, NotReached, scopedInput } from './api.ts'
import { afterDelay, elapsedMs } from './clock.ts'
import { commandLine } from './command-line.ts'
import { countText } from './duration-text.ts'
import { changes, PATIENCE } from './live.ts'
import { CopyButton, JobLink, Problem } from './parts.tsx'
import { route } from './route.ts'
import { label as cut, line, seen } from './safe-text.ts'
import { actorName, keepName, reader } from './session.ts'

const TITLE_CHARS = 60

export function ActionDialog() {
  const current = action.value
  const place = route.value
  // What it is about is no longer on the page.
  useEffect(
    () => () => {
      action.value = null
    },
    [place],
  )
  return current === null ? null : <OpenDialog key={current.title} of={current} />
}

/** What was filled in. Throws `FieldProblem` as long as it is wrong, or not enough. */
function valuesOf(of: Action, filled: Filled): Record<string, unknown> {
  const values = fieldValues(fieldsOf(of, filled), filled)
  const lack = of.lacks?.(values) ?? null
  if (lack !== null) throw new FieldProblem(lack)
  return values
}

/** The input of the operation: what the action says, what was filled in, who, and why. */
function inputOf(of: Action, filled: Filled): Readonly<Record<string, unknown>> {
  const { rate, ...fields } = valuesOf(of, filled)
  const reason = (filled['reason'] ?? '').trim()
  const by = actorName.value.trim()
  return scopedInput(of.operation, {
    ...of.input,
    ...fields,
    ...(rate === undefined ? {} : { rate: rateIn(rate as string) }),
    ...(by === '' ? {} : { by }),
    ...(reason === '' ? {} : { reason }),
  })
}

function OpenDialog({ of }: { readonly of: Action }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [filled, setFilled] = useState<Filled>({})
  const [problem, setProblem] = useState<string | null>(null)
  const [report, setReport] = useState<InJson<BulkReport> | null>(null)
  const [isBusy, setIsBusy] = useState(false)
  const forecast = useForecast(of, filled, isBusy)
  const stop = useRef(new AbortController())
  useEffect(() => {
    // AFTER the event that asked for it is over: the same press of Enter must not send the form.
    dialog.current?.showModal()
    return () => stop.current.abort()
  }, [])
  // At once: that it is closed is told later, when the reader may have begun something else.
  const close = (): void => {
    // Closed, it gives the focus back to where the reader was.
    dialog.current?.close()
    action.value = null
  }
  const leave = (event: Event): void => {
    event.preventDefault()
    close()
  }
  const fill = (name: string, value: string): void =>
    setFilled((was) => ({ ...was, [name]: value }))
  /** The reader may have left it, and begun another. */
  const isOpen = (): boolean => action.value === of
  const run = async (): Promise<void> => {
    setProblem(null)
    setIsBusy(true)
    try {
      const answer = await perform(of, inputOf(of, filled), setReport, stop.current.signal)
      if (isOpen()) {
        close()
        of.onDone?.(answer)
      }
    } catch (error) {
      const why = problemText(error, forecast.report?.matched ?? null)
      if (isOpen()) setProblem(why)
      else announcement.value = `${of.title}: ${why}`
    }
    setIsBusy(false)
    changes.value += 1
  }
  return (
    <dialog
      ref={dialog}
      aria-labelledby="action-title"
      onCancel={leave}
      // The browser may close it without asking.
      onClose={(event) => dialog.current !== null && leave(event)}
    >
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault()
          void run()
        }}
      >
        <h2 id="action-title">{seen(of.title)}</h2>
        <p>{of.says}</p>
        {of.preview !== undefined && <Preview of={forecast} filter={of.preview.filter} />}
        {fieldsOf(of, filled).map((field) => (
          <FieldInput key={field.name} field={field} filled={filled} fill={fill} />
        ))}
        <WhoAndWhy filled={filled} fill={fill} />
        <CommandOf of={of} filled={filled} />
        {report !== null && <Progress report={report} total={forecast.report?.matched ?? null} />}
        <Problem problem={problem} />
        <div class="buttons">
          <button type="button" onClick={leave}>
            {isBusy && of.progress !== undefined ? 'Stop here' : 'Back'}
          </button>
          <button
            type="submit"
            class={of.isGrave === true ? 'grave' : 'main'}
            disabled={isBusy || !forecast.isReady}
          >
            {isBusy ? 'Working…' : cut(of.title, TITLE_CHARS)}
          </button>
        </div>
      </form>
    </dialog>
  )
}

/** `total`: how many jobs were meant; null: it is not known. */
function problemText(error: unknown, total: number | null): string {
  if (error instanceof NotReached) return `${error.message} It may have been done, or not.`
  if (!(error instanceof Stopped)) return messageOf(error)
  const of = total === null ? '' : ` of ${countText(total)}`
  return `It stopped before its end, at ${countText(error.done)}${of} jobs or a few more. What was done stays, the rest is as it was.`
}

/** The server tells of those that it has come to: how many there are, the preview knew. */
function Progress({
  report,
  total,
}: {
  report: InJson<BulkReport>
  readonly total: number | null
}) {
  const all = Math.max(total ?? 0, report.matched)
  return (
    <div class="progress" role="status">
      <progress
        max={Math.max(1, all)}
        value={report.done + report.left}
        aria-label="How far it is"
      />
      <p>
        {countText(report.done)} of {countText(all)} are done
        {report.left > 0 && `, ${countText(report.left)} were left as they are`}.
      </p>
    </div>
  )
}

async function perform(
  of: Action,
  input: Readonly<Record<string, unknown>>,
  onReport: (report: InJson<BulkReport>) => void,
  ended: AbortSignal,
): Promise<unknown> {
  const answer =
    of.progress === undefined
      ? await call(of.operation, input as never)
      : await followToEnd(of.progress, input, onReport, ended)
  if (of.progress !== undefined && ended.aborted) {
    announcement.value = `${of.title}: stopped. What was done stays, the rest is as it was.`
    return answer
  }
  announcement.value = `${of.title}: ${doneText(answer)}`
  return answer
}

type BulkEvent = InJson<BulkReport> & { readonly isLast: boolean }

/** The server stops when it notices that the page is gone, a little later than what it told last. */
async function followToEnd(
  name: OperationName,
  input: Readonly<Record<string, unknown>>,
  onReport: (report: InJson<BulkReport>) => void,
  ended: AbortSignal,
): Promise<BulkEvent | null> {
  let told: BulkEvent | null = null
  const onEvent = (event: BulkEvent): void => {
    told = event
    onReport(event)
  }
  const last = await follow<BulkEvent>(name, input, onEvent, ended).catch((error: unknown) => {
    if (!(error instanceof NotReached) || told === null) throw error
    return told
  })
  if (ended.aborted || (last?.isLast === true && last.isComplete)) return last
  throw new Stopped(last?.done ?? 0)
}

/** It was begun, and did not come to its end. */
class Stopped extends Error {
  readonly done: number

  constructor(done: number) {
    super('It was cut.')
    this.done = done
  }
}

function doneText(answer: unknown): string {
  const { done, matched } = (answer ?? {}) as { done?: number; matched?: number }
  return done === undefined ? 'done.' : `done to ${done} of ${matched ?? done} jobs.`
}

function WhoAndWhy({ filled, fill }: { filled: Filled; fill: (name: string, v: string) => void }) {
  return (
    <>
      <label>
        Your name
        <input
          name="by"
          value={actorName.value}
          placeholder={reader.value?.name ?? ''}
          autoComplete="name"
          maxLength={256}
          onInput={(event) => keepName(event.currentTarget.value)}
        />
      </label>
      <label>
        Reason
        <input
          name="reason"
          value={filled['reason'] ?? ''}
          maxLength={4_096}
          autoComplete="off"
          onInput={(event) => fill('reason', event.currentTarget.value)}
        />
        <small>Kept in the history.</small>
      </label>
    </>
  )
}

interface FieldProps {
  readonly field: ActionField
  readonly filled: Filled
  readonly fill: (name: string, value: string) => void
}

export function FieldInput({ field, filled, fill }: FieldProps) {
  const { name, label, kind, hint } = field
  const value = filled[name] ?? field.value ?? ''
  const onInput = (event: { currentTarget: { value: string } }): void =>
    fill(name, event.currentTarget.value)
  const common = { name, value, onInput, autoComplete: 'off' } as const
  return (
    <label>
      {seen(label)}
      {typeof kind !== 'string' ? (
        <select name={name} value={value} onChange={onInput}>
          <option value="" />
          {kind.map((one) => (
            <option key={one} value={one}>
              {seen(one)}
            </option>
          ))}
        </select>
      ) : kind === 'json' ? (
        <textarea {...common} rows={4} spellcheck={false} />
      ) : (
        <input {...common} inputMode={kind === 'number' ? 'numeric' : 'text'} />
      )}
      {hint !== undefined && <small>{seen(hint)}</small>}
    </label>
  )
}

interface Forecast {
  /** Of what was filled in. Null: nothing is known yet. */
  readonly asked: string | null
  readonly report: InJson<BulkReport> | null
  readonly becomes: readonly string[]
  readonly problem: string | null
  /** It was not asked: what is filled in is wrong, or not enough. */
  readonly isUnfinished: boolean
}

const NOTHING_YET: Forecast = {
  asked: null,
  report: null,
  becomes: [],
  problem: null,
  isUnfinished: false,
}
/** While the reader types. */
const TYPING_MS = 200
/** Jobs come and go while the reader thinks. */
const AGAIN_MS = 10_000

/**
 * What it would do as it is filled in, by asking for it dry, again and again while the page is visible. Ready: it may be done, and the
 * reader has seen to what.
 */
function useForecast(
  of: Action,
  filled: Filled,
  isBusy: boolean,
): Forecast & { readonly isReady: boolean } {
  const [forecast, setForecast] = useState(NOTHING_YET)
  const isVisible = useVisible()
  const { preview } = of
  const asked = JSON.stringify({ ...filled, reason: '', rate: '' })
  const look = async (ended: AbortSignal): Promise<void> => {
    if (preview === undefined) return
    try {
      const input = { ...preview.input, ...valuesOf(of, JSON.parse(asked) as Filled) }
      const report = await call(preview.operation, input as never, ended)
      const becomes = (await preview.changes?.(ended)) ?? []
      setForecast({ asked, report, becomes, problem: null, isUnfinished: false })
    } catch (error) {
      if (ended.aborted) return
      const isUnfinished = error instanceof FieldProblem
      setForecast({ ...NOTHING_YET, asked, problem: messageOf(error), isUnfinished })
    }
  }
  useEffect(() => {
    if (preview === undefined || isBusy) return
    // What the reader saw before they left the page may be long ago.
    if (!isVisible) return setForecast(NOTHING_YET)
    const ended = new AbortController()
    const lookAgain = async (): Promise<void> => {
      const began = elapsedMs()
      await look(ended.signal)
      if (ended.signal.aborted) return
      const pause = Math.max(AGAIN_MS, PATIENCE * (elapsedMs() - began))
      stop = afterDelay(pause, () => void lookAgain())
    }
    let stop = afterDelay(forecast.asked === null ? 0 : TYPING_MS, () => void lookAgain())
    return () => {
      stop()
      ended.abort()
    }
    // Asked anew when the server is there again.
  }, [preview, asked, isConnected.value, isBusy, isVisible])
  const isKnown = forecast.asked === asked && forecast.problem === null
  return { ...forecast, isReady: preview === undefined || isKnown }
}

function useVisible(): boolean {
  const [isVisible, setIsVisible] = useState(!document.hidden)
  useEffect(() => {
    const onChange = (): void => setIsVisible(!document.hidden)
    document.addEventListener('visibilitychange', onChange)
    return () => document.removeEventListener('visibilitychange', onChange)
  }, [])
  return isVisible
}

/** How many jobs it would be done to. */
function Preview({ of, filter }: { readonly of: Forecast; readonly filter: string | undefined }) {
  const { report, becomes, problem, isUnfinished } = of
  if (problem !== null && isUnfinished) return <p role="status">{seen(problem)}</p>
  if (problem !== null) return <Problem problem={problem} />
  if (report === null) return <p class="none">Looking what it would do…</p>
  return (
    <div class="preview" role="status">
      <p>
        {!report.isComplete && 'More than '}
        <strong>{countText(report.matched)}</strong> jobs match
        {filter !== undefined && filter !== '' && (
          <>
            {' '}
            <code>{line(filter, 300)}</code>
          </>
        )}
        {report.left > 0 && `; ${countText(report.left)} of them would be left as they are`}.
      </p>
      {becomes.length > 0 && (
        <ul class="changes">
          {becomes.map((one) => (
            <li key={one}>{one}</li>
          ))}
        </ul>
      )}
      {report.samples.length > 0 && <p>The first of them:</p>}
      <ul>
        {report.samples.slice(0, 5).map((id) => (
          <li key={id}>
            <JobLink id={id} />
          </li>
        ))}
        {report.problems.slice(0, 3).map(({ id, why }) => (
          <li key={id}>{seen(why)}</li>
        ))}
      </ul>
    </div>
  )
}

function CommandOf({ of, filled }: { readonly of: Action; readonly filled: Filled }) {
  let command: string | null
  try {
    command = commandLine(of.operation, inputOf(of, filled))
  } catch {
    return null
  }
  if (command === null || command.length > 2_000) return null
  return (
    <details>
      <summary>As a command</summary>
      <div class="command">
        <code>{seen(command)}</code> <CopyButton text={command} />
      </div>
    </details>
  )
}
