/**
 * The kernel bench: what a life costs, whether it depends on how much is waiting, and what
 * each decision costs alone. Beside it the least that a life could cost, from the same run.
 */
import { measureDecisions } from './decisions.ts'
import type { Lives } from './lives.ts'
import { measureLives, measureRaw } from './lives.ts'
import { table, whole } from './table.ts'

const SIZES = [1_000, 100_000, 1_000_000]
const WARM_UP_MS = 2_000
const LIVES_MS = 6_000
const RAW_MS = 1_000
const DECISION_MS = 400

export function benchKernel(say: (line: string) => void): string[] {
  say('warming up …')
  measureLives(1_000, WARM_UP_MS)
  const lives = SIZES.map((waiting) => {
    say(`lives at ${whole(waiting)} waiting …`)
    return measureLives(waiting, LIVES_MS)
  })
  const raw = SIZES.map((waiting) => {
    say(`raw limit at ${whole(waiting)} …`)
    return measureRaw(waiting, RAW_MS)
  })
  say('each decision alone …')
  const decisions = measureDecisions(DECISION_MS)
  return [
    '',
    'Full lives: submit, grant with start, commit (decide, apply, ready-index)',
    ...livesTable(lives, raw),
    '',
    ratioLine(lives),
    '',
    'Each decision alone (decide on a ledger of 1,000 jobs, nothing applied)',
    ...table(
      ['decision', 'ns', 'per second'],
      decisions.map(([name, ns]) => [name, whole(ns), whole(1e9 / ns)]),
    ),
  ]
}

function livesTable(lives: readonly Lives[], raw: readonly number[]): string[] {
  const head = [
    'waiting',
    'lives/s',
    'ns/life',
    'cpu ns',
    'best batch ns',
    'all in ns',
    'raw ns',
    'heap bytes/job',
  ]
  const rows = lives.map((one, i) => [
    whole(one.waiting),
    whole(1e9 / one.nsPerLife),
    whole(one.nsPerLife),
    whole(one.cpuNsPerLife),
    whole(one.bestNsPerLife),
    whole(one.nsPerLifeAllIn),
    whole(raw[i] ?? 0),
    whole(one.heapBytesPerJob),
  ])
  return [
    ...table(head, rows),
    'cpu: time of this thread on a core, which other load on the machine blurs less',
    'all in: with making the commands and forgetting the finished jobs, which are not timed',
    'raw: a map entry set, read and deleted and three small objects, the least a life could be',
  ]
}

function ratioLine(lives: readonly Lives[]): string {
  const [small, , large] = lives
  if (small === undefined || large === undefined) return ''
  const wall = (large.nsPerLife / small.nsPerLife).toFixed(2)
  const cpu = (large.cpuNsPerLife / small.cpuNsPerLife).toFixed(2)
  return `A life at ${whole(large.waiting)} waiting costs ${cpu} times one at ${whole(small.waiting)} in cpu time, ${wall} times in wall time (aim: at most 1.50).`
}
