/**
 * Runs a benchmark: npm run bench -- <name>
 *
 * Results go to standard output, progress to standard error.
 */
import { cpus } from 'node:os'
import { benchKernel } from './kernel.ts'

type Bench = (say: (line: string) => void) => string[]

const BENCHES: Readonly<Record<string, { readonly what: string; readonly run: Bench }>> = {
  kernel: {
    what: 'full lives in memory at 1,000 to 1,000,000 waiting tasks, and each decision alone',
    run: benchKernel,
  },
}

function help(): string {
  const names = Object.entries(BENCHES).map(([name, { what }]) => `  ${name.padEnd(10)} ${what}`)
  return ['usage: npm run bench -- <name>', '', 'benches:', ...names].join('\n')
}

function main(args: readonly string[]): number {
  const [name] = args
  if (name === undefined || name === '--help' || name === '-h') {
    console.log(help())
    return name === undefined ? 2 : 0
  }
  const bench = Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined
  if (bench === undefined) {
    console.error(`There is no bench '${name}'; there are: ${Object.keys(BENCHES).join(', ')}.`)
    return 2
  }
  const cores = cpus()
  console.log(
    `node ${process.version}, ${cores.length} cores (${cores[0]?.model ?? 'unknown'}), one used`,
  )
  for (const line of bench.run((said) => console.error(said))) console.log(line)
  return 0
}

process.exitCode = main(process.argv.slice(2))
