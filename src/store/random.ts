/**
 * The port to randomness: the only file of this room that may draw.
 */
import { randomBytes } from 'node:crypto'

/** 16 bytes as hex: tells the files of one store from those of another. */
export function newStoreId(): string {
  return randomBytes(16).toString('hex')
}

/** Of a process, for as long as it has a store open. */
export function newNotifierName(): string {
  return randomBytes(8).toString('hex')
}

/** Of a store that copies to a folder, where copies of the same store may do so, too. */
export function newCopierName(): string {
  return randomBytes(8).toString('hex')
}

/** Of a process on a store, as its leases name it. `kind`: how it is judged. */
export function newSessionName(kind: 'owner' | 'sqlite' | 'postgres' | 'remote'): string {
  return `${kind}-${randomBytes(8).toString('hex')}`
}

/** Sessions of processes behind a server. */
export const REMOTE_SESSION = /^remote-/

/** From 0 to 1: so that callers that failed together do not come back together. */
export function share(): number {
  return randomBytes(4).readUInt32LE() / 2 ** 32
}
