/**
 * The log: entries on a disk, in order, checked, and durable before anybody hears of them.
 */
export * from './errors.ts'
export { realDisk } from './real-disk.ts'
export type { Disk, DiskFile } from './port.ts'
export type { LoggedEntry } from './reader.ts'
export { decodeEntry, LogReader } from './reader.ts'
export type { LogFound, Torn } from './tail.ts'
export { readLog, settleTail } from './tail.ts'
export { WAYPOINT_CODE } from './format.ts'
export { Interning } from './interning.ts'
export { createMark } from './mark.ts'
export type { Owner } from './owner.ts'
export { takeOwnership } from './owner.ts'
export type { Segment } from './segments.ts'
export type { Bucket, Waypoint } from './waypoint.ts'
export { LogWriter } from './writer.ts'
