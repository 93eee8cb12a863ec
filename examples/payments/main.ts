/**
 * Payments: the commit boundary, shown. Orders are charged at a bank while the process that
 * charges them is killed again and again. In the end every order was charged once.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Campaign, placesIn, Stopped } from './campaign.ts'
import type { Options } from './options.ts'
import { BadOption, HELP, optionsFrom } from './options.ts'
import { proofOf } from './proof.ts'
import { Tally } from './tally.ts'
import { View } from './view.ts'

const TITLES = {
  recognised: 'prepare, commit, then charge under a key that the bank recognises',
  reconciled: 'prepare, commit, then charge; the bank is asked before a charge is repeated',
  'without-boundary': 'WITHOUT the boundary: the handler charges, then returns',
}

async function run(options: Options): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-payments-'))
  console.log(`${TITLES[options.mode]}; seed ${options.seed}\n`)
  const places = placesIn(folder)
  const tally = new Tally()
  const view = new View(options, tally, process.stdout)
  const campaign = new Campaign(options, places, tally, (event) => view.event(event))
  process.once('SIGINT', () => campaign.stop())
  try {
    await campaign.run()
    view.close()
    const { lines, holds } = await proofOf(options, places, tally)
    console.log(lines.join('\n'))
    return holds
  } finally {
    view.close()
    if (options.keep) console.log(`kept: ${folder}`)
    else await rm(folder, { recursive: true, force: true })
  }
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
