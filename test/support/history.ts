/** The items of a history that have an entry, without those that only time made. */
import type { HistoryItem, RecordedItem } from '../../src/index.ts'

export function recorded(history: readonly HistoryItem[]): RecordedItem[] {
  return history.filter((item) => item.type !== 'TimePassed')
}
