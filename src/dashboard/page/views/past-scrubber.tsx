/**
 * The scrubber: a slider over a part of the past, and steps to the entry before and the one behind. It never leaves the
 * address: what it shows can be sent to others. It keeps the focus, so that it is moved by keyboard alone.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { afterDelay } from '../clock.ts'

export interface ScrubberProps {
  readonly label: string
  /** Where the slider stands, and how far it goes. */
  readonly value: number
  readonly least: number
  readonly most: number
  readonly step: number
  /** What a place of it means. */
  readonly says: (value: number) => string
  /** Told when the slider rests for a moment. */
  readonly onRest: (value: number) => void
  /** Null: there is none. */
  readonly onPrevious: (() => void) | null
  readonly onNext: (() => void) | null
  readonly before?: ComponentChildren
  readonly children?: ComponentChildren
}

/** While it is dragged, not every place is asked for. */
const REST_MS = 180

export function Scrubber(props: ScrubberProps) {
  const { label, value, least, most, step, says, onRest, onPrevious, onNext } = props
  const [dragged, setDragged] = useState<number | null>(null)
  const stopWaiting = useRef<() => void>(() => undefined)
  useEffect(() => setDragged(null), [value])
  useEffect(() => () => stopWaiting.current(), [])
  const shown = Math.min(most, Math.max(least, dragged ?? value))
  const drag = (to: number): void => {
    setDragged(to)
    stopWaiting.current()
    stopWaiting.current = afterDelay(REST_MS, () => onRest(to))
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const act = event.key === ',' ? onPrevious : event.key === '.' ? onNext : null
    if (act === null) return
    event.preventDefault()
    act()
  }
  return (
    <div class="scrubber" role="group" aria-label={label} onKeyDown={onKeyDown}>
      <div class="scrub-row">
        {props.before}
        <label class="wide">
          {label}
          <input
            type="range"
            min={least}
            max={most}
            step={step}
            value={shown}
            aria-valuetext={says(shown)}
            onInput={(event) => drag(Number(event.currentTarget.value))}
          />
        </label>
      </div>
      <div class="scrub-row">
        <Step label="Previous entry" mark="‹" act={onPrevious} />
        <Step label="Next entry" mark="›" act={onNext} />
        <output class="moment">{says(shown)}</output>
        {props.children}
      </div>
      <small>
        Arrow keys move the slider, <kbd>,</kbd> and <kbd>.</kbd> go to the entry before and the
        next.
      </small>
    </div>
  )
}

interface StepProps {
  readonly label: string
  readonly mark: string
  readonly act: (() => void) | null
}

/** Not disabled, which would take the focus from it: it just does nothing at the end. */
function Step({ label, mark, act }: StepProps) {
  return (
    <button type="button" aria-disabled={act === null} onClick={() => act?.()}>
      <span aria-hidden="true">{mark}</span> {label}
    </button>
  )
}
