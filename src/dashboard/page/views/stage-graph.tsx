/**
 * The stages of a pipeline, drawn: each a box with what its segments do, however many they are. The drawing is moved by
 * dragging and by keys, made larger and smaller, and follows what runs until the reader moves it.
 */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { countText } from '../duration-text.ts'
import { label, seen } from '../safe-text.ts'
import type { Size } from '../size.ts'
import { useSize } from '../size.ts'
import type { ShownStage } from './job-actions.ts'
import type { DrawnPoint, StageLayout } from './stage-layout.ts'
import { BOX, stageLayout } from './stage-layout.ts'

/** The place of the drawing's origin on the screen, and how large it is drawn. */
interface Frame extends DrawnPoint {
  readonly scale: number
}

const LEAST = 0.2
const MOST = 2
/** Below this, names can hardly be read: rather a part of it is shown. */
const READABLE = 0.75
const STEP = 60
/** Around a stage there is room for its border, and for that of the focus. */
const AROUND = 6

export function StageGraph({
  stages,
  chosen,
  onChoose,
}: {
  readonly stages: readonly ShownStage[]
  readonly chosen: string | null
  readonly onChoose: (stage: string) => void
}) {
  const key = JSON.stringify(stages.map(({ name, after }) => [name, after]))
  const drawn = useMemo(() => stageLayout(stages), [key])
  const [element, size] = useSize<SVGSVGElement>()
  const [moved, setMoved] = useState<Frame | null>(null)
  const frame = moved ?? (size === null ? null : followed(drawn, stages, size))
  const zoom = (factor: number, around?: DrawnPoint): void => {
    if (frame !== null && size !== null) setMoved(zoomed(frame, size, factor, around))
  }
  const pan = (x: number, y: number): void => {
    if (frame !== null) setMoved({ ...frame, x: frame.x + x, y: frame.y + y })
  }
  /** A stage that the focus came to by a key may stand outside the picture. */
  const show = (middle: DrawnPoint): void => {
    if (frame === null || size === null) return
    const next = showing(frame, size, middle)
    if (next.x !== frame.x || next.y !== frame.y) setMoved(next)
  }
  const drag = useDrag(pan, zoom, element)
  return (
    <div class="graph">
      <svg
        ref={element}
        class={drawn.height > 220 ? 'tall' : ''}
        role="group"
        aria-label="Stages, drawn. Arrow keys move the drawing."
        // As SVG spells it.
        tabindex={0}
        onKeyDown={(event) => onKey(event, pan, zoom, () => setMoved(null))}
        {...drag}
      >
        {frame !== null && (
          <g transform={`translate(${frame.x} ${frame.y}) scale(${frame.scale})`}>
            <Arrows drawn={drawn} stages={stages} />
            {stages.map((one, i) => (
              <StageBox
                key={one.name}
                of={one}
                middle={drawn.stages[i] as DrawnPoint}
                isChosen={one.name === chosen}
                onChoose={onChoose}
                onFocus={show}
              />
            ))}
          </g>
        )}
      </svg>
      <div class="buttons zoom" role="group" aria-label="The drawing">
        <button type="button" class="small" aria-label="Smaller" onClick={() => zoom(0.8)}>
          −
        </button>
        <button type="button" class="small" aria-label="Larger" onClick={() => zoom(1.25)}>
          +
        </button>
        <button
          type="button"
          class="small"
          onClick={() => size !== null && setMoved(whole(drawn, size))}
        >
          All
        </button>
        <button
          type="button"
          class="small"
          aria-pressed={moved === null}
          onClick={() => setMoved(moved === null ? frame : null)}
        >
          Follow
        </button>
      </div>
    </div>
  )
}

function onKey(
  event: KeyboardEvent,
  pan: (x: number, y: number) => void,
  zoom: (factor: number) => void,
  follow: () => void,
): void {
  const moves: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => pan(STEP, 0),
    ArrowRight: () => pan(-STEP, 0),
    ArrowUp: () => pan(0, STEP),
    ArrowDown: () => pan(0, -STEP),
    '+': () => zoom(1.25),
    '=': () => zoom(1.25),
    '-': () => zoom(0.8),
    '0': follow,
  }
  const move = moves[event.key]
  if (move === undefined || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  move()
}

/** All of it, as large as there is room. */
function whole({ width, height }: StageLayout, size: Size): Frame {
  const fit = Math.min(1, size.width / width, size.height / height)
  const scale = Math.max(LEAST, fit)
  return {
    scale,
    x: Math.max(0, (size.width - width * scale) / 2),
    y: Math.max(0, (size.height - height * scale) / 2),
  }
}

/** All of it if it can be read so, else the part that runs, waits for a person, or is next. */
function followed(drawn: StageLayout, stages: readonly ShownStage[], size: Size): Frame {
  const all = whole(drawn, size)
  if (all.scale >= READABLE) return all
  const places = stages.flatMap((one, i) => (isAlive(one) ? [drawn.stages[i] as DrawnPoint] : []))
  const [first = drawn.stages[0] ?? { x: 0, y: 0 }] = places
  const xs = places.length === 0 ? [first.x] : places.map(({ x }) => x)
  const ys = places.length === 0 ? [first.y] : places.map(({ y }) => y)
  const scale = Math.max(READABLE, all.scale)
  // Of what runs the beginning is shown, if there is not room for all.
  const middle = {
    x: Math.min((Math.min(...xs) + Math.max(...xs)) / 2, Math.min(...xs) + size.width / 2 / scale),
    y: Math.min((Math.min(...ys) + Math.max(...ys)) / 2, Math.min(...ys) + size.height / 2 / scale),
  }
  return {
    scale,
    x: within(size.width / 2 - middle.x * scale, size.width, drawn.width * scale),
    y: within(size.height / 2 - middle.y * scale, size.height, drawn.height * scale),
  }
}

function isAlive({ running, dead, state }: ShownStage): boolean {
  return running > 0 || dead > 0 || state === 'RUNNING'
}

/** No room is left beside a drawing that is larger than the screen. */
function within(place: number, room: number, length: number): number {
  return length <= room ? (room - length) / 2 : Math.min(0, Math.max(room - length, place))
}

/** How far what stands at that place has to be moved to be whole in the room. */
function wayIn(place: number, room: number, length: number): number {
  return place < 0 ? -place : Math.min(0, room - length - place)
}

/** Moved no further than it takes to have the whole stage in the picture. */
function showing(frame: Frame, size: Size, middle: DrawnPoint): Frame {
  const width = (BOX.width + 2 * AROUND) * frame.scale
  const height = (BOX.height + 2 * AROUND) * frame.scale
  const x = frame.x + middle.x * frame.scale - width / 2
  const y = frame.y + middle.y * frame.scale - height / 2
  return {
    ...frame,
    x: frame.x + wayIn(x, size.width, width),
    y: frame.y + wayIn(y, size.height, height),
  }
}

function zoomed(
  { x, y, scale }: Frame,
  size: Size,
  factor: number,
  around: DrawnPoint = { x: size.width / 2, y: size.height / 2 },
): Frame {
  const next = Math.min(MOST, Math.max(LEAST, scale * factor))
  const share = next / scale
  return { scale: next, x: around.x - (around.x - x) * share, y: around.y - (around.y - y) * share }
}

/** A hand that presses a stage moves so far. */
const STILL_PX = 4

/**
 * With one finger or the mouse it is moved, with two fingers, or the wheel and Ctrl, made larger and smaller. The click that ends
 * such a move chooses no stage.
 */
function useDrag(
  pan: (x: number, y: number) => void,
  zoom: (factor: number, around?: DrawnPoint) => void,
  element: { readonly current: SVGSVGElement | null },
) {
  const pointers = useRef(new Map<number, DrawnPoint>())
  const movedPx = useRef(0)
  const newest = useRef({ pan, zoom })
  newest.current = { pan, zoom }
  useEffect(() => {
    const svg = element.current
    if (svg === null) return
    const onWheel = (event: WheelEvent): void => {
      // The wheel alone is for the page.
      if (!event.ctrlKey && !event.metaKey) return
      event.preventDefault()
      const { left, top } = svg.getBoundingClientRect()
      const around = { x: event.clientX - left, y: event.clientY - top }
      newest.current.zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, around)
    }
    svg.addEventListener('wheel', onWheel, { passive: false })
    return () => svg.removeEventListener('wheel', onWheel)
  }, [])
  const leave = ({ pointerId }: PointerEvent): void => {
    pointers.current.delete(pointerId)
  }
  return {
    onPointerDown: ({ pointerId, clientX, clientY }: PointerEvent) => {
      if (pointers.current.size === 0) movedPx.current = 0
      pointers.current.set(pointerId, { x: clientX, y: clientY })
    },
    onPointerMove: (event: PointerEvent) => {
      const before = pointers.current.get(event.pointerId)
      if (before === undefined || event.buttons === 0) return leave(event)
      const now = { x: event.clientX, y: event.clientY }
      movedPx.current += distance(before, now)
      const other = [...pointers.current].find(([id]) => id !== event.pointerId)?.[1]
      if (other === undefined) pan(now.x - before.x, now.y - before.y)
      else zoom(distance(now, other) / Math.max(1, distance(before, other)))
      pointers.current.set(event.pointerId, now)
    },
    onPointerUp: leave,
    onPointerCancel: leave,
    onPointerLeave: leave,
    onClickCapture: (event: MouseEvent) => {
      // What is clicked by no pointer counts none.
      if (event.detail > 0 && movedPx.current > STILL_PX) event.stopPropagation()
    },
  }
}

function distance(a: DrawnPoint, b: DrawnPoint): number {
  return Math.hypot(a.x - b.x, a.y - b.y)
}

function Arrows({ drawn, stages }: { drawn: StageLayout; stages: readonly ShownStage[] }) {
  const states = new Map(stages.map(({ name, state }) => [name, state]))
  return (
    <>
      {drawn.arrows.map(({ from, to, path }) => {
        const isLive = states.get(from) === 'DONE' && states.get(to) === 'RUNNING'
        return <path key={`${from} ${to}`} class={isLive ? 'arrow from' : 'arrow'} d={path} />
      })}
    </>
  )
}

/** What its segments do, the busiest first. */
export function partsOf({ completed, running, waiting, failed, dead }: ShownStage) {
  return [
    { name: 'SUCCEEDED', word: 'done', count: completed },
    { name: 'RUNNING', word: 'running', count: running },
    { name: 'FAILED', word: 'failed', count: failed },
    { name: 'QUARANTINED', word: 'in quarantine', count: dead },
    { name: 'QUEUED', word: 'waiting', count: waiting },
  ]
}

/** Of a stage that runs once, its state says it all. */
function wordsOf(stage: ShownStage): string {
  if (stage.segments === null) return stage.onFailure ? 'if the job fails' : 'not open yet'
  if (stage.segments === 0) return 'no segments'
  const parts = partsOf(stage).filter(({ count }) => count > 0)
  if (stage.segments === 1) return parts[0]?.word ?? ''
  return parts.map(({ word, count }) => `${countText(count)} ${word}`).join(', ')
}

function StageBox({
  of,
  middle,
  isChosen,
  onChoose,
  onFocus,
}: {
  readonly of: ShownStage
  readonly middle: DrawnPoint
  readonly isChosen: boolean
  readonly onChoose: (stage: string) => void
  readonly onFocus: (middle: DrawnPoint) => void
}) {
  const choose = (): void => onChoose(of.name)
  const [x, y] = [middle.x - BOX.width / 2, middle.y - BOX.height / 2]
  const words = wordsOf(of)
  const isMany = of.segments !== null && of.segments > 1
  return (
    <g
      class={`stage stage-${of.state} ${of.onFailure ? 'aside' : ''} ${isChosen ? 'chosen' : ''}`}
      transform={`translate(${x} ${y})`}
      role="button"
      tabindex={0}
      aria-pressed={isChosen}
      // Its name is what stands in it; of what is cut short, this has all.
      aria-description={`${seen(of.name.slice(0, 200))}: ${words}`}
      onClick={choose}
      onFocus={({ currentTarget }) => {
        // The one that is pressed stays under the pointer.
        if (currentTarget.matches(':focus-visible')) onFocus(middle)
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return
        event.preventDefault()
        event.stopPropagation()
        choose()
      }}
    >
      <rect class="card" width={BOX.width} height={BOX.height} rx={9} />
      <circle class="dot" cx={16} cy={20} r={4.5} />
      <text class="name" x={28} y={25}>
        {label(of.name, isMany ? 19 - countText(of.segments ?? 0).length : 21)}
      </text>
      {isMany && (
        <text class="end" x={BOX.width - 12} y={25}>
          ×{countText(of.segments ?? 0)}
        </text>
      )}
      <text class="words" x={12} y={44}>
        {words.length > 31 ? `${words.slice(0, 30)}…` : words}
      </text>
      <Bar of={of} />
    </g>
  )
}

function Bar({ of }: { readonly of: ShownStage }) {
  const total = Math.max(1, of.segments ?? 1)
  const width = BOX.width - 24
  let from = 12
  return (
    <>
      <rect class="track" x={12} y={54} width={width} height={6} rx={3} />
      {of.segments !== null &&
        partsOf(of).map(({ name, count }) => {
          const own = (count / total) * width
          const x = from
          from += own
          return own === 0 ? null : (
            <rect
              key={name}
              class={`fill-${name}`}
              x={x}
              y={54}
              // So few of very many can still be seen.
              width={Math.max(2, own)}
              height={6}
            />
          )
        })}
    </>
  )
}
