/**
 * Small parts that several views show: states, times, texts of jobs, and what is not there.
 */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Action } from './action.ts'
import { action } from './action.ts'
import { serverNow } from './clock.ts'
import { agoText, clockText, durationText, wholeTimeText } from './duration-text.ts'
import { linkTo } from './route.ts'
import { json, line, seen } from './safe-text.ts'
import { seesPayloads } from './session.ts'

export function State({ state }: { readonly state: string }) {
  return <span class={`state state-${state}`}>{state}</span>
}

/** How long ago, or in how long. */
export function Time({ at }: { readonly at: string | null | undefined }) {
  if (at == null) return <span class="none">never</span>
  return (
    <time dateTime={at} title={wholeTimeText(Date.parse(at))}>
      {agoText(Date.parse(at), serverNow())}
    </time>
  )
}

/** The time of day, and how long ago that is. */
export function Moment({ at }: { readonly at: string }) {
  const [time, now] = [Date.parse(at), serverNow()]
  return (
    <time dateTime={at} title={wholeTimeText(time)}>
      {clockText(time, now)} <span class="aside">{agoText(time, now)}</span>
    </time>
  )
}

export function Since({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={wholeTimeText(Date.parse(at))}>
      {durationText(serverNow() - Date.parse(at))}
    </time>
  )
}

/** In place of what the server leaves out. */
export function NotForToken() {
  return <span class="none">not for this token</span>
}

/** A text of a job in one line, in an order of its own. */
export function Text({ text, most }: { readonly text: string; readonly most?: number }) {
  if (text === '' && !seesPayloads()) return <NotForToken />
  return <bdi title={text.length > 2_000 ? undefined : seen(text)}>{line(text, most)}</bdi>
}

/** Who paused a queue, and why. */
export function PausedBy({
  of: { paused },
}: {
  readonly of: { readonly paused: { readonly by: string; readonly reason: string } | null }
}) {
  return paused === null ? null : (
    <>
      by <Text text={paused.by} most={60} />: <Text text={paused.reason} most={100} />
    </>
  )
}

export function JobLink({ id, children }: { readonly id: string; children?: ComponentChildren }) {
  return (
    <a class="id" href={linkTo('job', { id })} title={seen(id)}>
      {children ?? line(id, 40)}
    </a>
  )
}

const SHOWN_CHARS = 4_000
const MOST_CHARS = 400_000

interface JsonBlockProps {
  readonly value: unknown
  /** Its text, where a number in it is another one in the value. */
  readonly exact?: string | null | undefined
  readonly label: string
  /** A job was given or made it: some tokens see none of it. */
  readonly isOfJob?: boolean
}

/** JSON as it is; what is long is shown when it is asked for. */
export function JsonBlock({ value, exact, label, isOfJob = true }: JsonBlockProps) {
  const [isWhole, setIsWhole] = useState(false)
  // What the server says again is another object with the same text.
  const text = useMemo(() => json(value, exact), [value, exact])
  if (isOfJob && !seesPayloads()) {
    return (
      <p>
        <NotForToken />
      </p>
    )
  }
  if (value === undefined && exact == null) return <p class="none">none</p>
  const most = isWhole ? MOST_CHARS : SHOWN_CHARS
  const cut = text.length > most ? text.slice(0, most) : text
  return (
    <div class="json">
      <pre tabIndex={0} role="group" aria-label={label}>
        {seen(cut)}
      </pre>
      {text.length > SHOWN_CHARS && (
        <p class="more">
          {cut.length.toLocaleString('en')} of {text.length.toLocaleString('en')} characters are
          shown.{' '}
          {text.length > most && !isWhole && (
            <button type="button" class="small" onClick={() => setIsWhole(true)}>
              Show more
            </button>
          )}
        </p>
      )}
    </div>
  )
}

export function Problem({ problem }: { readonly problem: string | null }) {
  return problem === null ? null : (
    <p class="problem" role="alert">
      {seen(problem)}
    </p>
  )
}

export function Waiting() {
  return <p class="none">Loading…</p>
}

export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <p class="empty">{children}</p>
}

/** A table that turns into cards on a narrow screen: each cell says of which column it is. */
export function Table({
  label,
  columns,
  isLong = false,
  cards,
  children,
}: {
  readonly label: string
  readonly columns: readonly string[]
  /** It is scrolled by itself, so that what comes after it is not far away. */
  readonly isLong?: boolean
  /** How its cards are laid out, by the style sheet; left out: a line for each cell. */
  readonly cards?: 'jobs' | 'history'
  readonly children: ComponentChildren
}) {
  const long = isLong ? ({ tabIndex: 0, role: 'group', 'aria-label': label } as const) : {}
  const table = useRef<HTMLTableElement>(null)
  // As cards its parts are no table to some browsers, unless they are called so.
  useLayoutEffect(() => {
    for (const row of table.current?.rows ?? []) row.setAttribute('role', 'row')
  })
  return (
    <div class={isLong ? 'scroll long' : 'scroll'} {...long}>
      <table ref={table} role="table" class={cards === undefined ? undefined : `cards-${cards}`}>
        <caption class="unseen">{label}</caption>
        <thead role="rowgroup">
          <tr>
            {columns.map((one) => (
              <th key={one} scope="col" role="columnheader">
                {one}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">{children}</tbody>
      </table>
    </div>
  )
}

export function Cell({
  of,
  number = false,
  children,
}: {
  readonly of: string
  readonly number?: boolean
  readonly children: ComponentChildren
}) {
  // Of a card, what is not there is left out.
  const kind = children === '–' ? 'blank' : undefined
  return (
    <td role="cell" data-of={of} class={number ? 'number' : kind}>
      <div>{children}</div>
    </td>
  )
}

/** Works without a secure connection, where browsers give no clipboard. */
export function CopyButton({ text, label = 'Copy' }: { readonly text: string; label?: string }) {
  // Another text than this one was not copied.
  const [copied, setCopied] = useState<string | null>(null)
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
    } catch {
      copyBySelection(text)
    }
    setCopied(text)
  }
  return (
    <button type="button" class="small" onClick={() => void copy()}>
      {copied === text ? 'Copied' : label}
    </button>
  )
}

function copyBySelection(text: string): void {
  const area = document.createElement('textarea')
  area.value = text
  const place = document.querySelector('dialog[open]') ?? document.body
  place.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

/** Each opens the dialog of its action. `of`: whose they are, for readers who hear the page. */
export function ActionButtons({
  actions,
  of,
}: {
  readonly actions: readonly (readonly [label: string, one: Action])[]
  readonly of: string
}) {
  return (
    <div class="buttons">
      {actions.map(([label, one]) => (
        <button
          key={label}
          type="button"
          class="small"
          aria-label={`${label} ${of}`}
          onClick={() => {
            action.value = one
          }}
        >
          {label}…
        </button>
      ))}
    </div>
  )
}
