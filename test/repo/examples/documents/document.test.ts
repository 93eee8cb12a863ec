/** Which files can be used, and which cannot be read at once. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sealed, textOf } from '../../../../examples/documents/document.ts'
import { readFrom } from '../../../../examples/documents/share.ts'
import { TerminalError } from '../../../../src/index.ts'

const TEXT = 'The naïve pilot counted the ropes.\n'
const FILE = sealed(Buffer.from(TEXT))

function codeOf(name: string, file: Buffer): string {
  try {
    return textOf(name, file)
  } catch (error) {
    return error instanceof TerminalError ? error.code : String(error)
  }
}

describe('a document', () => {
  it('is its text, without the seal', () => {
    expect(textOf('a.txt', FILE)).toBe(TEXT)
  })

  it.each([
    ['of another kind', 'a.bin', FILE, 'Unsupported'],
    ['that is cut short', 'a.txt', FILE.subarray(0, -9), 'CutShort'],
    ['that is empty', 'a.txt', Buffer.alloc(0), 'CutShort'],
    [
      'that was changed',
      'a.txt',
      Buffer.from(FILE.toString().replace('The', 'Tho')),
      'WrongChecksum',
    ],
    ['that is not UTF-8', 'a.txt', sealed(Buffer.from([0x54, 0xff, 0x0a])), 'NotUtf8'],
  ])('%s fails for good', (_, name, file, code) => {
    expect(codeOf(name, file)).toBe(code)
  })
})

it('a document with a marker cannot be read, once', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-share-'))
  const flaky = await mkdtemp(join(tmpdir(), 'pawl-flaky-'))
  const { signal } = new AbortController()
  await writeFile(join(folder, 'a.txt'), FILE)
  await writeFile(join(flaky, 'a.txt'), '')
  await expect(readFrom({ folder, flaky }, 'a.txt', signal)).rejects.toThrow('did not answer')
  expect(await readFrom({ folder, flaky }, 'a.txt', signal)).toEqual(FILE)
  for (const one of [folder, flaky]) await rm(one, { recursive: true })
})
