/**
 * How the shop talks to the bank.
 */

export interface ChargeRequest {
  readonly order: string
  readonly cents: number
  /** The effect's key; null: none is given. */
  readonly key: string | null
  /** The process that charges. */
  readonly by: number
}

const address = process.env['BANK'] ?? ''

export async function chargeAtBank(order: string, cents: number, key: string | null) {
  const charge: ChargeRequest = { order, cents, key, by: process.pid }
  const { status } = await fetch(address, { method: 'POST', body: JSON.stringify(charge) })
  if (status !== 200) throw new Error(`The bank answered ${status} to ${order}.`)
}

/** Whether the bank has a charge under this key. */
export async function hasCharge(key: string): Promise<boolean> {
  const { status } = await fetch(`${address}/${encodeURIComponent(key)}`)
  return status === 200
}
