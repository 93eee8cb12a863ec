/**
 * News: what others may have done to the same store, or what time did.
 *
 * - `work`: there may be something to take.
 * - `ends`: jobs may be over, or wait for a person.
 * - `interrupts`: leases were taken from those who held them.
 * - `upkeep`: there may be something for upkeep to do.
 * - `schedules`: schedules were set, changed or removed.
 *
 * They say no more than that it is worth to look.
 */
export const NEWS_KINDS = ['work', 'ends', 'interrupts', 'upkeep', 'schedules'] as const

export type NewsKind = (typeof NEWS_KINDS)[number]

export type News = ReadonlySet<NewsKind>

/** Nobody knows what was missed. */
export const ALL_NEWS: News = new Set(NEWS_KINDS)
