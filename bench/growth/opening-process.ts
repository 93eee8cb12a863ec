/**
 * Opens stores in a process that did nothing before, and prints what an opening cost, in microseconds of CPU of this
 * process.
 */
import type { OpeningOrder } from './opening-order.ts'
import type { StoreLocation } from './place.ts'
import { openAt } from './place.ts'

const { warm, store, times } = JSON.parse(process.argv[2] ?? '') as OpeningOrder
for (const one of warm) await openingUs(one)
let us = 0
for (let i = 0; i < times; i++) us += await openingUs(store)
console.log(us / times)

async function openingUs(location: StoreLocation): Promise<number> {
  globalThis.gc?.()
  const before = process.cpuUsage()
  const pawl = await openAt(location, {})
  const { user, system } = process.cpuUsage(before)
  await pawl.close()
  return user + system
}
