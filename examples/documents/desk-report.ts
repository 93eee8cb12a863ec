/**
 * What became of the refunds: the ledger beside the log.
 */
import { existsSync, readFileSync } from 'node:fs'
import type { HistoryItem, JobListItem, Pawl } from '../../src/index.ts'
import { open } from '../../src/index.ts'
import { PEOPLE, refund } from './desk.ts'

interface Transfer {
  readonly id: string
  readonly cents: number
  readonly key: string
}

export interface DeskReport {
  readonly lines: readonly string[]
  readonly holds: boolean
}

/** What is found, summed over all refunds. */
class Findings {
  all = 0
  paid = 0
  notPaid = 0
  open = 0
  paidTwice = 0
  /** Answers of the desk's own people, and of others. */
  own = 0
  others = 0
  readonly problems: string[] = []
}

const PAGE = 1_000

/** `ledger`: its file; of a desk that paid nothing there is none. */
export async function deskReport(log: string, ledger: string): Promise<DeskReport> {
  const transfers = transfersIn(ledger)
  const found = new Findings()
  const pawl = await open(log)
  for (let after: number | null = 0; after !== null;) {
    const page = await pawl.list({ type: refund.name, after, limit: PAGE })
    for (const one of page.jobs) await examine(pawl, one, transfers.get(one.id) ?? [], found)
    after = page.next
  }
  await pawl.close()
  const { all, paid, notPaid, open: undecided, paidTwice, own, others, problems } = found
  return {
    lines: [
      `refunds: ${all}; ${paid} paid, ${notPaid} not paid, ${undecided} not decided yet; paid twice: ${paidTwice}`,
      `answers: ${own} of the desk's own people, ${others} of others`,
      ...problems.map((one) => `PROBLEM: ${one}`),
    ],
    holds: problems.length === 0,
  }
}

async function examine(
  pawl: Pawl,
  { id, state }: JobListItem,
  transfers: readonly Transfer[],
  found: Findings,
): Promise<void> {
  found.all += 1
  const answers = (await pawl.history(id)).filter(({ type }) => type === 'MessageSent')
  found.own += answers.filter(isOwn).length
  found.others += answers.filter((one) => !isOwn(one)).length
  // One that was cut off and done again has two lines with the same key.
  const keys = new Set(transfers.map(({ key }) => key))
  if (keys.size > 1) found.paidTwice += 1
  if (state !== 'SUCCEEDED') {
    found.open += 1
    if (keys.size > 1) found.problems.push(`${id} was paid ${keys.size} times`)
    return
  }
  const { paid } = await pawl.handle(id, refund).result({ timeout: '1s' })
  if (paid === 0) found.notPaid += 1
  else found.paid += 1
  const isRight = keys.size === (paid === 0 ? 0 : 1) && transfers.every((one) => one.cents === paid)
  if (isRight) return
  found.problems.push(`${id}: ${paid} cents in the log, ${JSON.stringify(transfers)} in the ledger`)
}

function isOwn({ by }: HistoryItem): boolean {
  return (PEOPLE as readonly string[]).includes(by)
}

/** By the refund. */
function transfersIn(ledger: string): ReadonlyMap<string, readonly Transfer[]> {
  const text = existsSync(ledger) ? readFileSync(ledger, 'utf8') : ''
  const found = new Map<string, Transfer[]>()
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const transfer = JSON.parse(line) as Transfer
    found.set(transfer.id, [...(found.get(transfer.id) ?? []), transfer])
  }
  return found
}
