/**
 * What a program that serves prints when it is up: what runs, and where to look.
 */
import type { Styles } from '../styles.ts'

export interface RunningPlaces {
  readonly store: string
  readonly url: string | null
  readonly jobs: readonly string[]
  /** Whether the server has the dashboard. */
  readonly hasPage?: boolean
}

const MOST_NAMED = 12

export function whereToLook(styles: Styles, places: RunningPlaces): string {
  const { store, url, jobs, hasPage = false } = places
  const named = jobs.slice(0, MOST_NAMED).join(', ')
  const more = jobs.length > MOST_NAMED ? ` and ${jobs.length - MOST_NAMED} more` : ''
  const rows: (readonly [name: string, value: string])[] = [['store', store]]
  if (jobs.length > 0) rows.push(['jobs', `${named}${more}`])
  if (url !== null) {
    rows.push(
      ['server', styles.cyan(url)],
      ['look', `pawl top -s ${url}`],
      ['', `pawl list -s ${url}`],
      ...(hasPage ? [['page', `${url}/dashboard/`] as const] : []),
      ['API', `${url}/v1/openapi.json`],
    )
  }
  return rows.map(([name, value]) => `  ${styles.dim(name.padEnd(7))} ${value}`).join('\n')
}
