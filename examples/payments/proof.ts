/**
 * The proof: the bank's ledger beside the log, order by order.
 */
import { readFile } from 'node:fs/promises'
import { open } from '../../src/index.ts'
import { verifyDirectory } from '../../src/store/index.ts'
import type { ChargeRequest } from './bank-client.ts'
import type { Places } from './campaign.ts'
import type { Options } from './options.ts'
import type { Tally } from './tally.ts'

export interface Proof {
  readonly lines: readonly string[]
  readonly holds: boolean
}

interface Ordered {
  readonly orders: number
  readonly finished: number
  readonly attempts: number
  /** Orders whose effect is not finished under the key that the bank has, and no other. */
  readonly strayKeys: number
}

const PAGE = 1_000
const SHOWN = 5

export async function proofOf(options: Options, places: Places, tally: Tally): Promise<Proof> {
  const charges = await chargesIn(places.ledger)
  const ordered = await ordersIn(places.log, charges)
  const { entries, checkpoints, problems } = await verifyDirectory(places.log)
  const double = [...charges].filter(([, made]) => made.length > 1)
  const made = [...charges.values()].reduce((sum, { length }) => sum + length, 0)
  const lost = options.orders - charges.size
  const holds =
    ordered.orders === options.orders &&
    ordered.finished === options.orders &&
    ordered.strayKeys === 0 &&
    lost === 0 &&
    problems.length === 0 &&
    (options.mode === 'without-boundary' ? double.length > 0 : double.length === 0)
  const lines = [
    `orders: ${ordered.orders} submitted, ${ordered.finished} finished`,
    `charges: ${made} at the bank, for ${charges.size} orders`,
    `lost: ${lost}`,
    `charged twice or more: ${double.length}${named(double)}`,
    `kills: ${kills(tally)}`,
    `attempts: ${ordered.attempts} for ${ordered.orders} orders; ${tally.expiries} leases ran out, ${tally.revocations} taken back at once`,
    ...effectLines(options, tally),
    `verified: ${entries} entries, ${checkpoints} checkpoints, ${problems.length} problems`,
    verdict(options, holds),
  ]
  return { lines, holds }
}

function named(double: readonly (readonly [string, readonly ChargeRequest[]])[]): string {
  if (double.length === 0) return ''
  const shown = double.slice(0, SHOWN).map(([order, { length }]) => `${order} ${length} times`)
  return ` (${shown.join(', ')}${double.length > SHOWN ? ', …' : ''})`
}

function kills({ kills: all, engineKills, childKills, killsAfterCharge }: Tally): string {
  return `${all} by SIGKILL, ${killsAfterCharge} of them right after a charge (${engineKills} of the engine, ${childKills} of its children)`
}

function effectLines({ mode }: Options, tally: Tally): string[] {
  if (mode === 'without-boundary') return []
  const how =
    mode === 'recognised'
      ? `the bank recognised ${tally.recognised} of them`
      : `${tally.reconciled} were settled by asking the bank`
  return [`effects run again under the same key: ${tally.effectsAgain}; ${how}`]
}

function verdict({ mode }: Options, holds: boolean): string {
  if (!holds) return 'IT DOES NOT HOLD: see the lines above.'
  if (mode === 'without-boundary') {
    return 'Without the boundary orders are charged twice. Run it without --without-boundary.'
  }
  return 'It holds: every order was charged exactly once.'
}

/** By order. */
async function chargesIn(ledger: string): Promise<ReadonlyMap<string, ChargeRequest[]>> {
  const charges = new Map<string, ChargeRequest[]>()
  for (const line of (await readFile(ledger, 'utf8')).split('\n')) {
    if (line === '') continue
    const charge = JSON.parse(line) as ChargeRequest
    charges.set(charge.order, [...(charges.get(charge.order) ?? []), charge])
  }
  return charges
}

async function ordersIn(
  folder: string,
  charges: ReadonlyMap<string, readonly ChargeRequest[]>,
): Promise<Ordered> {
  const pawl = await open(folder)
  let [orders, finished, attempts, strayKeys] = [0, 0, 0, 0]
  let after: number | null = 0
  while (after !== null) {
    const page = await pawl.list({ after, limit: PAGE })
    for (const { id } of page.jobs) {
      const info = await pawl.get(id)
      const keys = info?.effects.map(({ key, state }) => (state === 'FINISHED' ? key : null)) ?? []
      const charged = charges.get(info?.key ?? '') ?? []
      orders += 1
      attempts += info?.attempt ?? 0
      if (info?.state === 'SUCCEEDED') finished += 1
      if (keys.some((key) => !charged.some((one) => one.key === key))) strayKeys += 1
    }
    after = page.next
  }
  await pawl.close()
  return { orders, finished, attempts, strayKeys }
}
