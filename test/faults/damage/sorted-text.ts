/** One text for everything that is equal: keys sorted, so that texts can be compared. */

export function sortedText(value: unknown): string {
  if (value === undefined) return 'null'
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(sortedText).join(',')}]`
  const record = value as Readonly<Record<string, unknown>>
  const keys = Object.keys(record).toSorted()
  return `{${keys.map((key) => `"${key}":${sortedText(record[key])}`).join(',')}}`
}
