/**
 * What the process of the engine is told, and what it says.
 */
import type { StoreAddress } from './stores.ts'

/** Its argument, as JSON. */
export type MachineOrder = StoreAddress

export type LoadName = 'drain' | 'cycles'

export type ToMachine =
  | { readonly do: 'load'; readonly jobs: number }
  | { readonly do: 'serve' }
  /** Takes so many looks, as a server does that notes figures over time. */
  | { readonly do: 'look'; readonly count: number }
  | { readonly do: 'work'; readonly load: LoadName; readonly ms: number }
  | { readonly do: 'rest'; readonly ms: number }
  | { readonly do: 'close' }

export type FromMachine =
  | { readonly is: 'line'; readonly line: string }
  | { readonly is: 'open'; readonly ms: number }
  | { readonly is: 'loaded' }
  | { readonly is: 'served'; readonly url: string }
  /** `cpuUs`: of this process, with all its threads. */
  | { readonly is: 'worked'; readonly jobs: number; readonly ms: number; readonly cpuUs: number }
