/**
 * The field in which a filter of jobs is typed, with suggestions: words of filters, and what the store counts anyway by type,
 * queue, tag and error. A part that is set stands below it, and is taken away by its button.
 */
import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { AnswerOf } from '../api.ts'
import { call } from '../api.ts'
import { countText } from '../duration-text.ts'
import { useLive } from '../live.ts'
import type { RouteParameters } from '../route.ts'
import { goTo, linkTo } from '../route.ts'
import { line, seen } from '../safe-text.ts'
import { may } from '../session.ts'
import type { FilterWord } from './filter-text.ts'
import {
  filterText,
  HINTS,
  isWord,
  ONLY,
  partsIn,
  quotedValue,
  STATES,
  typedFilter,
  WORDS,
} from './filter-text.ts'

interface Suggestion {
  /** What it puts in the place of the part that is typed. */
  readonly text: string
  readonly label: string
  readonly hint: string
  /** Another part can follow. */
  readonly isWhole: boolean
}

const MOST_SHOWN = 12
/** Of each error an example is looked up. */
const MOST_KNOWN = { type: 1_000, queue: 1_000, tag: 1_000, error: 300 } as const
const SUGGESTIONS_PAUSE_MS = 60_000
const COUNTED = ['type', 'queue', 'tag', 'error'] as const

export function FilterBar({ parameters }: { readonly parameters: RouteParameters }) {
  const field = useFilterField(parameters)
  return (
    <div class="filter" role="search" aria-label="Filter jobs">
      <div class="bar">
        <FilterInput of={field} />
        <button type="button" class="main" onClick={() => field.apply(field.text)}>
          Show
        </button>
        <Order parameters={parameters} />
      </div>
      <Suggestions of={field} />
      {field.problem !== null && (
        <p class="problem" role="alert">
          {seen(field.problem)}
        </p>
      )}
      <Parts parameters={parameters} />
    </div>
  )
}

interface FilterField {
  readonly input: RefObject<HTMLInputElement | null>
  readonly text: string
  readonly problem: string | null
  /** None, while the list is closed. */
  readonly shown: readonly Suggestion[]
  /** Of those that are shown; -1: none. */
  readonly marked: number
  readonly type: (text: string) => void
  readonly open: (isOpen: boolean) => void
  readonly apply: (filter: string) => void
  readonly take: (suggestion: Suggestion) => void
  /** To the next one, or the one before. */
  readonly mark: (step: number) => void
}

function useFilterField(parameters: RouteParameters): FilterField {
  const set = filterText(parameters)
  const [text, setText] = useState(set)
  const [problem, setProblem] = useState<string | null>(null)
  const [isOpen, setIsOpen] = useState(false)
  const [marked, setMarked] = useState(-1)
  const input = useRef<HTMLInputElement>(null)
  // It follows the address, as when the reader goes back.
  const type = (typed: string): void => {
    setText(typed)
    // What was wrong was said of another text.
    setProblem(null)
  }
  useEffect(() => type(set), [set])
  const { part, suggestions } = useSuggestions(text, input.current?.selectionStart ?? text.length)
  const apply = (filter: string): void => {
    try {
      const { parameters: typed, id } = typedFilter(filter)
      setProblem(null)
      setIsOpen(false)
      const { order = '' } = parameters
      if (id === '') goTo('jobs', { ...typed, order })
      else goTo('job', { id })
    } catch (error) {
      setProblem((error as Error).message)
    }
  }
  const take = ({ text: given, isWhole }: Suggestion): void => {
    const rest = text.slice(part.to).trimStart()
    const next = `${text.slice(0, part.from)}${given}${isWhole ? ' ' : ''}${rest}`
    type(next)
    setMarked(-1)
    input.current?.focus()
    if (isWhole) apply(next)
  }
  const mark = (step: number): void => {
    const count = suggestions.length + 1
    setIsOpen(true)
    setMarked(((marked + 1 + step + count) % count) - 1)
  }
  const open = (isNowOpen: boolean): void => {
    setIsOpen(isNowOpen)
    setMarked(-1)
  }
  const shown = isOpen ? suggestions : []
  return { input, text, problem, shown, marked, type, open, apply, take, mark }
}

function FilterInput({ of }: { readonly of: FilterField }) {
  const { input, text, problem, shown, marked, type, open, apply, take, mark } = of
  const one = shown[marked]
  const onKeyDown = (event: KeyboardEvent): void => {
    const keys: Readonly<Record<string, () => void>> = {
      ArrowDown: () => mark(1),
      ArrowUp: () => mark(-1),
      Enter: () => (one === undefined ? apply(text) : take(one)),
      ...(shown.length > 0 ? { Escape: () => open(false) } : {}),
    }
    const act = keys[event.key]
    if (act === undefined) return
    event.preventDefault()
    act()
  }
  return (
    <label class="typed">
      <span class="unseen">Filter</span>
      <input
        ref={input}
        value={text}
        role="combobox"
        aria-expanded={shown.length > 0}
        aria-controls="suggestions"
        aria-autocomplete="list"
        aria-activedescendant={one === undefined ? undefined : `suggestion-${marked}`}
        aria-invalid={problem !== null}
        autoComplete="off"
        autoCapitalize="off"
        spellcheck={false}
        placeholder="type:mail state:FAILED, or an id"
        onInput={(event) => {
          type(event.currentTarget.value)
          open(true)
        }}
        onFocus={() => open(true)}
        onBlur={() => open(false)}
        onKeyDown={onKeyDown}
      />
    </label>
  )
}

function Suggestions({ of: { shown, marked, take } }: { readonly of: FilterField }) {
  return (
    <ul id="suggestions" role="listbox" aria-label="Suggestions" hidden={shown.length === 0}>
      {shown.map((one, i) => (
        <li
          key={one.text}
          id={`suggestion-${i}`}
          role="option"
          aria-selected={i === marked}
          // BEFORE the field loses the focus, which would close the list.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => take(one)}
        >
          <span>{line(one.label, 80)}</span> <small>{seen(one.hint)}</small>
        </li>
      ))}
    </ul>
  )
}

function Order({ parameters }: { readonly parameters: RouteParameters }) {
  const { after: _, order = 'newest', ...others } = parameters
  return (
    <label class="inline order">
      <span class="unseen">Order</span>
      <select
        value={order}
        onChange={(event) => {
          const { value } = event.currentTarget
          goTo('jobs', { ...others, order: value === 'newest' ? '' : value })
        }}
      >
        <option value="newest">Newest first</option>
        <option value="oldest">Oldest first</option>
      </select>
    </label>
  )
}

/** Each part that is set, with a link to the jobs without it. */
function Parts({ parameters }: { readonly parameters: RouteParameters }) {
  const { after: _, ...others } = parameters
  const set = (Object.keys(WORDS) as FilterWord[]).filter((word) => others[WORDS[word]])
  if (set.length === 0) return null
  return (
    <ul class="chips" aria-label="The filter">
      {set.map((word) => {
        const value = others[WORDS[word]] ?? ''
        return (
          <li key={word}>
            <span class="aside">{word}</span> <bdi>{line(value, 60)}</bdi>
            <a
              href={linkTo('jobs', { ...others, [WORDS[word]]: '' })}
              aria-label={`Without ${word} ${line(value, 60)}`}
            >
              ×
            </a>
          </li>
        )
      })}
      {set.length > 1 && (
        <li class="all">
          <a href={linkTo('jobs', { order: others['order'] ?? '' })}>All jobs</a>
        </li>
      )}
    </ul>
  )
}

interface Typed {
  readonly part: { readonly word: string; readonly value: string; from: number; to: number }
  readonly suggestions: readonly Suggestion[]
}

/** `at`: where the reader types. */
function useSuggestions(text: string, at: number): Typed {
  const part = partsIn(text).find(({ from, to }) => at >= from && at <= to) ?? {
    word: '',
    value: '',
    from: at,
    to: at,
  }
  const { word, value } = part
  const counted = COUNTED.find((one) => one === word) ?? (word === '' ? 'type' : null)
  const groups = useGroups(counted)
  const workers = useWorkers(word === 'worker')
  const wanted = value.toLowerCase()
  const all =
    word === ''
      ? [...wordSuggestions(), ...groupSuggestions('type', groups)]
      : word === 'state'
        ? STATES.map((state) => valueSuggestion('state', state, '', state))
        : word === 'worker'
          ? workers
          : word === 'held-effects'
            ? [valueSuggestion(word, ONLY, HINTS[word])]
            : isWord(word) && counted !== null
              ? groupSuggestions(counted, groups)
              : isWord(word) && /since|before/.test(word)
                ? ['15m', '1h', 'today', '7d'].map((one) =>
                    valueSuggestion(word, one, HINTS[word], one),
                  )
                : []
  const fitting = all.filter(
    ({ label, text: one }) =>
      label.toLowerCase().includes(wanted) || (word === '' && one.startsWith(wanted)),
  )
  return { part, suggestions: fitting.slice(0, MOST_SHOWN) }
}

function wordSuggestions(): Suggestion[] {
  return (Object.keys(HINTS) as (keyof typeof HINTS)[]).map((word) => {
    // It has one value.
    if (word === 'held-effects') return valueSuggestion(word, ONLY, HINTS[word], `${word}:${ONLY}`)
    return {
      text: `${word}:`,
      label: `${word}:`,
      hint: HINTS[word],
      isWhole: false,
    }
  })
}

function valueSuggestion(word: FilterWord, value: string, hint: string, label = value): Suggestion {
  return { text: `${word}:${quotedValue(value)}`, label, hint, isWhole: true }
}

type Groups = AnswerOf<'counts'>['groups']

function groupSuggestions(word: (typeof COUNTED)[number], groups: Groups): Suggestion[] {
  return groups.flatMap(({ name, total, sample }) => {
    if (name === null) return []
    const label = sample === null ? name : `${sample.code}: ${sample.message}`
    return [valueSuggestion(word, name, `${word}, ${countText(total)} jobs`, label)]
  })
}

/** The largest first, from the counters of the store: no job is looked at. */
function useGroups(by: (typeof COUNTED)[number] | null): Groups {
  const ask = async (ended: AbortSignal): Promise<Groups> => {
    if (by === null || !may('counts')) return []
    const { groups } = await call('counts', { by, largest: 'ALL', limit: MOST_KNOWN[by] }, ended)
    return groups
  }
  return useLive(by ?? '', ask, SUGGESTIONS_PAUSE_MS).data ?? []
}

function useWorkers(isAsked: boolean): readonly Suggestion[] {
  const ask = async (ended: AbortSignal): Promise<readonly Suggestion[]> => {
    if (!isAsked || !may('workers.list')) return []
    const { workers } = await call('workers.list', {}, ended)
    return workers.map(({ id, held }) =>
      valueSuggestion('worker', id, `has ${countText(held)}`, id),
    )
  }
  return useLive(String(isAsked), ask, SUGGESTIONS_PAUSE_MS).data ?? []
}
