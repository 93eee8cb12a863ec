/** What is drawn fits into the terminal, and what is written elsewhere is plain. */
import type { WriteStream } from 'node:tty'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Display } from '../../../../examples/documents/display.ts'
import { optionsFrom } from '../../../../examples/documents/options.ts'
import type { Options } from '../../../../examples/documents/options.ts'
import { cut, dim, painted } from '../../../../examples/documents/paint.ts'
import { Tally } from '../../../../examples/documents/tally.ts'

// oxlint-disable-next-line no-control-regex -- what a terminal reads
const CONTROLS = /\u001B\[[0-9;?]*[A-Za-z]/g
const OPTIONS = optionsFrom(['--once', '--seed', '1']) as Options

/** A terminal of this size, or a file; what was written to it. */
function output(columns: number | null, rows = 24): { out: WriteStream; written: string[] } {
  const written: string[] = []
  const write = (text: string): void => void written.push(text)
  const out = { isTTY: columns !== null, columns, rows, write, on: () => out, off: () => out }
  return { out: out as unknown as WriteStream, written }
}

function busy(): Tally {
  const tally = new Tally()
  for (const name of ['harbour-1', 'garden-2', 'workshop-3']) {
    const documents = Array.from({ length: 30 }, (_, i) => ({
      name: `${i}-the-extraordinary-thing-with-a-long-name.txt`,
      flaw: null,
      isFlaky: false,
    }))
    tally.expect({ name, documents, isSpoilt: false, folder: '', flaky: '' })
    const told = { type: 'entry', collection: name, lease: 1, next: null, code: null } as const
    const task = { stage: 'analyse', segment: 0 }
    tally.entry({ ...told, position: 1, what: 'StageOpened', task, segments: 30 })
    tally.entry({ ...told, position: 2, what: 'LeaseGranted', task, segments: null })
  }
  return tally
}

beforeEach(() => {
  vi.stubEnv('CI', '')
  vi.stubEnv('TERM', 'xterm')
})
afterEach(() => {
  vi.unstubAllEnvs()
})

describe('a line', () => {
  it('is cut to the width of the terminal, and colours take no column', () => {
    const line = `${dim('abc')}${painted('done', 'def')}`
    expect(cut(line, 4).replaceAll(CONTROLS, '')).toBe('abcd')
    expect(cut(line, 6)).toBe(line)
    expect(cut(line, 80)).toBe(line)
  })
})

describe('the display', () => {
  it.each([
    [80, 24],
    [40, 10],
    [12, 4],
  ])('fits into %i columns and %i rows', (columns, rows) => {
    const { out, written } = output(columns, rows)
    const display = new Display(OPTIONS, busy(), out)
    for (let i = 0; i < 20; i++) display.event(`something that is worth a rather long line ${i}`)
    display.close()
    const frame = written.find((text) => text.includes('\n') && text.length > 2) ?? ''
    const lines = frame.replaceAll(CONTROLS, '').split('\n')
    expect(lines.length).toBeLessThanOrEqual(rows)
    expect(Math.max(...lines.map((line) => line.replace('\r', '').length))).toBe(columns)
  })

  it('gives the cursor back', () => {
    const { out, written } = output(80)
    new Display(OPTIONS, busy(), out).close()
    expect(written[0]).toBe('\u001B[?25l')
    expect(written.at(-1)).toContain('\u001B[?25h')
  })

  it('writes plain lines where there is no terminal', () => {
    const { out, written } = output(null)
    const display = new Display(OPTIONS, busy(), out)
    display.event('KILL 1: the engine')
    display.close()
    expect(written.join('')).not.toContain('\u001B')
    expect(written[0]).toMatch(/^ +0\.\d s {2}KILL 1: the engine\n$/)
    expect(written[1]).toMatch(/^ +0\.\d s {2}documents 0 of 120, reports 0; kills 0/)
  })
})
