/**
 * Stores: the interface that every store implements, and the one in memory.
 */
export type { Clock } from './clock.ts'
export { systemClock } from './clock.ts'
export type { ClaimRequest, Elsewhere, Journal } from './ledger.ts'
export { Ledger } from './ledger.ts'
export { DirectoryStore } from './directory.ts'
export type { Opening } from './directory.ts'
export type { Retention } from './ended-jobs.ts'
export { MemoryStore } from './memory.ts'
export type { Notice } from './notice.ts'
export type { DirectoryOptions } from './open-directory.ts'
export { openDirectory } from './open-directory.ts'
export type { ChannelName } from './ready-index.ts'
export { ReadyIndex } from './ready-index.ts'
export type * from './store.ts'
export { BadRequest, StoreClosed } from './store.ts'
