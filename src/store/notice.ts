/**
 * What a store says without being asked: notices to its owner, and news to the engine.
 */
import type { Torn } from '../log/index.ts'

/** Something happened that the owner may want to know: nothing is lost. */
export type StoreNotice =
  /** Entries that were being written when the process or the machine died were cut off. */
  | { readonly kind: 'torn-tail'; readonly torn: Torn }
  /**
   * The newest entry is this far ahead of the machine's clock: it was wrong once, or is wrong now.
   * The authority's time goes on from there. Delays and leases are as long as ever; what is due at
   * a time of day comes early by as much.
   */
  | { readonly kind: 'clock-behind'; readonly byMs: number }
  /** A checkpoint does not check: an older one, or the log itself, was read instead. */
  | { readonly kind: 'checkpoint-damaged'; readonly position: number; readonly why: string }
  /**
   * The index of a file of finished jobs does not check, and was made again from its records, in
   * memory. The next checkpoint writes what the file holds to another one.
   */
  | { readonly kind: 'finished-index-rebuilt'; readonly file: string }
  /** A job that was to be forgotten cannot be read: it stays. A repair, or a backup, may help. */
  | { readonly kind: 'job-unreadable'; readonly error: Error }
  | { readonly kind: 'checkpoint-made'; readonly position: number }
  /** Old files could not be removed or archived; it is tried again after the next checkpoint. */
  | { readonly kind: 'tidying-failed'; readonly error: Error }
  /**
   * A file in the archive had the name of an old segment and was none, or not all of one, as a copy
   * that was broken off leaves it. It is kept there under another name, and the segment has its own.
   */
  | { readonly kind: 'archive-damaged'; readonly keptIn: string }
  /** The log has everything; the next one is tried later. */
  | { readonly kind: 'checkpoint-failed'; readonly error: Error }
  /**
   * Whether this process lives cannot be told: if it dies, its jobs wait until their leases have run out.
   * Nothing else changes.
   */
  | { readonly kind: 'no-presence'; readonly why: string }
  /** The server of the database cannot be reached. Calls wait for it, for half a minute. */
  | { readonly kind: 'database-away'; readonly why: string }
  /** It can be reached again. */
  | { readonly kind: 'database-back'; readonly awayMs: number }
  /** A pooler stands before the server, and no session stays with this process: what that means. */
  | { readonly kind: 'pooler'; readonly why: string }

/**
 * What other processes may have done to the same store, or what time did. It says no more than that
 * it is worth to look.
 *
 * - `work`: there may be something to claim.
 * - `ends`: jobs may be over, or wait for an operator.
 * - `interrupts`: leases were revoked.
 * - `upkeep`: there may be something for upkeep to do.
 * - `schedules`: schedules were set, changed or removed.
 */
export const NEWS_KINDS = ['work', 'ends', 'interrupts', 'upkeep', 'schedules'] as const

export type NewsKind = (typeof NEWS_KINDS)[number]

export type News = ReadonlySet<NewsKind>

/** For a listener that may have missed any. */
export const ALL_NEWS: News = new Set(NEWS_KINDS)
