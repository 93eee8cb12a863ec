/**
 * What a new user writes on the first day: a first job, and the first mistakes. As text, since
 * it is compiled where the package is installed.
 */

export const FIRST_JOB = `import { job, open, typed } from 'pawl'

const greet = job('greet', {
  input: typed<{ name: string }>(),
  async run({ input, step }) {
    const greeting = await step('look-up', () => 'Hello')
    return { text: \`\${greeting}, \${input.name}!\` }
  },
})

const pawl = await open('./data')
pawl.work([greet])
const handle = await pawl.submit(greet, { name: 'Ada' }, { key: 'first' })
const { text } = await handle.result()
console.log(text.toUpperCase())
await pawl.close()
`

/** The line after each mark is a mistake. */
export const MARK = '// @ts-expect-error'

export const MISTAKES = `import { effect, job, open, typed } from 'pawl'

const receipt = effect('receipt', { input: typed<{ to: string }>(), run: () => undefined })
const other = effect('other', { run: () => undefined })

const greet = job('greet', {
  input: typed<{ name: string }>(),
  effects: [receipt],
  run({ input, commit }) {
    ${MARK} -- no such part of the input
    const missing = input.nane
    ${MARK} -- the effect's input is of another type
    const promise = receipt({ to: 42 })
    ${MARK} -- an effect that is not listed
    if (missing) return commit({ length: 0 }, [other()])
    return commit({ length: input.name.length }, [promise])
  },
})

${MARK} -- no duration
job('slow', { lease: '30 seconds', run: () => undefined })
${MARK} -- no such option
job('slow', { leese: '30s', run: () => undefined })
${MARK} -- nothing to run
job('empty', {})

const pawl = await open('memory:')
${MARK} -- no input
await pawl.submit(greet)
${MARK} -- a part of the input is of another type
const handle = await pawl.submit(greet, { name: 42 })
${MARK} -- the result has no such part
console.log((await handle.result()).size)
${MARK} -- no such state
await pawl.list({ state: 'DONE' })
await pawl.close()
`

/** Where the mistakes are, in lines from 1, once the marks are left out. */
export function mistakenLines(text: string): number[] {
  const lines: number[] = []
  let line = 1
  for (const one of text.split('\n')) {
    if (one.trimStart().startsWith(MARK)) lines.push(line)
    else line += 1
  }
  return lines
}

export function withoutMarks(text: string): string {
  const lines = text.split('\n').filter((line) => !line.trimStart().startsWith(MARK))
  return lines.join('\n')
}
