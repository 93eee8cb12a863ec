/**
 * The frame of the page: where one can go, who reads it, whether the server answers, and the view. What the reader may not
 * see is not offered.
 */
import type { FunctionComponent } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { OperationName } from '../../protocol/index.ts'
import { ActionDialog } from './action-dialog.tsx'
import { announcement } from './action.ts'
import { call, CallRefused, isConnected, messageOf } from './api.ts'
import { afterDelay } from './clock.ts'
import { Problem, Waiting } from './parts.tsx'
import type { RouteParameters } from './route.ts'
import { isLinkPage, linkTo, route } from './route.ts'
import { seen } from './safe-text.ts'
import type { ChosenScope } from './session.ts'
import {
  chosenScope,
  keepToken,
  linkToken,
  reader,
  scopeInUse,
  token,
  tokenAsked,
} from './session.ts'
import { changes } from './live.ts'
import { InboxView } from './views/inbox.tsx'
import { JobView } from './views/job.tsx'
import { JobsView } from './views/jobs.tsx'
import { LinkView } from './views/link.tsx'
import { MachineView } from './views/machine.tsx'
import { OverviewView } from './views/overview.tsx'
import { PastView } from './views/past.tsx'
import { QuarantineView } from './views/quarantine.tsx'
import { QueuesView } from './views/queues.tsx'
import { SchedulesView } from './views/schedules.tsx'
import { WorkersView } from './views/workers.tsx'

interface View {
  readonly title: string
  /** It shows nothing without this. */
  readonly needs: OperationName
  readonly show: FunctionComponent<{ readonly parameters: RouteParameters }>
  readonly isHidden?: true
}

const VIEWS: Readonly<Record<string, View>> = {
  '': { title: 'Overview', needs: 'counts', show: OverviewView },
  jobs: { title: 'Jobs', needs: 'jobs.list', show: JobsView },
  job: { title: 'Job', needs: 'jobs.show', show: JobView, isHidden: true },
  quarantine: { title: 'Quarantine', needs: 'jobs.list', show: QuarantineView },
  inbox: { title: 'Inbox', needs: 'inbox.list', show: InboxView },
  queues: { title: 'Queues', needs: 'queues.list', show: QueuesView },
  schedules: { title: 'Schedules', needs: 'schedules.list', show: SchedulesView },
  workers: { title: 'Workers', needs: 'workers.list', show: WorkersView },
  machine: { title: 'Machine', needs: 'counts', show: MachineView },
  past: { title: 'Time travel', needs: 'past.counts', show: PastView },
}

export function Shell() {
  return isLinkPage() ? <LinkShell /> : <ViewShell />
}

/** Nothing but what the link is for: no other view is offered, and no other token asked for. */
function LinkShell() {
  useEffect(() => {
    document.title = 'A question · Pawl'
  }, [])
  return (
    <>
      <Connection />
      <main id="main" class="link" tabIndex={-1}>
        <LinkView key={linkToken.value} />
      </main>
    </>
  )
}

function ViewShell() {
  const problem = useReader()
  const { view: name, parameters } = route.value
  const view = VIEWS[name]
  // Another job is another view.
  const { id = '' } = parameters
  useEffect(() => {
    document.title = `${view?.title ?? 'Not found'} · Pawl`
  }, [view])
  if (tokenAsked.value !== null) return <TokenForm why={tokenAsked.value} />
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        To the content
      </a>
      <Header current={name} />
      <Connection />
      <main id="main" tabIndex={-1}>
        <Heading title={view?.title ?? 'Not found'} id={id} />
        <Problem problem={problem} />
        {reader.value === null ? (
          problem === null && <Waiting />
        ) : view === undefined ? (
          <p>There is nothing at this address.</p>
        ) : reader.value.operations.has(view.needs) ? (
          <view.show key={id} parameters={parameters} />
        ) : (
          <p class="empty">Your token, {seen(reader.value.name)}, may not see this.</p>
        )}
      </main>
      <ActionDialog />
    </>
  )
}

function skip(event: Event): void {
  event.preventDefault()
  document.querySelector<HTMLElement>('#main')?.focus()
}

/** Who reads the page, asked until the server says it. */
function useReader(): string | null {
  const [problem, setProblem] = useState<string | null>(null)
  const [tries, setTries] = useState(0)
  const current = token.value
  useEffect(() => {
    let stop: (() => void) | undefined
    const again = (): void => {
      stop = afterDelay(1_500, () => setTries(tries + 1))
    }
    const ended = new AbortController()
    void (async () => {
      try {
        const { operations, ...known } = await call('caller', {}, ended.signal)
        reader.value = { ...known, operations: new Set(operations) }
        tokenAsked.value = null
        setProblem(null)
      } catch (error) {
        if (ended.signal.aborted) return
        if (error instanceof CallRefused && error.status === 401) return
        if (error instanceof CallRefused) setProblem(messageOf(error))
        again()
      }
    })()
    return () => {
      ended.abort()
      stop?.()
    }
  }, [current, tries])
  return problem
}

/** Readers who hear the page are told that there is another view. */
function Heading({ title, id }: { readonly title: string; readonly id: string }) {
  const heading = useRef<HTMLHeadingElement>(null)
  const isFirst = useRef(true)
  useEffect(() => {
    if (!isFirst.current) heading.current?.focus()
    isFirst.current = false
  }, [title, id])
  return (
    <h1 ref={heading} tabIndex={-1}>
      {title}
    </h1>
  )
}

function leave(): void {
  keepToken('')
  reader.value = null
  tokenAsked.value = ''
}

function Header({ current }: { readonly current: string }) {
  const known = reader.value
  const views = Object.entries(VIEWS).filter(
    ([, view]) => view.isHidden !== true && known?.operations.has(view.needs) === true,
  )
  return (
    <header>
      <a class="name" href={linkTo('')}>
        <img src="icon.svg" alt="" width="24" height="24" /> Pawl
      </a>
      <nav aria-label="Views">
        <ul>
          {views.map(([name, { title }]) => (
            <li key={name}>
              <a href={linkTo(name)} aria-current={name === current ? 'page' : undefined}>
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      {token.value !== '' && known !== null && (
        <div class="reader">
          <ScopeChoice name="type" label="Type" own={known.types} />
          <ScopeChoice name="queue" label="Queue" own={known.queues} />
          <span>{seen(known.name)}</span>{' '}
          <button type="button" class="small" onClick={leave}>
            Leave
          </button>
        </div>
      )}
    </header>
  )
}

interface ScopeChoiceProps {
  readonly name: keyof ChosenScope
  readonly label: string
  /** What the token is held to; null: to none. */
  readonly own: readonly string[] | null
}

/** Which of several the views are about. */
function ScopeChoice({ name, label, own }: ScopeChoiceProps) {
  if (own === null) return null
  if (own.length === 1) {
    return (
      <span class="mark">
        {label} {seen(own[0] as string)}
      </span>
    )
  }
  return (
    <label class="inline">
      {label}{' '}
      <select
        value={scopeInUse()[name]}
        onChange={(event) => {
          chosenScope.value = { ...chosenScope.value, [name]: event.currentTarget.value }
          changes.value += 1
        }}
      >
        {own.map((one) => (
          <option key={one} value={one}>
            {seen(one)}
          </option>
        ))}
      </select>
    </label>
  )
}

const SAID_MS = 6_000

/** What was done, that the connection is lost, and that it is back. */
function Connection() {
  const [isBack, setIsBack] = useState(false)
  const wasLost = useRef(false)
  const isThere = isConnected.value
  const said = announcement.value
  useEffect(() => {
    if (!isThere) {
      wasLost.current = true
      return setIsBack(false)
    }
    if (!wasLost.current) return
    wasLost.current = false
    setIsBack(true)
    return afterDelay(SAID_MS, () => setIsBack(false))
  }, [isThere])
  useEffect(() => {
    if (said === '') return
    return afterDelay(SAID_MS, () => {
      announcement.value = ''
    })
  }, [said])
  return (
    <div class="notices" role="status">
      {!isThere && <p class="lost">Connection lost. What you see is old. Trying again…</p>}
      {isThere && isBack && <p class="back">Connected again.</p>}
      {said !== '' && <p class="back">{seen(said)}</p>}
    </div>
  )
}

function TokenForm({ why }: { readonly why: string }) {
  const [given, setGiven] = useState('')
  const enter = (event: Event): void => {
    event.preventDefault()
    const entered = given.trim()
    if (entered === '') return
    tokenAsked.value = null
    reader.value = null
    keepToken(entered)
  }
  return (
    <main class="enter">
      <h1>Pawl</h1>
      <form onSubmit={enter}>
        <label>
          Token
          <input
            type="password"
            name="token"
            value={given}
            autoComplete="current-password"
            required
            onInput={(event) => setGiven(event.currentTarget.value)}
          />
          <small>Kept for this tab alone, until it is closed.</small>
        </label>
        <Problem problem={why === '' ? null : why} />
        <div class="buttons">
          <button type="submit" class="main">
            Enter
          </button>
        </div>
      </form>
    </main>
  )
}
