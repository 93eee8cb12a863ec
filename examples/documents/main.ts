/**
 * Documents: a pipeline over real files, shown while it is being killed. In the end every document
 * was counted once. Until Ctrl-C there is a desk beside it, whose refunds wait for people.
 */
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Campaign, Stopped } from './campaign.ts'
import type { DeskReport } from './desk-report.ts'
import { deskReport } from './desk-report.ts'
import { Display } from './display.ts'
import type { Options } from './options.ts'
import { BadOption, HELP, optionsFrom } from './options.ts'
import { proofOf } from './proof.ts'
import { Tally } from './tally.ts'

const NO_DESK: DeskReport = { lines: [], holds: true }
/** A terminal and npm both pass Ctrl-C on: what comes twice at once was pressed once. */
const SAME_KEY_MS = 500

async function run(options: Options): Promise<boolean> {
  const place = await placeFor(options)
  const log = join(place, 'log')
  console.log(`survey, analyse each document, report; seed ${options.seed}`)
  const port = options.port === null ? null : await freePort(options.port)
  if (port !== null) {
    console.log(
      `see it turn: http://127.0.0.1:${port}/dashboard/ ; its Inbox has questions for you; Ctrl-C ends it, with the proof`,
    )
  }
  console.log()
  const tally = new Tally()
  const display = new Display(options, tally, process.stdout)
  const ledger = join(place, 'ledger.txt')
  const lives = { log, port, ledger }
  const campaign = new Campaign(options, place, lives, tally, (event) => display.event(event))
  heed(campaign, display)
  try {
    await campaign.run()
    display.close()
    const { lines, holds, report } = await proofOf(log, campaign.collections, tally)
    const desk = options.isForever ? await deskReport(log, ledger) : NO_DESK
    console.log([...desk.lines, ...lines].join('\n'))
    if (options.data !== null) console.log(`kept: ${place}\na report: ${report}`)
    return holds && desk.holds
  } finally {
    display.close()
    if (options.data === null) await rm(place, { recursive: true, force: true })
  }
}

/** The one that is wanted, or any: all lives of the engine have the same. */
async function freePort(wanted: number): Promise<number> {
  const server = createServer()
  try {
    server.listen(wanted, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  } catch (error) {
    if (wanted === 0) throw error
    return await freePort(0)
  } finally {
    server.close()
  }
}

async function placeFor({ data }: Options): Promise<string> {
  if (data === null) return mkdtemp(join(tmpdir(), 'pawl-documents-'))
  await mkdir(data, { recursive: true })
  if ((await readdir(data)).length === 0) return resolve(data)
  throw new BadOption(`--data must be an empty folder, or none yet, and '${data}' is not.`)
}

/** The first one lets it come to its end, the next one does not. */
function heed(campaign: Campaign, display: Display): void {
  let first: number | null = null
  process.on('SIGINT', () => {
    if (first === null) {
      first = Date.now()
      display.hint('finishing what has come; Ctrl-C once more: stop at once')
      campaign.finish()
    } else if (Date.now() - first > SAME_KEY_MS) campaign.stop()
  })
  process.on('SIGTERM', () => campaign.stop())
}

async function main(args: readonly string[]): Promise<number> {
  try {
    const options = optionsFrom(args)
    if (options !== null) return (await run(options)) ? 0 : 1
    process.stdout.write(HELP)
    return 0
  } catch (error) {
    console.error((error as Error).message)
    if (error instanceof Stopped) return 130
    return error instanceof BadOption ? 2 : 1
  }
}

process.exitCode = await main(process.argv.slice(2))
