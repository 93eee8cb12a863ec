/**
 * Filters of jobs under a name: some that are often asked for, and those that the reader keeps. They are kept by this
 * browser, for every server at this address.
 */
import { signal } from '@preact/signals'
import { useState } from 'preact/hooks'
import type { RouteParameters } from '../route.ts'
import { linkTo } from '../route.ts'
import { line } from '../safe-text.ts'

interface SavedView {
  readonly name: string
  readonly parameters: RouteParameters
}

const PLACE = 'pawl-views'
const MOST = 50

const USUAL: readonly SavedView[] = [
  { name: 'Failed today', parameters: { state: 'FAILED', completedFrom: 'today' } },
  { name: 'In quarantine', parameters: { state: 'QUARANTINED' } },
  {
    name: 'Running long',
    parameters: { state: 'RUNNING', submittedBefore: '1h', order: 'oldest' },
  },
  { name: 'Waiting for something', parameters: { state: 'SUSPENDED', order: 'oldest' } },
  { name: 'Longest in line', parameters: { state: 'QUEUED', order: 'oldest' } },
]

const saved = signal<readonly SavedView[]>(kept())

/** What is there may be of another version of this page, or of a person: only what is right is taken. */
function kept(): readonly SavedView[] {
  try {
    const all = JSON.parse(localStorage.getItem(PLACE) ?? '[]') as unknown
    return Array.isArray(all) ? all.filter(isView).slice(0, MOST) : []
  } catch {
    return []
  }
}

function isView(value: unknown): value is SavedView {
  const { name, parameters } = (value ?? {}) as Partial<Record<keyof SavedView, unknown>>
  return (
    typeof name === 'string' &&
    typeof parameters === 'object' &&
    parameters !== null &&
    Object.values(parameters).every((one) => typeof one === 'string')
  )
}

// What another tab keeps or removes is so in this one, too.
addEventListener('storage', ({ key }) => {
  if (key === PLACE || key === null) saved.value = kept()
})

/** Whether what this browser keeps is what this page has. */
let isStored = true

/** They are read again first: another tab may have changed them, and not told this one yet. */
function change(to: (views: readonly SavedView[]) => readonly SavedView[]): void {
  saved.value = to(isStored ? kept() : saved.value).slice(-MOST)
  try {
    localStorage.setItem(PLACE, JSON.stringify(saved.value))
    isStored = true
  } catch {
    // A browser that keeps nothing has them until the page is closed.
    isStored = false
  }
}

function without(views: readonly SavedView[], name: string): readonly SavedView[] {
  return views.filter((one) => one.name !== name)
}

function sameFilter(a: RouteParameters, b: RouteParameters): boolean {
  return textOf(a) === textOf(b)
}

function textOf(parameters: RouteParameters): string {
  const { after: _, ...rest } = parameters
  return JSON.stringify(Object.entries(rest).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

export function SavedViews({ parameters }: { readonly parameters: RouteParameters }) {
  const { after: _, ...filter } = parameters
  const own = saved.value
  const isKept = [...USUAL, ...own].some((one) => sameFilter(one.parameters, filter))
  return (
    <nav class="saved" aria-label="Saved views">
      <ul>
        {[...USUAL, ...own].map((one, i) => (
          <li key={`${one.name} ${i}`}>
            <a
              href={linkTo('jobs', one.parameters)}
              aria-current={sameFilter(one.parameters, filter) ? 'true' : undefined}
            >
              {line(one.name, 40)}
            </a>
            {i >= USUAL.length && (
              <button
                type="button"
                class="remove"
                aria-label={`Remove the view ${line(one.name, 40)}`}
                onClick={() => change((views) => without(views, one.name))}
              >
                ×
              </button>
            )}
          </li>
        ))}
      </ul>
      {!isKept && Object.keys(filter).length > 0 && <KeepForm filter={filter} />}
    </nav>
  )
}

function KeepForm({ filter }: { readonly filter: RouteParameters }) {
  const [name, setName] = useState('')
  const [isOpen, setIsOpen] = useState(false)
  if (!isOpen) {
    return (
      <button type="button" class="small" onClick={() => setIsOpen(true)}>
        Keep this view…
      </button>
    )
  }
  return (
    <form
      class="keep"
      onSubmit={(event) => {
        event.preventDefault()
        const given = name.trim()
        if (given === '') return
        change((views) => [...without(views, given), { name: given, parameters: filter }])
        setIsOpen(false)
        setName('')
      }}
    >
      <label class="inline">
        Name of the view{' '}
        <input
          value={name}
          maxLength={60}
          autoFocus
          onInput={(event) => setName(event.currentTarget.value)}
          onKeyDown={(event) => event.key === 'Escape' && setIsOpen(false)}
        />
      </label>
      <button type="submit" class="small">
        Keep
      </button>
    </form>
  )
}
