/**
 * A guard against getting slower: npm run bench -- quick
 *
 * The files as they are against the commit in `bench/baseline.txt`, by turns, with few jobs. It fails
 * if something costs more than a fifth more, in every round. Only what repeats is judged: time on a
 * core, round trips, bytes and syncs.
 */
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Workload } from './compare.ts'
import { Comparison, STORES } from './compare.ts'
import { buildCommit, buildFiles } from './compare/build.ts'
import { slowerThan } from './compare/figures.ts'
import { Scratch } from './log/scratch.ts'
import { AimMissed, readArguments } from './options.ts'

const MOST = 1.2
const ROUNDS = 3
/** Enough that most of the code is compiled, and a minute a store. */
const SHARE = 0.25
const WORKLOADS: readonly Workload[] = ['startup', 'bulk', 'drain', 'singles', 'cycle']

const HELP = [
  '',
  'usage: npm run bench -- quick [options]',
  '',
  `  --stores <names>   of ${STORES.join(', ')} (default: all)`,
  `  --rounds <count>   each with both builds (default ${ROUNDS})`,
  '',
  'Compares the files as they are with the commit in bench/baseline.txt, and fails if something costs',
  `more than ${MOST} times as much, and more in every round. To accept a cost, or to keep a gain, write`,
  'the new commit into that file.',
]

export async function* benchQuick(
  say: (line: string) => void,
  args: readonly string[],
): AsyncGenerator<string> {
  const options = readArguments(args, {
    stores: { type: 'string', multiple: true },
    rounds: { type: 'string' },
  })
  if (options.help) {
    yield* HELP
    return
  }
  const stores = options.among('stores', STORES)
  const rounds = options.count('rounds', ROUNDS)
  const root = process.cwd()
  const baseline = readFileSync(join(root, 'bench', 'baseline.txt'), 'utf8').trim()
  const scratch = new Scratch(tmpdir())
  try {
    say('building both …')
    const a = buildCommit(root, baseline, scratch.fresh('a'))
    const b = buildFiles(root, scratch.fresh('b'))
    yield `A: ${a.name}, B: ${b.name}; rounds: ${rounds}, by turns`
    const comparison = new Comparison(a, b, SHARE, say)
    for (const store of stores) await comparison.run(store, WORKLOADS, rounds, scratch)
    yield* comparison.lines()
    const slower = slowerThan(comparison.cells, MOST)
    if (slower.length > 0) throw new AimMissed(`Slower than ${MOST} times:\n${slower.join('\n')}`)
    if (comparison.leftOut.length > 0) throw new AimMissed('Not everything could be compared.')
    yield `Nothing costs more than ${MOST} times what it did.`
  } finally {
    scratch.close()
  }
}
