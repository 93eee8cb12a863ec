/**
 * Where the page is: a view and what it is asked for, in the fragment of the address. So it can be kept and sent to others,
 * the button for going back works, and no server needs to know of it.
 *
 * A signed link has its token there. It is taken out of the address at once, so that no history, screen or copy of the
 * address has it; what stays there is that the page shows what the link is for.
 */
import { signal } from '@preact/signals'
import { LINK_PREFIX } from '../../protocol/index.ts'
import { keepLinkToken } from './session.ts'

export type RouteParameters = Readonly<Record<string, string>>

export interface Route {
  readonly view: string
  readonly parameters: RouteParameters
}

const LINK_VIEW = 'link'

export const route = signal<Route>(routeOfAddress())

addEventListener('hashchange', () => {
  route.value = routeOfAddress()
})

/** It shows the one thing that a signed link is for, and nothing else. */
export function isLinkPage(): boolean {
  return route.value.view === LINK_VIEW
}

function routeOfAddress(): Route {
  const { hash } = location
  if (hash.startsWith(`#${LINK_PREFIX}.`)) {
    keepLinkToken(hash.slice(1))
    history.replaceState(null, '', linkTo(LINK_VIEW))
  }
  return routeIn(location.hash)
}

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

/** That a call made, and answered with. */
export function goToJob(answer: unknown): void {
  goTo('job', { id: (answer as { job: string }).job })
}

/** As `goTo`, but in place of the address that is left: the button for going back leads to what was before that. */
export function goInstead(view: string, parameters: Readonly<Record<string, string | null>>): void {
  const hash = linkTo(view, parameters)
  route.value = routeIn(hash)
  history.replaceState(null, '', hash)
}

export function goTo(view: string, parameters: Readonly<Record<string, string | null>> = {}): void {
  location.hash = linkTo(view, parameters)
}
