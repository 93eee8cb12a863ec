/**
 * The outside world: what was really done, by whom. Nothing here can be taken back, and nothing
 * here knows of leases or of the log.
 */
export interface Deed {
  readonly what: string
  readonly by: string
  /** The key that the receiver was given, if the deed was a promised effect. */
  readonly key: string | null
}

export class DeedLedger {
  readonly deeds: Deed[] = []

  record(what: string, by: string, key: string | null = null): void {
    this.deeds.push({ what, by, key })
  }

  /** Who charged the card, in order: two names are two charges. */
  get charges(): string[] {
    return this.doneBy('charge')
  }

  doneBy(what: string): string[] {
    return this.deeds.filter((deed) => deed.what === what).map((deed) => deed.by)
  }

  /** The different keys under which something was done: a receiver that looks at keys does it so often. */
  keysOf(what: string): string[] {
    return [...new Set(this.deeds.filter((deed) => deed.what === what).map((one) => `${one.key}`))]
  }
}
