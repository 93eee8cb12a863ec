/**
 * What a test is told when its jobs do not come to rest.
 */
import { PawlError } from '../kernel/index.ts'

/** A job that is not over, in words. */
export interface OpenJob {
  readonly id: string
  readonly type: string
  readonly state: string
  readonly attempt: number
  /** The worker that holds its lease; null: none. */
  readonly worker: string | null
}

/** Jobs were run, and something did not come to its end. `open` says what. */
export class NotSettled extends PawlError {
  readonly open: readonly OpenJob[]

  constructor(why: string, open: readonly OpenJob[]) {
    const lines = open.map((one) => `\n  - ${lineOf(one)}`)
    super('NotSettled', 'rejected', `${why} Still open:${lines.join('') || ' nothing.'}`, { open })
    this.open = open
  }
}

function lineOf({ id, type, state, attempt, worker }: OpenJob): string {
  const held = worker === null ? '' : `, held by ${worker}`
  return `job ${id} ('${type}'): ${state}, attempt ${attempt}${held}`
}
