/**
 * Begins the page.
 */
import { render } from 'preact'
import { Shell } from './shell.tsx'

render(<Shell />, document.querySelector('#page') as HTMLElement)
