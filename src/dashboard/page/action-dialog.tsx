/**
 * The dialog in which a reader says who they are and why, sees what it would do to many jobs, and does it.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { BulkReport } from '../../engine/index.ts'
import type { OperationName } from '../../protocol/index.ts'
import type { Action, ActionField, Filled } from './action.ts'
import { action, announcement, fieldsOf, fieldValues, rateIn } from './action.ts'
import type { InJson } from './api.ts'
import { call, follow, messageOf, NotReached } from './api.ts'
import { commandLine } from './command-line.ts'
import { countText } from './duration-text.ts'
import { changes } from './live.ts'
import { CopyButton, JobLink, Problem } from './parts.tsx'
import { line, seen } from './safe-text.ts'
import { actorName, keepName, may, reader } from './session.ts'

export function ActionDialog() {
  const current = action.value
  return current === null ? null : <OpenDialog key={current.title} of={current} />
}

/** The input of the operation: what the action says, what was filled in, who, and why. */
function inputOf(of: Action, filled: Filled): Record<string, unknown> {
  const { rate, ...fields } = fieldValues(fieldsOf(of, filled), filled)
  const reason = (filled['reason'] ?? '').trim()
  const by = actorName.value.trim()
  return {
    ...of.input,
    ...fields,
    ...(rate === undefined ? {} : { rate: rateIn(rate as string) }),
    ...(of.isPlain === true || by === '' ? {} : { by }),
    ...(of.isPlain === true || reason === '' ? {} : { reason }),
  }
}

function OpenDialog({ of }: { readonly of: Action }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [filled, setFilled] = useState<Filled>({})
  const [problem, setProblem] = useState<string | null>(null)
  const [report, setReport] = useState<InJson<BulkReport> | null>(null)
  const [isBusy, setIsBusy] = useState(false)
  /** How many jobs the preview found. */
  const [total, setTotal] = useState<number | null>(null)
  const stop = useRef(new AbortController())
  // AFTER the event that asked for it is over: the same press of Enter must not send the form.
  useEffect(() => dialog.current?.showModal(), [])
  // At once: that it is closed is told later, when the reader may have begun something else.
  const leave = (event: Event): void => {
    event.preventDefault()
    stop.current.abort()
    dialog.current?.close()
    action.value = null
  }
  const fill = (name: string, value: string): void =>
    setFilled((was) => ({ ...was, [name]: value }))
  const run = async (): Promise<void> => {
    setProblem(null)
    setIsBusy(true)
    try {
      await perform(of, inputOf(of, filled), setReport, stop.current.signal)
      // Closed, it gives the focus back to where the reader was.
      dialog.current?.close()
      action.value = null
    } catch (error) {
      setProblem(problemText(error, total))
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
        {of.preview !== undefined && <Preview of={of} filled={filled} onTotal={setTotal} />}
        {fieldsOf(of, filled).map((field) => (
          <FieldInput key={field.name} field={field} filled={filled} fill={fill} />
        ))}
        {of.isPlain !== true && <WhoAndWhy filled={filled} fill={fill} />}
        <CommandOf of={of} filled={filled} />
        {report !== null && <Progress report={report} total={total} />}
        <Problem problem={problem} />
        <div class="buttons">
          <button type="button" onClick={leave}>
            {isBusy && of.progress !== undefined ? 'Stop here' : 'Leave it'}
          </button>
          <button type="submit" class={of.isGrave === true ? 'grave' : 'main'} disabled={isBusy}>
            {isBusy ? 'Working…' : 'Do it'}
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
  input: Record<string, unknown>,
  onReport: (report: InJson<BulkReport>) => void,
  ended: AbortSignal,
): Promise<void> {
  const answer =
    of.progress === undefined
      ? await call(of.operation, input as never)
      : await followToEnd(of.progress, input, onReport, ended)
  if (of.progress !== undefined && ended.aborted) {
    announcement.value = `${of.title}: stopped. What was done stays, the rest is as it was.`
    return
  }
  announcement.value = `${of.title}: ${doneText(answer)}`
  of.onDone?.(answer)
}

type BulkEvent = InJson<BulkReport> & { readonly isLast: boolean }

/** The server stops when it notices that the page is gone, a little later than what it told last. */
async function followToEnd(
  name: OperationName,
  input: Record<string, unknown>,
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
  if (kind === 'flag') {
    return (
      <label class="flag">
        <input
          type="checkbox"
          name={name}
          checked={value === 'true'}
          onChange={(event) => fill(name, String(event.currentTarget.checked))}
        />{' '}
        {seen(label)}
        {hint !== undefined && <small>{seen(hint)}</small>}
      </label>
    )
  }
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

/** How many jobs it would be done to, by asking for it dry. */
function Preview({
  of,
  filled,
  onTotal,
}: {
  readonly of: Action
  readonly filled: Filled
  readonly onTotal: (total: number) => void
}) {
  const [report, setReport] = useState<InJson<BulkReport> | null>(null)
  const [becomes, setBecomes] = useState<readonly string[]>([])
  const [problem, setProblem] = useState<string | null>(null)
  const { preview } = of
  const rest = JSON.stringify({ ...filled, reason: '', rate: '' })
  useEffect(() => {
    if (preview === undefined || !may(preview.operation)) return
    const ended = new AbortController()
    void (async () => {
      try {
        const asked = JSON.parse(rest) as Filled
        const fields = fieldValues(
          fieldsOf(of, asked).filter(({ name }) => name !== 'rate'),
          asked,
        )
        const input = { ...preview.input, ...fields }
        const found = await call(preview.operation, input as never, ended.signal)
        setBecomes((await preview.changes?.(ended.signal)) ?? [])
        setReport(found)
        onTotal(found.matched)
        setProblem(null)
      } catch (error) {
        if (!ended.signal.aborted) setProblem(messageOf(error))
      }
    })()
    return () => ended.abort()
  }, [preview, rest])
  if (problem !== null) return <Problem problem={problem} />
  if (report === null) return <p class="none">Looking what it would do…</p>
  return (
    <div class="preview" role="status">
      <p>
        {!report.isComplete && 'More than '}
        <strong>{countText(report.matched)}</strong> jobs match
        {preview?.filter !== undefined && preview.filter !== '' && (
          <>
            {' '}
            <code>{line(preview.filter, 300)}</code>
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
