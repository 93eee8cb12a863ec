/**
 * Another order of the same log, with each aggregate's own order kept, and creation before use.
 */
import type { Entry } from '../../../src/kernel/index.ts'
import type { Dice } from './dice.ts'

/** For each entry, which earlier ones must come before it. */
function dependencies(log: readonly Entry[]): number[][] {
  /** The newest entry of each aggregate. */
  const newest = new Map<string, number>()
  /** The newest entry of every task of a job's present life, and of its opened stages. */
  const tasks = new Map<string, Map<string, number>>()
  const plain = new Set<string>()
  return log.map((entry, index) => {
    const aggregate = aggregateOf(entry, plain)
    const before = newest.has(aggregate) ? [newest.get(aggregate) as number] : []
    newest.set(aggregate, index)
    if (!('job' in entry)) return before
    if (entry.type === 'JobSubmitted') {
      tasks.set(entry.job, new Map())
      if (entry.spec.stages === null) plain.add(entry.job)
      else plain.delete(entry.job)
    }
    const own = tasks.get(entry.job) as Map<string, number>
    if (entry.type === 'StageOpened') own.set(`stage ${entry.stage}`, index)
    // It reaches the tasks, too. What is refused of them later changes nothing that it reached.
    if (entry.type === 'JobErased') return [...before, ...own.values()]
    if (entry.type === 'JobForgotten') {
      for (const key of own.keys()) newest.delete(`${entry.job} ${key}`)
      return [...before, ...own.values()]
    }
    if ('segment' in entry && !plain.has(entry.job)) {
      const opened = own.get(`stage ${entry.stage}`)
      own.set(`task ${entry.stage} ${entry.segment}`, index)
      if (opened !== undefined) return [...before, opened]
    }
    return before
  })
}

function aggregateOf(entry: Entry, plain: ReadonlySet<string>): string {
  if ('queue' in entry) return `queue ${entry.queue}`
  if ('schedule' in entry) return `schedule ${entry.schedule}`
  if (!('segment' in entry) || plain.has(entry.job)) return `job ${entry.job}`
  return `${entry.job} task ${entry.stage} ${entry.segment}`
}

export function shuffled(log: readonly Entry[], dice: Dice): Entry[] {
  const before = dependencies(log)
  const after: number[][] = log.map(() => [])
  const missing = before.map((list) => list.length)
  before.forEach((list, index) => list.forEach((one) => after[one]?.push(index)))
  const ready = [...log.keys()].filter((index) => missing[index] === 0)
  const order: Entry[] = []
  while (ready.length > 0) {
    const place = dice.below(ready.length)
    const index = ready[place] as number
    ready[place] = ready.at(-1) as number
    ready.pop()
    order.push(log[index] as Entry)
    for (const next of after[index] as number[]) {
      missing[next] = (missing[next] as number) - 1
      if (missing[next] === 0) ready.push(next)
    }
  }
  return order
}
