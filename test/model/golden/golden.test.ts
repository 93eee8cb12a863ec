/**
 * Every trace in this folder, told again: the text must come out as it stands. After a change
 * that is meant, `UPDATE_GOLDEN=1 npx vitest run test/model/golden` writes the traces anew, and the
 * difference is read like any other.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { replay, RULES } from '../../../src/kernel/index.ts'
import { tell, titleOf } from './trace.ts'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))
const UPDATE = process.env['UPDATE_GOLDEN'] === '1'

const traces = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.txt'))
  .toSorted()
  .map((file) => ({ file, text: readFileSync(`${FOLDER}${file}`, 'utf8') }))

describe.each(traces)('$file', ({ file, text }) => {
  it(titleOf(text), () => {
    const told = tell(text).text
    if (UPDATE) writeFileSync(`${FOLDER}${file}`, told)
    else expect(told, 'if this is meant, run again with UPDATE_GOLDEN=1').toBe(text)
  })

  it('is folded from its log to the same state', () => {
    const { authority } = tell(text)
    expect(replay(authority.log)).toEqual(authority.world)
  })

  it('gives the same answers and the same log when every command is sent twice', () => {
    const once = tell(text)
    const twice = tell(text, {
      times: 2,
      onRepeat: (line, first, again) => {
        expect(again, line).toEqual({ ...first, entry: null })
      },
    })
    expect(twice.authority.log).toEqual(once.authority.log)
  })
})

describe('the traces together', () => {
  it('each open with the rule that they show', () => {
    const untitled = traces.filter(({ text }) => titleOf(text) === '').map(({ file }) => file)
    expect(untitled).toEqual([])
  })

  it('write an entry for every command that there is', () => {
    const entries = traces.flatMap(({ text }) => tell(text).authority.log)
    const written = new Set(entries.map(({ type }) => type))
    // One entry for each command but AnswerCall, which sends a message, MessageKept for a message before
    // its stage, and ReportRefused, which nobody asks for.
    expect(written.size).toBe(Object.keys(RULES.table).length + 1)
  })
})
