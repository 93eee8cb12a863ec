/**
 * The tables of a page in Markdown, as rows of cells. Backticks and asterisks are left out.
 */

export interface PageTable {
  /** What stands in bold before it; else the heading above it. */
  readonly caption: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

export function tablesOf(page: string): PageTable[] {
  const tables: PageTable[] = []
  let heading = ''
  let bold: string | null = null
  let rows: string[][] = []
  for (const line of [...page.split('\n'), '']) {
    if (line.startsWith('|')) {
      rows.push(cellsOf(line))
      continue
    }
    if (rows.length > 0) {
      tables.push({ caption: bold ?? heading, head: rows[0] ?? [], rows: rows.slice(2) })
      rows = []
      bold = null
    }
    heading = /^#+ (.+)$/.exec(line)?.[1] ?? heading
    bold = /^\*\*([^*]+)\*\*/.exec(line)?.[1] ?? (line === '' ? bold : null)
  }
  return tables
}

/** The one with this caption, or these first cells in its head. */
export function tableOf(page: string, caption: string, ...head: readonly string[]): PageTable {
  const found = tablesOf(page).filter(
    (table) => table.caption === caption && head.every((cell, i) => table.head[i] === cell),
  )
  const [table] = found
  if (table === undefined || found.length > 1) {
    throw new RangeError(`The page has ${found.length} tables '${caption}' (${head.join(', ')}).`)
  }
  return table
}

function cellsOf(line: string): string[] {
  return line
    .slice(1, line.lastIndexOf('|'))
    .split(/(?<!\\)\|/)
    .map((cell) => cell.replaceAll(/[`*]/g, '').replaceAll('\\|', '|').trim())
}
