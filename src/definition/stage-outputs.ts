/**
 * What the segments of a stage put out, read page by page: there may be more of it than fits
 * into memory.
 *
 * A segment that failed, and that the stage tolerated, has no output: iterating leaves it out, and
 * the array has undefined in its place.
 */
import type { Payload } from '../kernel/index.ts'
import { fromJson } from './json-value.ts'
import type { MaybeSchema } from './standard-schema.ts'
import { validatedStored } from './standard-schema.ts'

/** The output of one segment; `index` counts the segments of its stage from 0. */
export interface SegmentOutput<Value> {
  readonly index: number
  readonly output: Value
}

/** Some outputs, as they are stored, in order. */
export interface StageOutputsPage {
  readonly outputs: readonly { readonly segment: number; readonly output: Payload }[]
  /** Give it as `after` to go on; null: there is no more. */
  readonly next: number | null
}

/** Reads the outputs of segments behind this one; -1: from the first. */
export type ReadOutputs = (after: number) => Promise<StageOutputsPage>

export class StageOutputs<Value, Element = Value> implements AsyncIterable<SegmentOutput<Value>> {
  /** Segments of the stage, those without an output included. */
  readonly count: number
  readonly #read: ReadOutputs
  readonly #schema: MaybeSchema
  readonly #what: string

  constructor(count: number, read: ReadOutputs, schema: MaybeSchema, what: string) {
    this.count = count
    this.#read = read
    this.#schema = schema
    this.#what = what
  }

  /** In order of their segments. Each time it is read anew. */
  async *[Symbol.asyncIterator](): AsyncGenerator<SegmentOutput<Value>, void, void> {
    for (let after: number | null = -1; after !== null;) {
      const page: StageOutputsPage = await this.#read(after)
      for (const { segment: index, output } of page.outputs) {
        yield { index, output: (await outputFrom(this.#schema, output, this.#what)) as Value }
      }
      after = page.next
    }
  }

  /** All at once, each at the place of its segment. */
  async toArray(): Promise<Element[]> {
    const all = Array.from({ length: this.count }, (): Element => undefined as Element)
    for await (const { index, output } of this) all[index] = output as unknown as Element
    return all
  }
}

/** A stored output, through its schema: a promise only if the schema asks for one. */
export function outputFrom(schema: MaybeSchema, stored: Payload, what: string): unknown {
  return validatedStored(schema, fromJson(stored), what)
}
