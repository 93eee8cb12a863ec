import { describe, expect, it } from 'vitest'
import type { Command } from '../../kernel/index.ts'
import { ForgetPace } from './forget-pace.ts'

function commands(type: Command['type'], count: number): Command[] {
  return Array.from({ length: count }, (_, i) => ({ type, job: `${i}` }) as Command)
}

describe('forgetting', () => {
  it('does not rest while nothing else happens', () => {
    const pace = new ForgetPace()
    expect(pace.restMs(0)).toBe(0)
    pace.forgot(500, 100, 1_000)
    pace.noteCommands(commands('ForgetJob', 500))
    expect(pace.restMs(1_000)).toBe(0)
  })

  it('rests four times as long as a batch took, beside commands and beside news', () => {
    for (const other of ['commands', 'news']) {
      const pace = new ForgetPace()
      pace.forgot(500, 100, 1_000)
      if (other === 'news') pace.noteNews()
      else pace.noteCommands(commands('SubmitJob', 1))
      expect(pace.restMs(1_000)).toBe(400)
      expect(pace.restMs(1_399)).toBe(1)
      expect(pace.restMs(1_400)).toBe(0)
    }
  })

  it('keeps up with jobs that end: it rests no longer than until as many have', () => {
    const pace = new ForgetPace()
    pace.forgot(500, 100, 1_000)
    pace.noteCommands(commands('CommitExecution', 499))
    expect(pace.restMs(1_001)).toBe(399)
    pace.noteCommands(commands('CommitExecution', 1))
    expect(pace.restMs(1_001)).toBe(0)
  })
})
