/**
 * What a document looks like: UTF-8, and a last line with the SHA-256 of all that stands above it.
 *
 * What is wrong with a file will be wrong with it tomorrow: those errors are terminal.
 */
import { createHash } from 'node:crypto'
import { extname } from 'node:path'
import { TerminalError } from '../../src/index.ts'

export const EXTENSION = '.txt'

const SEAL = /^sha256 ([0-9a-f]{64})\n$/
const SEAL_BYTES = 'sha256 '.length + 64 + '\n'.length

export function sealed(content: Buffer): Buffer {
  return Buffer.concat([content, Buffer.from(`sha256 ${sha256(content)}\n`)])
}

/** The text of a document, if the file is what it should be. */
export function textOf(name: string, file: Buffer): string {
  if (extname(name) !== EXTENSION) {
    throw new TerminalError(`'${name}' is no text document.`, { code: 'Unsupported' })
  }
  const content = file.subarray(0, Math.max(0, file.length - SEAL_BYTES))
  const seal = SEAL.exec(file.subarray(content.length).toString('latin1'))
  if (seal === null) {
    throw new TerminalError(`'${name}' ends before its last line.`, { code: 'CutShort' })
  }
  if (seal[1] !== sha256(content)) {
    throw new TerminalError(`'${name}' is not what was sealed.`, { code: 'WrongChecksum' })
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content)
  } catch (cause) {
    throw new TerminalError(`'${name}' is not UTF-8.`, { code: 'NotUtf8', cause })
  }
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}
