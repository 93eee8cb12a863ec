/**
 * The rooms of `src/` as a graph: which folder imports which, and where a circle closes.
 *
 * A folder is one node, or two. Files that reach a folder below their own (an index, an opener,
 * a store that is put together from its parts) are its *front*; all others are its base. A
 * sub-folder may use the base of its parent and never its front, so both can stand in one folder
 * without a circle.
 */
import { posix } from 'node:path'
import type { SourceFile } from './rules.ts'
import { importsOf } from './scan.ts'

/** Nodes and where their arrows lead. Imports of types are arrows like any other. */
export type Graph = ReadonlyMap<string, ReadonlySet<string>>

/** What every file imports of the others. */
export function fileGraph(files: readonly SourceFile[]): Graph {
  const paths = new Set(files.map(({ path }) => path))
  return new Map(
    files.map(({ path, text }) => {
      const targets = importsOf(text)
        .filter(({ specifier }) => specifier.startsWith('.'))
        .map(({ specifier }) => posix.join(posix.dirname(path), specifier))
      return [path, new Set(targets.filter((target) => paths.has(target) && target !== path))]
    }),
  )
}

/** The files that reach, by files of their own folder, a folder below it. */
function frontFiles(graph: Graph): Set<string> {
  const front = new Set<string>()
  for (let before = -1; before !== front.size;) {
    before = front.size
    for (const [path, targets] of graph) {
      const folder = posix.dirname(path)
      const reaches = [...targets].some((target) =>
        posix.dirname(target) === folder
          ? front.has(target)
          : posix.dirname(target).startsWith(`${folder}/`),
      )
      if (reaches) front.add(path)
    }
  }
  return front
}

export function folderGraph(files: readonly SourceFile[]): Graph {
  const graph = fileGraph(files)
  const front = frontFiles(graph)
  const nodeOf = (path: string): string =>
    `${posix.dirname(path)}${front.has(path) ? ' (front)' : ''}`
  const folders = new Map<string, Set<string>>()
  for (const [path, targets] of graph) {
    const from = nodeOf(path)
    const known = folders.get(from) ?? new Set()
    folders.set(from, known)
    for (const target of targets) if (nodeOf(target) !== from) known.add(nodeOf(target))
  }
  return folders
}

/** Sets of nodes that all reach each other, by Tarjan's algorithm; each is a circle. */
export function circlesIn(graph: Graph): string[][] {
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const circles: string[][] = []
  const visit = (node: string): void => {
    order.set(node, order.size)
    low.set(node, order.get(node) as number)
    stack.push(node)
    for (const next of graph.get(node) ?? []) {
      if (!order.has(next)) visit(next)
      if (stack.includes(next)) {
        low.set(node, Math.min(low.get(node) as number, low.get(next) as number))
      }
    }
    if (low.get(node) !== order.get(node)) return
    const circle = stack.splice(stack.indexOf(node))
    if (circle.length > 1) circles.push(circle.toSorted())
  }
  for (const node of graph.keys()) if (!order.has(node)) visit(node)
  return circles
}

/** Everything that a file imports, and what those import, and so on. */
export function reachedFrom(graph: Graph, start: string): Set<string> {
  const reached = new Set<string>()
  const open = [start]
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    for (const target of graph.get(path) ?? []) {
      if (reached.has(target)) continue
      reached.add(target)
      open.push(target)
    }
  }
  return reached
}
