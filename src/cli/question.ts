/**
 * Asks before something that cannot be taken back. Without a terminal there is no answer, so `--yes` must be there.
 */
import { createInterface } from 'node:readline'
import { CommandEnded, WrongUsage } from './failure.ts'

/** Returns if the answer is yes. `more` is worked out only where it is shown. */
export type AskFirst = (what: string, more?: () => Promise<string>) => Promise<void>

export function questionFor(isYes: boolean): AskFirst {
  return async (what, more) => {
    if (isYes) return
    if (!process.stdin.isTTY || !process.stderr.isTTY) {
      throw new WrongUsage(`${what} There is no terminal to ask on: write --yes if that is meant.`)
    }
    const told = more === undefined ? what : `${what} ${await more()}`
    if (await isAgreed(`${told} Go on? [y/N] `)) return
    process.stderr.write('Nothing was done.\n')
    throw new CommandEnded('no')
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
      reject(new CommandEnded('interrupted'))
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
