/**
 * The form in which a person answers a question: the fields of its schema, each with what is wrong with it, and why the
 * answer is so.
 */
import type { ComponentChildren } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'
import { messageOf } from '../api.ts'
import { Problem } from '../parts.tsx'
import { seen } from '../safe-text.ts'
import type { FilledForm, FormPart, GroupPart, ListPart, ValueField } from './question-form.ts'
import { filledIn, formOf, itemCount, readForm, withItem, withoutItem } from './question-form.ts'

interface FormState {
  /** Of all fields, before their paths. */
  readonly id: string
  readonly filled: FilledForm
  readonly problems: Readonly<Record<string, string>>
  readonly change: (filled: FilledForm) => void
}

export interface AnswerFormProps {
  readonly schema: object | null
  /** Who answers. */
  readonly who: ComponentChildren
  readonly label?: string
  /** What is answered is known already: nothing is asked but the reason. */
  readonly isFixed?: boolean
  /** It is not asked any more: what is filled in can be read, and not sent. */
  readonly isOver?: boolean
  /** Resolves when the answer was taken. */
  readonly send: (value: unknown, reason: string) => Promise<void>
}

/** So many choices stand side by side; more of them are a list. */
const MOST_SIDE_BY_SIDE = 4

export function AnswerForm(props: AnswerFormProps) {
  const { schema, who, label = 'Answer', isFixed = false, isOver = false, send } = props
  const id = useId()
  const form = useRef<HTMLFormElement>(null)
  const [filled, setFilled] = useState<FilledForm>({})
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({})
  const [refused, setRefused] = useState<string | null>(null)
  const [reason, setReason] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  const parts = formOf(schema)
  const submit = async (): Promise<void> => {
    if (isOver) return
    const read = isFixed ? { value: null } : readForm(parts, schema, filled)
    setProblems('problems' in read ? read.problems : {})
    setRefused(null)
    if ('problems' in read) {
      const [first = ''] = Object.keys(read.problems)
      return focusOn(form.current, `${id}-${first}`)
    }
    setIsBusy(true)
    await send(read.value, reason.trim()).catch((error: unknown) => setRefused(messageOf(error)))
    setIsBusy(false)
  }
  const whole = parts.kind === 'group' ? problems[''] : undefined
  return (
    <form
      ref={form}
      class="answer"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      {!isFixed && (
        <PartFields part={parts} isTop of={{ id, filled, problems, change: setFilled }} />
      )}
      <div class="who">
        {who}
        <label>
          Reason
          <input
            value={reason}
            maxLength={4_096}
            autoComplete="off"
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        </label>
      </div>
      <Problem problem={refused ?? whole ?? null} />
      <div class="buttons">
        {!isOver && (
          <button type="submit" class="main" disabled={isBusy}>
            {isBusy ? 'Sending…' : label}
          </button>
        )}
      </div>
    </form>
  )
}

/** AFTER the fields say what is wrong with them. */
function focusOn(form: HTMLFormElement | null, id: string): void {
  const place = form?.querySelector(`#${CSS.escape(id)}`)
  const field =
    place?.matches('fieldset') === true
      ? place.querySelector('input, select, textarea, button')
      : place
  if (field instanceof HTMLElement) field.focus()
}

interface PartProps<P extends FormPart> {
  readonly part: P
  readonly of: FormState
  readonly isTop?: boolean
}

function PartFields({ part, of, isTop = false }: PartProps<FormPart>) {
  if (part.kind === 'list') return <ListFields part={part} of={of} />
  if (part.kind !== 'group') return <Field part={part} of={of} />
  if (isTop) return <GroupFields part={part} of={of} />
  const id = `${of.id}-${part.path}`
  const problem = of.problems[part.path]
  return (
    <fieldset class="group" id={id} aria-describedby={problem && `${id}-wrong`}>
      <legend>
        <PartLabel of={part} />
      </legend>
      <Hint of={part} />
      <GroupFields part={part} of={of} />
      {problem !== undefined && (
        <p id={`${id}-wrong`} class="wrong">
          {seen(problem)}
        </p>
      )}
    </fieldset>
  )
}

function GroupFields({ part, of }: PartProps<GroupPart>) {
  return (
    <div class="answer-fields">
      {part.parts.map((one) => (
        <PartFields key={one.part.path} part={one.part} of={of} />
      ))}
    </div>
  )
}

function ListFields({ part, of }: PartProps<ListPart>) {
  const count = itemCount(part, of.filled)
  const problem = of.problems[part.path]
  return (
    <fieldset class="group">
      <legend>
        <PartLabel of={part} />
      </legend>
      <Hint of={part} />
      <ol class="items">
        {Array.from({ length: count }, (_, i) => (
          <li key={i}>
            <PartFields part={part.itemAt(i)} of={of} />
            {count > part.least && (
              <button
                type="button"
                class="small"
                aria-label={`Remove ${part.label} ${i + 1}`}
                onClick={() => of.change(withoutItem(part, of.filled, i))}
              >
                Remove
              </button>
            )}
          </li>
        ))}
      </ol>
      {problem !== undefined && <p class="wrong">{seen(problem)}</p>}
      {count < part.most && (
        <button
          type="button"
          class="small"
          id={`${of.id}-${part.path}`}
          onClick={() => of.change(withItem(part, of.filled))}
        >
          Add to {seen(part.label)}
        </button>
      )}
    </fieldset>
  )
}

function PartLabel({ of }: { readonly of: FormPart }) {
  const { label, isNeeded } = of
  const mayBeEmpty = !isNeeded || (of.kind === 'group' && of.isNullable)
  return (
    <>
      {seen(label)}
      {mayBeEmpty && <span class="optional"> (may be empty)</span>}
    </>
  )
}

function Hint({ of: { hint }, id }: { readonly of: FormPart; readonly id?: string }) {
  return hint === null ? null : (
    <small id={id} class="hint">
      {seen(hint)}
    </small>
  )
}

function Field({ part, of }: PartProps<ValueField>) {
  const { path, kind, choices } = part
  if (kind === 'choice' && choices.length <= MOST_SIDE_BY_SIDE) {
    return <SideBySide part={part} of={of} />
  }
  const id = `${of.id}-${path}`
  const problem = of.problems[path]
  return (
    <div class={kind === 'long' || kind === 'json' ? 'field wide' : 'field'}>
      <label for={id}>
        <PartLabel of={part} />
      </label>
      <ValueInput part={part} of={of} />
      <Hint of={part} id={`${id}-hint`} />
      {problem !== undefined && (
        <p id={`${id}-wrong`} class="wrong">
          {seen(problem)}
        </p>
      )}
    </div>
  )
}

/** For readers who hear the page: the hint, and what is wrong. */
function described({ path, hint }: ValueField, { id, problems }: FormState) {
  const isWrong = problems[path] !== undefined
  const ids = [
    ...(hint === null ? [] : [`${id}-${path}-hint`]),
    ...(isWrong ? [`${id}-${path}-wrong`] : []),
  ]
  return {
    ...(ids.length === 0 ? {} : { 'aria-describedby': ids.join(' ') }),
    ...(isWrong ? { 'aria-invalid': true } : {}),
  }
}

function ValueInput({ part, of }: PartProps<ValueField>) {
  const { path, kind, choices, inputMode, isNeeded } = part
  const common = {
    id: `${of.id}-${path}`,
    value: filledIn(part, of.filled),
    'aria-required': isNeeded,
    ...described(part, of),
    onInput: (event: { currentTarget: { value: string } }) =>
      of.change({ ...of.filled, [path]: event.currentTarget.value }),
  }
  if (kind === 'choice') {
    return (
      <select {...common}>
        <option value="" />
        {choices.map(({ label }, i) => (
          <option key={i} value={`${i}`}>
            {seen(label)}
          </option>
        ))}
      </select>
    )
  }
  if (kind === 'long') return <textarea {...common} rows={3} />
  if (kind === 'json') return <textarea {...common} rows={4} class="code" spellcheck={false} />
  if (kind === 'date') return <input {...common} type="date" />
  return <input {...common} inputMode={inputMode} autoComplete="off" />
}

function SideBySide({ part, of }: PartProps<ValueField>) {
  const { path, choices } = part
  const id = `${of.id}-${path}`
  const problem = of.problems[path]
  const chosen = filledIn(part, of.filled)
  return (
    <fieldset id={id} class="field choices" {...described(part, of)}>
      <legend>
        <PartLabel of={part} />
      </legend>
      <div class="options">
        {choices.map(({ label }, i) => (
          <label key={i} class="option">
            <input
              type="radio"
              name={id}
              checked={chosen === `${i}`}
              onChange={() => of.change({ ...of.filled, [path]: `${i}` })}
            />
            <span>{seen(label)}</span>
          </label>
        ))}
      </div>
      <Hint of={part} id={`${id}-hint`} />
      {problem !== undefined && (
        <p id={`${id}-wrong`} class="wrong">
          {seen(problem)}
        </p>
      )}
    </fieldset>
  )
}
