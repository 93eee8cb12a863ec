/**
 * What a campaign has looked at already.
 *
 * Here a disk is all that a store can see: its clock is turned by the test, and nothing is left to
 * chance. So a disk that looks the same as an earlier one leads to the same. Most do: a call that
 * reads changes nothing, and different faults at the same call leave the same bytes.
 */
import { createHash } from 'node:crypto'
import type { SimDisk } from '../sim/sim-disk.ts'
import type { Opener } from './setting.ts'
import type { Reference, Told } from './story-run.ts'
import { countsOn, mustFit, mustGoOn, mustHold, toldInFull } from './story-run.ts'

export class CheckedDisks {
  readonly #reference: Reference
  readonly #open: Opener
  /** What was found on disks, by how they looked. */
  readonly #counts = new Map<string, ReadonlyMap<string, number>>()
  /** Disks on which a story went on after a telling, by both. */
  readonly #goneOn = new Set<string>()

  constructor(reference: Reference, open: Opener) {
    this.#reference = reference
    this.#open = open
  }

  /** `mustHold` on a disk that nobody uses after this. */
  async mustHold(told: Told, disk: SimDisk): Promise<void> {
    const look = `${disk.fingerprint()} ${JSON.stringify(told.backups)}`
    let counts = this.#counts.get(look)
    counts ??= await countsOn(this.#reference, told, disk, this.#open)
    this.#counts.set(look, counts)
    mustFit(this.#reference, told, counts)
  }

  /** It holds what was told, the story goes on from there, and it holds all then. */
  async mustGoOn(told: Told, disk: SimDisk, isUsedAfter = false): Promise<void> {
    const look = `${disk.fingerprint()} ${fingerprintOf(told)}`
    if (this.#goneOn.has(look) && !isUsedAfter) return
    await mustHold(this.#reference, told, disk, this.#open)
    await mustGoOn(this.#reference, told, disk, this.#open)
    await mustHold(this.#reference, toldInFull(this.#reference), disk, this.#open)
    this.#goneOn.add(look)
  }
}

/** All of it but the errors, of which nothing that comes later depends. */
function fingerprintOf({ answers, reached, backups, begun }: Told): string {
  const text = JSON.stringify([[...answers], reached, backups, begun])
  return createHash('sha1').update(text).digest('base64')
}
