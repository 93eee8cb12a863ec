/**
 * Lines over time with axes, as SVG. What stands under the pointer, or where the arrow keys have led, is written below in words; else the
 * newest values. All charts of a view point at the same time.
 */
import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'

export interface ChartLine {
  readonly name: string
  /** One for each time; null: there was nothing. */
  readonly values: readonly (number | null)[]
  /** The state whose colour it has. */
  readonly colour: 'QUEUED' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'SUSPENDED' | 'RETRYING'
  readonly isDashed?: boolean
}

interface ChartTerms {
  readonly label: string
  /** In milliseconds since 1970, each after the one before. */
  readonly times: readonly number[]
  /** Whether nothing is known of each time: no line goes over it. */
  readonly holes: readonly boolean[]
  readonly lines: readonly ChartLine[]
  readonly valueText: (value: number) => string
  /** For what may be small and large: each step of the axis is ten times the one before. */
  readonly isLogarithmic?: boolean
}

/** Null: nothing is pointed at. */
const pointedTime = signal<number | null>(null)

export function LineChart(terms: ChartTerms) {
  const { label, times, lines, valueText } = terms
  const newest = times.length - 1
  const pointed = pointedTime.value === null ? newest : nearest(times, pointedTime.value)
  const words = lines.map(({ name, values }) => `${name}: ${textAt(values, pointed, valueText)}`)
  const when = times[pointed] === undefined ? 'not known yet' : clockText(times[pointed], times)
  const isNow = pointed === newest
  const point = (at: number | null): void => {
    pointedTime.value = at === null || at >= newest ? null : (times[at] ?? null)
  }
  return (
    <figure class="chart">
      <figcaption>
        <h3>{label}</h3>
        <span class="soft">{isNow ? 'newest' : when}</span>
      </figcaption>
      <div
        class="plot"
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, newest)}
        aria-valuenow={Math.max(0, pointed)}
        aria-valuetext={`${when}, ${words.join(', ')}`}
        onKeyDown={(event) => {
          const next = nextPlace(event.key, pointed, newest)
          if (next === null) return
          event.preventDefault()
          point(next)
        }}
        onBlur={() => point(null)}
      >
        <Plot terms={terms} pointed={isNow ? null : pointed} onPoint={point} />
      </div>
      <ul class="legend" aria-hidden="true">
        {lines.map(({ name, values, colour, isDashed }) => (
          <li key={name}>
            <span class={`swatch state-${colour}${isDashed === true ? ' dashed' : ''}`} /> {name}{' '}
            <strong>{textAt(values, pointed, valueText)}</strong>
          </li>
        ))}
      </ul>
    </figure>
  )
}

function textAt(
  values: readonly (number | null)[],
  at: number,
  valueText: (value: number) => string,
): string {
  const value = values[at]
  return value == null ? '–' : valueText(value)
}

const STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  PageUp: 10,
  PageDown: -10,
  Home: -Infinity,
  End: Infinity,
}

function nextPlace(key: string, at: number, newest: number): number | null {
  const step = STEPS[key]
  return step === undefined ? null : Math.min(Math.max(0, at + step), newest)
}

function nearest(times: readonly number[], time: number): number {
  let best = times.length - 1
  times.forEach((one, i) => {
    if (Math.abs(one - time) < Math.abs((times[best] as number) - time)) best = i
  })
  return best
}

/** With its day, where the times are of more than one. */
function clockText(time: number, times: readonly number[]): string {
  const date = new Date(time)
  const clock = date.toLocaleTimeString('en-GB')
  const days = new Set([times[0], times.at(-1)].map((one) => new Date(one ?? 0).toDateString()))
  return days.size === 1
    ? clock
    : `${date.toLocaleDateString('en-GB', { weekday: 'short' })} ${clock}`
}

const HEIGHT = 170
const EDGE = { left: 52, right: 8, top: 8, bottom: 20 }

/** As wide as its place. */
function useWidth(): readonly [{ current: SVGSVGElement | null }, number] {
  const place = useRef<SVGSVGElement>(null)
  const [width, setWidth] = useState(360)
  useEffect(() => {
    const around = place.current?.parentElement
    if (around == null) return
    const measure = (): void => setWidth(Math.max(120, around.clientWidth))
    const observer = new ResizeObserver(measure)
    observer.observe(around)
    measure()
    return () => observer.disconnect()
  }, [])
  return [place, width]
}

function Plot({
  terms,
  pointed,
  onPoint,
}: {
  readonly terms: ChartTerms
  readonly pointed: number | null
  readonly onPoint: (at: number | null) => void
}) {
  const { times, holes, lines, valueText } = terms
  const [place, width] = useWidth()
  const { ticks, share } = scaleOf(terms)
  const [first, last] = [times[0] ?? 0, times.at(-1) ?? 1]
  const inner = width - EDGE.left - EDGE.right
  const x = (time: number): number => EDGE.left + ((time - first) / (last - first || 1)) * inner
  const y = (value: number): number =>
    HEIGHT - EDGE.bottom - share(value) * (HEIGHT - EDGE.top - EDGE.bottom)
  return (
    <svg
      ref={place}
      width={width}
      height={HEIGHT}
      aria-hidden="true"
      onPointerMove={({ offsetX }) =>
        onPoint(nearest(times, first + ((offsetX - EDGE.left) / inner) * (last - first)))
      }
      onPointerLeave={() => onPoint(null)}
    >
      {ticks.map((tick) => (
        <g key={tick} class="tick">
          <line x1={EDGE.left} x2={width - EDGE.right} y1={y(tick)} y2={y(tick)} />
          <text x={EDGE.left - 6} y={y(tick) + 4}>
            {valueText(tick)}
          </text>
        </g>
      ))}
      {times.length < 2 ? (
        <text class="awaited" x={width / 2} y={HEIGHT / 2}>
          Begins in a moment
        </text>
      ) : (
        <>
          <text class="time" x={EDGE.left} y={HEIGHT - 4}>
            {clockText(first, times)}
          </text>
          <text class="time end" x={width - EDGE.right} y={HEIGHT - 4}>
            {clockText(last, times)}
          </text>
          {lines.map((line) => (
            <Line
              key={line.name}
              line={line}
              times={times}
              holes={holes}
              x={x}
              y={y}
              pointed={pointed}
            />
          ))}
        </>
      )}
      {pointed !== null && (
        <line
          class="pointed"
          x1={x(times[pointed] ?? 0)}
          x2={x(times[pointed] ?? 0)}
          y1={EDGE.top}
          y2={HEIGHT - EDGE.bottom}
        />
      )}
    </svg>
  )
}

function Line({
  line: { values, colour, isDashed },
  times,
  holes,
  x,
  y,
  pointed,
}: {
  readonly line: ChartLine
  readonly times: readonly number[]
  readonly holes: readonly boolean[]
  readonly x: (time: number) => number
  readonly y: (value: number) => number
  readonly pointed: number | null
}) {
  /** One for each stretch without a hole. */
  const stretches: string[][] = [[]]
  values.forEach((value, i) => {
    if (holes[i] === true) stretches.push([])
    if (value === null) return
    stretches.at(-1)?.push(`${x(times[i] as number).toFixed(1)},${y(value).toFixed(1)}`)
  })
  const value = pointed === null ? null : values[pointed]
  return (
    <g class={`line state-${colour}${isDashed === true ? ' dashed' : ''}`}>
      {stretches
        .filter((points) => points.length > 0)
        .map((points) => (
          <polyline key={points[0]} points={points.join(' ')} />
        ))}
      {value != null && <circle cx={x(times[pointed as number] as number)} cy={y(value)} r="3.5" />}
    </g>
  )
}

interface ValueScale {
  readonly ticks: readonly number[]
  /** From 0 to 1. */
  readonly share: (value: number) => number
}

/** A logarithmic axis has no zero: what is less stands at its foot. */
const LEAST = 1

function scaleOf({ lines, isLogarithmic }: ChartTerms): ValueScale {
  const values = lines.flatMap((line) => line.values.filter((one) => one !== null))
  const most = values.reduce((a, b) => (b > a && b < Infinity ? b : a), LEAST)
  if (isLogarithmic !== true) return linearScale(most)
  const powers = Math.max(1, Math.ceil(Math.log10(most)))
  const step = Math.ceil(powers / 4)
  return {
    ticks: Array.from({ length: Math.floor(powers / step) + 1 }, (_, i) => 10 ** (i * step)),
    share: (value) => Math.min(1, Math.log10(Math.max(LEAST, value)) / powers),
  }
}

/** From zero, in three to five steps of 1, 2 or 5. */
function linearScale(most: number): ValueScale {
  const rough = most / 4
  const unit = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 5, 10].find((one) => one * unit >= rough) ?? 10) * unit
  const steps = Math.ceil(most / step)
  return {
    ticks: Array.from({ length: steps + 1 }, (_, i) => i * step),
    share: (value) => value / (step * steps),
  }
}
