/**
 * Bars beside each other, as an SVG: what a workload came to on each queue, the best first.
 */
export interface Bar {
  readonly name: string
  readonly value: number
  /** What stands behind the bar. */
  readonly label: string
  readonly isPawl: boolean
}

const WIDTH = 720
const NAME_WIDTH = 170
const LABEL_WIDTH = 110
const ROW = 24
const TOP = 44
const CHARS: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

/** Readable on a light page and on a dark one. */
const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600 }
  .pawl { fill: #0969da }
  .peer { fill: #afb8c1 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .pawl { fill: #58a6ff }
    .peer { fill: #545d68 }
  }`

export function barChart(title: string, bars: readonly Bar[]): string {
  const longest = Math.max(...bars.map(({ value }) => value), 0)
  const room = WIDTH - NAME_WIDTH - LABEL_WIDTH
  const rows = bars.map(({ name, value, label, isPawl }, i) => {
    const y = TOP + i * ROW
    const width = longest > 0 ? Math.max(1, (value / longest) * room) : 1
    return [
      `  <text x="${NAME_WIDTH - 8}" y="${y + 13}" text-anchor="end">${escaped(name)}</text>`,
      `  <rect class="${isPawl ? 'pawl' : 'peer'}" x="${NAME_WIDTH}" y="${y}" width="${width.toFixed(1)}" height="${ROW - 6}" rx="2"/>`,
      `  <text x="${(NAME_WIDTH + width + 6).toFixed(1)}" y="${y + 13}">${escaped(label)}</text>`,
    ].join('\n')
  })
  const height = TOP + bars.length * ROW + 8
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img">`,
    `  <title>${escaped(title)}</title>`,
    `  <style>${STYLE}\n  </style>`,
    `  <text class="title" x="8" y="22">${escaped(title)}</text>`,
    ...rows,
    '</svg>',
    '',
  ].join('\n')
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>]/g, (char) => CHARS[char] as string)
}
