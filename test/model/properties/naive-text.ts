/** Whether two values say the same, in the naive model: written out, they are the same text. */

/** The same content, whatever the order of the fields. */
export function sameText(a: unknown, b: unknown): boolean {
  return sorted(a) === sorted(b)
}

function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join()}]`
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value !== 'object' || value === null) return String(value)
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([name, field]) => `${name}:${sorted(field)}`).join()}}`
}
