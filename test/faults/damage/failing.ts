/**
 * The campaign of failing calls: a story is told while the k-th call to the disk fails, for
 * every k; then the store is opened again, with a failing call or without, and compared with
 * what was answered.
 */
import type { Fault } from '../sim/sim-disk.ts'
import { SimDisk } from '../sim/sim-disk.ts'
import { CheckedDisks } from './checked-disks.ts'
import type { Opener } from './setting.ts'
import { nameOf, ownersLeft, settled } from './setting.ts'
import type { Reference, Told } from './story-run.ts'
import { must, tellOn, toldInFull } from './story-run.ts'

export const SHORT: Fault = { short: true }

export const FAULTS: readonly Fault[] = [
  ...(['EIO', 'ENOSPC', 'EMFILE'] as const).flatMap((code) => [
    { code, forever: false },
    { code, forever: true },
  ]),
  SHORT,
]

/** Which faults, and how often, are tried. */
export interface Plan {
  readonly faults: readonly Fault[]
  /** Whether the second opening fails at this call too. */
  readonly nested: (call: number, second: number) => boolean
  /** How much of what a power loss may leave is looked at in the end; 0: nothing. */
  readonly outcomes: (call: number) => number
  /** After so many problems it is over. */
  readonly most?: number
  /** Every so many-th call fails; 1 unless told. */
  readonly step?: number
}

export interface Tried {
  stories: number
  openings: number
  /** What went wrong, and where; the first few of it. */
  readonly problems: string[]
}

const MOST_PROBLEMS = 10

const ANSWERS =
  /^(?:execute|claim|query|refused|upkeep|backup|checkpoint): (?:UnknownOutcome|StoreEnded|DiskFull)$/

export async function tryFaults(
  reference: Reference,
  open: Opener,
  plan: Plan,
  tried: Tried = { stories: 0, openings: 0, problems: [] },
): Promise<Tried> {
  const owners = ownersLeft()
  const lookedAt = new CheckedDisks(reference, open)
  for (const fault of plan.faults) {
    for (let call = 1; ; call += plan.step ?? 1) {
      const { told, disk, calls } = await failed(reference, open, call, fault)
      if (calls < call) break
      const where = `call ${call} with ${JSON.stringify(fault)}`
      try {
        mustBeSaid(told, fault)
        must(disk.openFiles === 0, `${disk.openFiles} files are still open`)
        must(ownersLeft() === owners, 'the store is still owned')
        await reopened(reference, told, disk, lookedAt, plan.outcomes(call))
        tried.stories += 1
      } catch (error) {
        tried.problems.push(`${where}: ${(error as Error).message}`)
      }
      if (tried.problems.length >= (plan.most ?? MOST_PROBLEMS)) return tried
      await tryAgain(reference, open, plan, { call, fault, lookedAt }, tried)
    }
  }
  return tried
}

async function failed(
  reference: Reference,
  open: Opener,
  call: number,
  fault: Fault,
): Promise<{ told: Told; disk: SimDisk; calls: number }> {
  const disk = new SimDisk({ seed: call })
  disk.failAt(call, fault)
  const told = await tellOn(disk, open, reference.story)
  const { calls } = disk
  disk.heal()
  return { told, disk, calls }
}

/** Nobody hears anything but what the store promises to say. */
function mustBeSaid({ errors }: Told, fault: Fault): void {
  const code = 'code' in fault ? fault.code : null
  must(code !== null || errors.length === 0, `a short write is said: ${errors.join(', ')}`)
  for (const error of errors) {
    const isOurs = ANSWERS.test(error)
    // Who opens, reads back or copies is told by the disk itself, but for one that is full.
    const isTheDisk = ['open', 'query', 'upkeep', 'backup', 'checkpoint'].some(
      (kind) => error === `${kind}: ${code}`,
    )
    const isFull = error === 'open: DiskFull' && code === 'ENOSPC'
    const atTheEnd = error === 'close: UnknownOutcome' || error === 'close: StoreEnded'
    must(isOurs || isTheDisk || isFull || atTheEnd, `'${error}' was said`)
  }
}

/** Opens it again without a fault, and once more after a power loss in the end. */
async function reopened(
  reference: Reference,
  told: Told,
  disk: SimDisk,
  lookedAt: CheckedDisks,
  outcomes: number,
): Promise<void> {
  await lookedAt.mustGoOn(told, disk, outcomes > 0)
  if (outcomes === 0) return
  const all = toldInFull(reference)
  for (const left of disk.outcomes(outcomes)) await lookedAt.mustHold(all, left)
}

/** The same story again, and then an opening that fails at its k-th call, for every k. */
async function tryAgain(
  reference: Reference,
  open: Opener,
  plan: Plan,
  { call, fault, lookedAt }: { call: number; fault: Fault; lookedAt: CheckedDisks },
  tried: Tried,
): Promise<void> {
  for (let second = 1; ; second++) {
    if (second > 60) return
    if (!plan.nested(call, second)) continue
    const { told, disk } = await failed(reference, open, call, fault)
    const before = disk.calls
    disk.failAt(second, fault)
    const result = await settled(open(disk), 'open')
    const isSettled = disk.calls - before < second
    if (result.status === 'fulfilled') await settled(result.value.close(), 'close')
    if (isSettled) return
    const where = `call ${call}, then ${second} while opening, with ${JSON.stringify(fault)}`
    try {
      if (result.status === 'rejected') {
        must(isOf(fault, nameOf(result.reason)), `opening said '${nameOf(result.reason)}'`)
      }
      must(disk.openFiles === 0, `${disk.openFiles} files are still open`)
      disk.heal()
      await reopened(reference, told, disk, lookedAt, plan.outcomes(call))
      tried.openings += 1
    } catch (error) {
      tried.problems.push(`${where}: ${(error as Error).message}`)
      if (tried.problems.length >= (plan.most ?? MOST_PROBLEMS)) return
    }
  }
}

function isOf(fault: Fault, name: string): boolean {
  if (!('code' in fault)) return false
  return fault.code === 'ENOSPC' ? name === 'DiskFull' : fault.code === name
}
