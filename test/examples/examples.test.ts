/**
 * Every example runs, and says what it is meant to say.
 */
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const run = promisify(execFile)

const EXAMPLES: Readonly<Record<string, { readonly args: readonly string[]; says: RegExp }>> = {
  'pull-the-plug': {
    args: ['2'],
    says: /lost: 0\nverified: \d+ entries, \d+ checkpoints, 0 problems\n$/,
  },
}

describe('the examples', () => {
  it.each(Object.entries(EXAMPLES))('%s', async (name, { args, says }) => {
    const file = `examples/${name}/main.ts`
    const { stdout } = await run(process.execPath, ['--import', 'tsx', file, ...args])
    expect(stdout).toMatch(says)
  })

  it('are all here', () => {
    expect(readdirSync('examples').toSorted()).toEqual(Object.keys(EXAMPLES).toSorted())
  })
})
