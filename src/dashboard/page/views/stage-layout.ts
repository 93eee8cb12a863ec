/**
 * Where the stages of a pipeline stand in a drawing: each to the right of all that it waits for.
 */

export interface DrawnStage {
  readonly name: string
  readonly after: readonly string[]
}

export interface PlacedStage {
  readonly name: string
  readonly column: number
  readonly row: number
}

export interface StageLayout {
  readonly stages: readonly PlacedStage[]
  readonly columns: number
  readonly rows: number
}

/** In the order in which a pipeline has them, every stage comes after those that it waits for. */
export function stageLayout(stages: readonly DrawnStage[]): StageLayout {
  const columnOf = new Map<string, number>()
  const filled: number[] = []
  const placed = stages.map(({ name, after }) => {
    const column = Math.max(-1, ...after.map((one) => columnOf.get(one) ?? -1)) + 1
    columnOf.set(name, column)
    const row = filled[column] ?? 0
    filled[column] = row + 1
    return { name, column, row }
  })
  return { stages: placed, columns: filled.length, rows: Math.max(0, ...filled) }
}
