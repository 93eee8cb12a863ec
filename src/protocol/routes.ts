/**
 * Paths to operations, and back.
 */
import { OPERATIONS } from './catalogue.ts'
import type { Operation } from './operation.ts'

/** What stands at a path: for each method an operation, and what the path says of the input. */
export interface FoundRoute {
  readonly methods: ReadonlyMap<string, Operation>
  readonly parameters: Readonly<Record<string, string>>
}

interface PathNode {
  readonly children: Map<string, PathNode>
  /** A part that is a property of the input. */
  parameter: { readonly name: string; readonly node: PathNode } | null
  readonly methods: Map<string, Operation>
}

function newNode(): PathNode {
  return { children: new Map(), parameter: null, methods: new Map() }
}

const ROOT = newNode()
for (const operation of Object.values(OPERATIONS)) {
  let node = ROOT
  for (const part of operation.path.split('/').slice(1)) {
    const name = /^\{(\w+)\}$/.exec(part)?.[1]
    if (name === undefined) {
      const next = node.children.get(part) ?? newNode()
      node.children.set(part, next)
      node = next
    } else {
      node.parameter ??= { name, node: newNode() }
      node = node.parameter.node
    }
  }
  node.methods.set(operation.method, operation)
}

/** Null: there is nothing at this path. A part that is not well encoded is at none. */
export function findRoute(path: string): FoundRoute | null {
  const parameters: Record<string, string> = {}
  let node = ROOT
  for (const part of path.split('/').slice(1)) {
    const next = node.children.get(part)
    if (next !== undefined) {
      node = next
      continue
    }
    const { parameter } = node
    const value = parameter === null ? null : decoded(part)
    if (parameter === null || value === null || value === '') return null
    parameters[parameter.name] = value
    node = parameter.node
  }
  return node.methods.size === 0 ? null : { methods: node.methods, parameters }
}

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part)
  } catch {
    return null
  }
}

/** The path of a call, and what is left of its input for the query or the body. */
export function pathOf(
  operation: Operation,
  input: Readonly<Record<string, unknown>>,
): { readonly path: string; readonly rest: Readonly<Record<string, unknown>> } {
  const rest = { ...input }
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(rest[name])
    delete rest[name]
    return encodeURIComponent(value)
  })
  return { path, rest }
}
