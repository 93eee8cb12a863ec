/**
 * The parts of a page that are generated: between `<!-- generated: name -->` and `<!-- end -->`.
 */

const BLOCK = /<!-- generated: ([a-z-]+) -->\n[\s\S]*?<!-- end -->/g

/** The page with every generated part written anew. */
export function rewrite(page: string, parts: Readonly<Record<string, string>>): string {
  return page.replaceAll(BLOCK, (_block, name: string) => {
    const part = parts[name]
    if (part === undefined) {
      throw new RangeError(`No generated part is named '${name}'; see test/repo/docs/generate.ts.`)
    }
    return `<!-- generated: ${name} -->\n\n${part}\n\n<!-- end -->`
  })
}

export function blockNames(page: string): string[] {
  return [...page.matchAll(BLOCK)].map((match) => match[1] as string)
}

/** A table in Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [row(head), `|${head.map(() => '---|').join('')}`, ...rows.map(row)].join('\n')
}

/** A bar inside a cell is escaped, so that it does not end the cell. */
function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
}

export function mono(name: string): string {
  return `\`${name}\``
}
