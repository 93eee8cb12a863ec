/**
 * Asks before something that cannot be taken back. Without a terminal nobody can answer, so `--yes` must be there.
 */
import { createInterface } from 'node:readline'
import { Ended, WrongUsage } from './failure.ts'

/** Returns if the answer is yes. */
export type Question = (what: string) => Promise<void>

export function questionFor(isYes: boolean): Question {
  return async (what) => {
    if (isYes) return
    if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) {
      throw new WrongUsage(`${what} There is no terminal to ask on: write --yes if that is meant.`)
    }
    if (await isAgreed(`${what} Go on? [y/N] `)) return
    process.stderr.write('Nothing was done.\n')
    throw new Ended('no')
  }
}

function isAgreed(text: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: process.stdin, output: process.stderr })
    let isAnswered = false
    lines.on('SIGINT', () => {
      isAnswered = true
      lines.close()
      process.stderr.write('\n')
      reject(new Ended('interrupted'))
    })
    lines.on('close', () => {
      if (!isAnswered) resolve(false)
    })
    lines.question(text, (answer) => {
      isAnswered = true
      lines.close()
      resolve(/^\s*y(?:es)?\s*$/i.test(answer))
    })
  })
}
