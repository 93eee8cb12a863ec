/**
 * Figures, lined up for people.
 */

/** Columns are as wide as their widest cell; the first `texts` are text, the others are figures. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  texts = 1,
): string[] {
  const all = [head, ...rows]
  const widths = head.map((_, i) => Math.max(...all.map((row) => (row[i] ?? '').length)))
  return all.map((row) =>
    row
      .map((cell, i) => (i < texts ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  ')
      .trimEnd(),
  )
}

/** 1234567.8 as 1,234,568. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}
