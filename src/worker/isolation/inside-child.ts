/**
 * Whether this code runs in a child of a worker. A module that exports definitions and also
 * starts a worker would start children that start children, without end.
 */
const CHILD = Symbol.for('pawl.child')

const here = globalThis as { [CHILD]?: boolean }

export function markAsChild(): void {
  here[CHILD] = true
}

export function isInsideChild(): boolean {
  return here[CHILD] === true
}
