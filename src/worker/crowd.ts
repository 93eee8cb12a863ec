/**
 * Those who come and go all the time, such as attempts and their leases.
 *
 * A `Set` makes itself a new table after some dozen of them, and an old table keeps whom it had
 * until memory is cleaned up as a whole: attempts that were over long ago were copied about with
 * those that run. Here is one list for good, and each member knows its place in it.
 */
export interface Member {
  /** In its crowd; `NOWHERE`: it is in none. */
  place: number
}

export const NOWHERE = -1

export class Crowd<T extends Member> {
  readonly #members: T[] = []

  get size(): number {
    return this.#members.length
  }

  /** Those who are in it now, in no order: it may change while they are looked at. */
  get members(): readonly T[] {
    return [...this.#members]
  }

  has(member: T): boolean {
    return member.place !== NOWHERE
  }

  add(member: T): void {
    if (this.has(member)) return
    member.place = this.#members.length
    this.#members.push(member)
  }

  delete(member: T): void {
    if (!this.has(member)) return
    const last = this.#members.pop() as T
    if (last !== member) {
      this.#members[member.place] = last
      last.place = member.place
    }
    member.place = NOWHERE
  }
}
