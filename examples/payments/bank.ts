/**
 * A bank that counts: a process of its own, so that it survives whatever happens to its
 * customers. Every charge is a line in its ledger, synced BEFORE it is answered.
 *
 * A charge that comes with a key it has seen is recognised, and not made again, unless the
 * bank is one that does not recognise keys. Such a bank can still be asked about a key.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import type { ChargeRequest } from './bank-client.ts'

/** Banks take their time. It leaves room for a customer to die between charge and answer. */
const ANSWER_AFTER_MS = 100

const [, , ledgerFile = 'ledger', keys = 'recognised'] = process.argv
const ledger = openSync(ledgerFile, 'a')
const seen = new Set<string>()

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === 'GET') {
    response.writeHead(seen.has(decodeURIComponent(request.url?.slice(1) ?? '')) ? 200 : 404).end()
    return
  }
  const charge = JSON.parse(await text(request)) as ChargeRequest
  const { key } = charge
  const isRepeat = key !== null && keys === 'recognised' && seen.has(key)
  if (key !== null) seen.add(key)
  if (!isRepeat) {
    writeSync(ledger, `${JSON.stringify(charge)}\n`)
    fdatasyncSync(ledger)
  }
  console.log(JSON.stringify({ ...charge, isRepeat }))
  await wait(ANSWER_AFTER_MS)
  response.writeHead(200).end()
}

const server = createServer((request, response) => void answer(request, response))
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') console.log(JSON.stringify({ port: address?.port }))
})
// It closes when whoever opened it is gone.
process.stdin.resume().on('close', () => {
  closeSync(ledger)
  process.exit()
})
