/**
 * Where the stages of a pipeline stand in a drawing, and how the arrows between them run: each stage to the right of all that
 * it waits for.
 */
import { graphlib, layout } from '@dagrejs/dagre'

export interface DrawnStage {
  readonly name: string
  readonly after: readonly string[]
}

export interface DrawnPoint {
  readonly x: number
  readonly y: number
}

export interface StageLayout {
  /** The middle of each stage, in the order in which they were given. */
  readonly stages: readonly DrawnPoint[]
  readonly arrows: readonly { readonly from: string; readonly to: string; readonly path: string }[]
  readonly width: number
  readonly height: number
}

export const BOX = { width: 196, height: 70 }
const MARGIN = 8

export function stageLayout(stages: readonly DrawnStage[]): StageLayout {
  const graph = new graphlib.Graph()
  graph.setGraph({ rankdir: 'LR', nodesep: 20, ranksep: 56, marginx: MARGIN, marginy: MARGIN })
  graph.setDefaultEdgeLabel(() => ({}))
  // By their places: a stage may have any name, `__proto__` too.
  const ids = new Map(stages.map(({ name }, i) => [name, `s${i}`]))
  for (const { name } of stages) graph.setNode(ids.get(name) as string, { ...BOX })
  const pairs = stages.flatMap(({ name, after }) =>
    after.filter((one) => ids.has(one)).map((from) => ({ from, to: name })),
  )
  for (const { from, to } of pairs) graph.setEdge(ids.get(from) as string, ids.get(to) as string)
  layout(graph)
  const { width = 0, height = 0 } = graph.graph()
  return {
    stages: stages.map(({ name }) => {
      const { x, y } = graph.node(ids.get(name) as string) as DrawnPoint
      return { x, y }
    }),
    arrows: pairs.map(({ from, to }) => {
      const { points } = graph.edge(ids.get(from) as string, ids.get(to) as string) as {
        points: readonly DrawnPoint[]
      }
      return { from, to, path: curve(points) }
    }),
    width,
    height,
  }
}

/** Through the middles between the points, so that it has no corners. */
function curve(points: readonly DrawnPoint[]): string {
  const [first, ...rest] = points
  const last = rest.at(-1)
  if (first === undefined || last === undefined) return ''
  const parts = [`M${at(first)}`]
  for (const [i, point] of rest.slice(0, -1).entries()) {
    const next = rest[i + 1] as DrawnPoint
    const end = next === last ? last : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 }
    parts.push(`Q${at(point)} ${at(end)}`)
  }
  if (rest.length === 1) parts.push(`L${at(last)}`)
  return parts.join(' ')
}

function at({ x, y }: DrawnPoint): string {
  return `${Math.round(x)} ${Math.round(y)}`
}
