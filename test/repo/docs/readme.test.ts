/**
 * The example of the README is a file that compiles and runs.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { plain } from '../../support/specs.ts'
import { ROOT } from '../tidy/tree.ts'
import { send } from './readme-example.ts'

const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>
}

describe('the README', () => {
  it('shows the example that is run here', () => {
    const file = readFileSync(join(ROOT, 'test', 'docs', 'readme-example.ts'), 'utf8')
    const [, ...code] = file.replaceAll('../../../src/kernel/index.ts', 'pawl/kernel').split('\n')
    expect(readme).toContain(`\`\`\`ts\n${code.join('\n')}\`\`\``)
  })

  it('is right that a command may be sent again', () => {
    const command = { type: 'SubmitJob', job: 'a', spec: plain() } as const
    expect(send(command, 1).entry?.type).toBe('JobSubmitted')
    expect(send(command, 2)).toEqual({
      verdict: 'committed',
      entry: null,
      value: 'a',
      rejection: null,
    })
  })

  it('names only scripts that exist', () => {
    const named = [...readme.matchAll(/npm (?:run )?([a-z:]+)/g)].map((match) => match[1] as string)
    expect(named.length).toBeGreaterThan(5)
    expect(named.filter((name) => !(name in manifest.scripts))).toEqual([])
  })
})
