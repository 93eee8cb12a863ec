/**
 * Where the page is: a view and what it is asked for, in the fragment of the address. So it can be kept and sent to others,
 * the button for going back works, and no server needs to know of it.
 */
import { signal } from '@preact/signals'

export type RouteParameters = Readonly<Record<string, string>>

export interface Route {
  readonly view: string
  readonly parameters: RouteParameters
}

export const route = signal<Route>(routeIn(location.hash))

addEventListener('hashchange', () => {
  route.value = routeIn(location.hash)
})

export function routeIn(hash: string): Route {
  const [view = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  return { view, parameters: Object.fromEntries(new URLSearchParams(query)) }
}

/** What is empty is left out. */
export function linkTo(view: string, parameters: Readonly<Record<string, string | null>> = {}) {
  const said = Object.entries(parameters).filter(
    (one): one is [string, string] => one[1] !== null && one[1] !== '',
  )
  const query = new URLSearchParams(said).toString()
  return `#/${view}${query === '' ? '' : `?${query}`}`
}

export function goTo(view: string, parameters: Readonly<Record<string, string | null>> = {}): void {
  location.hash = linkTo(view, parameters)
}
