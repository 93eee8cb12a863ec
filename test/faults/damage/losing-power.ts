/**
 * The campaign of power losses: the power goes at every call of a story, and every disk that
 * may be left is opened and compared with what was answered. Then it goes again, while what
 * was left is being opened, or after a process that died without a power loss was followed by
 * another.
 */
import { everyCrash } from '../sim/every-crash.ts'
import type { Fault } from '../sim/sim-disk.ts'
import { SimDisk } from '../sim/sim-disk.ts'
import { KilledDisk } from './killed.ts'
import { CheckedDisks } from './checked-disks.ts'
import type { Opener } from './setting.ts'
import { settled, TestClock } from './setting.ts'
import type { Reference, Told } from './story-run.ts'
import { tell, tellOn, untold } from './story-run.ts'

export interface Losses {
  /** Moments at which the power went. */
  moments: number
  /** Disks that were left, and opened. */
  disks: number
  readonly problems: string[]
}

export interface LossPlan {
  /** How many of the disks that may be left are looked at, at each moment. */
  readonly outcomes: number
  /** At which calls the power goes a second time, while the store is opened again. */
  readonly again: (call: number) => boolean
  /** After so many problems it is over. */
  readonly most?: number
  /** The power goes at every so many-th call; 1 unless told. */
  readonly step?: number
}

export const noLosses = (): Losses => ({ moments: 0, disks: 0, problems: [] })

/** All of these disks, each left by the same telling. */
async function look(
  lookedAt: CheckedDisks,
  told: Told,
  left: Iterable<SimDisk>,
  where: string,
  losses: Losses,
): Promise<void> {
  losses.moments += 1
  let number = 0
  for (const disk of left) {
    number += 1
    losses.disks += 1
    try {
      if (number > 1) await lookedAt.mustHold(told, disk)
      else await lookedAt.mustGoOn(told, disk)
    } catch (error) {
      losses.problems.push(`${where}, disk ${number}: ${(error as Error).message}`)
      return
    }
  }
}

export async function losePower(
  reference: Reference,
  open: Opener,
  plan: LossPlan,
): Promise<Losses> {
  const losses = noLosses()
  const lookedAt = new CheckedDisks(reference, open)
  const most = plan.most ?? 10
  let told = untold()
  const story = async (disk: SimDisk): Promise<void> => {
    told = untold()
    await tellOn(disk, open, reference.story, told)
  }
  for await (const { call, disk } of everyCrash(new SimDisk(), story, plan.step)) {
    const where = `power lost at call ${call}`
    await look(lookedAt, told, disk.outcomes(plan.outcomes), where, losses)
    if (losses.problems.length >= most) return losses
    if (!plan.again(call)) continue
    for (const left of disk.outcomes(6)) {
      await loseAgain(lookedAt, told, left, open, { ...plan, where }, losses)
    }
    if (losses.problems.length >= most) return losses
  }
  return losses
}

/** The power goes while what was left is being opened. */
async function loseAgain(
  lookedAt: CheckedDisks,
  told: Told,
  left: SimDisk,
  open: Opener,
  { outcomes, where }: { readonly outcomes: number; readonly where: string },
  losses: Losses,
): Promise<void> {
  const story = async (disk: SimDisk): Promise<void> => {
    await (await open(disk)).close()
  }
  for await (const { call, disk } of everyCrash(left, story)) {
    const place = `${where}, and at call ${call} while opening`
    await look(lookedAt, told, disk.outcomes(Math.min(outcomes, 8)), place, losses)
  }
}

/** How a process ends that nobody closes. */
export type Ending =
  /** It is killed during a call, which does all of what it should, or a part. */
  | { readonly kind: 'killed'; readonly inPart: boolean }
  | { readonly kind: 'failed'; readonly fault: Fault }

/**
 * The process ends during the k-th call, without a power loss: what it wrote can still be read.
 * Another one opens the store and goes on for two acts. THEN the power goes.
 */
export async function losePowerLater(
  reference: Reference,
  open: Opener,
  ending: Ending,
  plan: LossPlan,
): Promise<Losses> {
  const losses = noLosses()
  const lookedAt = new CheckedDisks(reference, open)
  for (let call = 1; losses.problems.length < (plan.most ?? 10); call++) {
    const { disk, told, isDone } = await ended(reference, open, ending, call)
    if (isDone) return losses
    const where = `${JSON.stringify(ending)} at call ${call}, then power lost`
    const clock = new TestClock()
    const opened = await settled(open(disk, clock), 'open')
    if (opened.status === 'rejected') {
      losses.problems.push(`${where}: ${(opened.reason as Error).message}`)
      continue
    }
    await tell(opened.value, clock, reference.story.slice(0, told.reached + 2), told)
    await look(lookedAt, told, disk.outcomes(plan.outcomes), where, losses)
  }
  return losses
}

async function ended(
  { story }: Reference,
  open: Opener,
  ending: Ending,
  call: number,
): Promise<{ disk: SimDisk; told: Told; isDone: boolean }> {
  const told = untold()
  const disk = new SimDisk({ seed: call })
  if (ending.kind === 'failed') {
    disk.failAt(call, ending.fault)
    await tellOn(disk, open, story, told)
    const isDone = disk.calls < call
    disk.heal()
    return { disk, told, isDone }
  }
  // A process that is gone makes no more calls, and none of its answers is heard.
  const killed = new KilledDisk(disk, call, ending.inPart)
  await tellOn(killed, open, story, told)
  return { disk, told, isDone: !killed.isOver }
}
