/**
 * What went wrong with an attempt, as bytes.
 */
import type { Failure } from '../../kernel/index.ts'
import type { ByteReader, ByteWriter } from './bytes.ts'
import type { Interning } from './interning.ts'

const FAILURE_TERMINAL = 1
const FAILURE_STACK = 2

export function writeFailure(writer: ByteWriter, failure: Failure): void {
  const { type, code, message, stack } = failure
  writer.u8((type === 'TERMINAL' ? FAILURE_TERMINAL : 0) | (stack === null ? 0 : FAILURE_STACK))
  writer.text(code)
  writer.text(message)
  if (stack !== null) writer.text(stack)
}

export function readFailure(reader: ByteReader, interning: Interning): Failure {
  const mask = reader.u8()
  const code = interning.read(reader)
  const message = reader.text()
  const stack = mask & FAILURE_STACK ? reader.text() : null
  return { type: mask & FAILURE_TERMINAL ? 'TERMINAL' : 'RETRYABLE', code, message, stack }
}
