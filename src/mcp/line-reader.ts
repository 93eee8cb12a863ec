/**
 * Lines of a stream, of which none is too long: one that is, is passed over, and told of as null.
 */
import type { Readable } from 'node:stream'

export async function* linesOf(input: Readable, mostBytes: number): AsyncGenerator<string | null> {
  let rest: Buffer[] = []
  let size = 0
  let isTooLong = false
  for await (const chunk of input) {
    let bytes = Buffer.from(chunk as Uint8Array | string)
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10)) {
      const isWhole = !isTooLong && size + end <= mostBytes
      yield isWhole ? Buffer.concat([...rest, bytes.subarray(0, end)]).toString() : null
      rest = []
      size = 0
      isTooLong = false
      bytes = bytes.subarray(end + 1)
    }
    size += bytes.length
    isTooLong ||= size > mostBytes
    rest = isTooLong ? [] : [...rest, bytes]
  }
}
