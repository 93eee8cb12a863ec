/**
 * `npm run explore`: tries every way to break the kernel in small worlds.
 */
import { parseArgs } from 'node:util'
import { HEADINGS, missGuard, row, safetyGuards, violationText } from './report.ts'
import type { Scope } from './scope.ts'
import { findScope, SCOPES } from './scope.ts'
import { explore } from './search.ts'

const HELP = `Explores the kernel: every interleaving of every command in a small world, breadth first.
Every invariant is checked on every step; a violation is printed as the shortest trace.

  npm run explore                        every world; 'large' as far as --states allows
  npm run explore -- --scope whole       one world
  npm run explore -- --scope small       the quick ones
  npm run explore -- --without GUARD     leave a guard out and print how that breaks an invariant
  npm run explore -- --without all       the same for every safety guard, one after the other
  npm run explore -- --list              the worlds and the guards

  --states N    stop a world after N distinct states (default 5,000,000)
  --help        this text

Exit code: 0 as expected, 1 a violation with all guards in (or none without one), 2 wrong usage.`

const SMALL = new Set([
  'plain',
  'reconcile',
  'pipeline',
  'tolerant',
  'finishing',
  'schedule',
  'clock',
])

function main(): number {
  const { values } = parseArgs({
    options: {
      scope: { type: 'string' },
      without: { type: 'string' },
      states: { type: 'string', default: '5000000' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return say(HELP)
  if (values.list) return list()
  const states = Number(values.states)
  if (!Number.isSafeInteger(states) || states < 1) {
    throw new RangeError(`--states must be a whole number of 1 or more, not '${values.states}'.`)
  }
  const scopes = chosen(values.scope)
  if (values.without !== undefined) return withoutGuards(values.without, scopes)
  const broken = exploreAll(scopes, states)
  if (values.scope === 'small' && broken === 0) demonstrate()
  return broken
}

function say(text: string): number {
  console.log(text)
  return 0
}

function list(): number {
  console.log('Worlds:')
  for (const { name, about } of SCOPES) console.log(`  ${name.padEnd(12)} ${about}`)
  console.log('\nSafety guards (for --without):')
  for (const { id, holds } of safetyGuards()) console.log(`  ${id.padEnd(34)} ${holds}`)
  return 0
}

function chosen(name: string | undefined): readonly Scope[] {
  if (name === undefined) return SCOPES
  return name === 'small' ? SCOPES.filter((scope) => SMALL.has(scope.name)) : [findScope(name)]
}

function exploreAll(scopes: readonly Scope[], states: number): number {
  console.log(HEADINGS)
  let allStates = 0
  let allTransitions = 0
  for (const scope of scopes) {
    const begin = process.hrtime.bigint()
    const result = explore(scope, undefined, { states })
    const seconds = Number(process.hrtime.bigint() - begin) / 1e9
    console.log(row(result, seconds))
    allStates += result.states
    allTransitions += result.transitions
    if (result.violation !== null) {
      console.log(`\nA violation in '${scope.name}', the shortest way there:`)
      for (const line of violationText(result)) console.log(line)
      return 1
    }
  }
  const sum = `${allStates.toLocaleString('en-US')} states, ${allTransitions.toLocaleString('en-US')} transitions`
  console.log(`\n${sum}, 0 violations.`)
  return 0
}

function withoutGuards(id: string, scopes: readonly Scope[]): number {
  const ids = id === 'all' ? safetyGuards().map((guard) => guard.id) : [id]
  let unmissed = 0
  for (const one of ids) {
    const result = missGuard(one, scopes)
    if (result === null) {
      unmissed += 1
      console.log(
        `\nWithout ${one}: no violation found. Nothing needs this guard, or the worlds miss it.`,
      )
      continue
    }
    console.log(`\nWithout ${one} ('${result.scope.name}', ${result.scope.about}):`)
    for (const line of violationText(result)) console.log(line)
  }
  console.log(
    `\n${ids.length - unmissed} of ${ids.length} guards are missed when they are left out.`,
  )
  return unmissed === 0 ? 0 : 1
}

/** What the explorer would say if the kernel were wrong. */
function demonstrate(): void {
  const id = 'CommitExecution.lease-held'
  const result = missGuard(id, [findScope('plain')])
  if (result === null) return
  console.log(`\nTo see that it can find something, the guard ${id} left out:`)
  for (const line of violationText(result)) console.log(line)
  console.log('\nMore: npm run explore -- --help')
}

try {
  process.exitCode = main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  console.error('See npm run explore -- --help')
  process.exitCode = 2
}
