/**
 * Tells a story to a store, notes what was answered, and later compares a store with it.
 *
 * Told once without a fault, the story is the reference: what each call is answered, and what
 * entries there are after each act. Whatever fails in another telling, what is then on the disk
 * must be a beginning of that, for each job, and hold at least all that was answered.
 */
// BEFORE anything that loads a store: it takes the chance out of it.
import { entriesOn, nameOf, openerOf, settled, TestClock } from './setting.ts'
import type { Entry } from '../../../src/kernel/index.ts'
import type { Disk, Owner } from '../../../src/log/index.ts'
import { openDirectory } from '../../../src/store/directory/open-directory.ts'
import { verifyDirectory } from '../../../src/store/offline/verify-directory.ts'
import { SimDisk } from '../sim/sim-disk.ts'
import type { Opened, Opener } from './setting.ts'
import { sortedText } from './sorted-text.ts'
import { stateFrom, stateOf } from './state.ts'
import type { Act, Call } from './story.ts'

/** What came of a telling. */
export interface Told {
  /** The texts of the answers that were given, by act and call: `3.0`. */
  readonly answers: Map<string, string>
  /** By what they came from: `open: EIO`, `execute: UnknownOutcome`. */
  readonly errors: string[]
  /** The first act of which not all was answered. */
  reached: number
  /** Backups that were said to be made, and in which act. */
  readonly backups: { readonly folder: string; readonly act: number }[]
  /** Backups that were begun: none finds the folder of another one. */
  begun: number
}

export function untold(): Told {
  return { answers: new Map(), errors: [], reached: 0, backups: [], begun: 0 }
}

export interface Reference {
  readonly story: readonly Act[]
  /** The answer; to what only asks, that before the act and that after it. */
  readonly answers: ReadonlyMap<string, readonly string[]>
  /** The entries of each job, queue and schedule, as texts. */
  readonly entries: ReadonlyMap<string, readonly string[]>
  /** How many of them there are after each act. */
  readonly counts: readonly ReadonlyMap<string, number>[]
  /** What each call is about. */
  readonly subjects: ReadonlyMap<string, readonly string[]>
  /** After each act. */
  readonly states: readonly string[]
}

/** What is broken if it does not hold. */
export function must(isSo: boolean, what: string): asserts isSo {
  if (!isSo) throw new Error(what)
}

const ACT_MS = 1_000
const START = new TestClock().time

/** Where an entry stands, and how long a lease still lasts, is not part of the answer. */
function answerText(answer: unknown): string {
  return sortedText(answer)
    .replaceAll(/"(?:firstPosition|lastPosition|position|leaseMs)":\d+/g, '"_":0')
    .replaceAll(/,?"_":0,?/g, ',')
}

async function send(store: Opened, call: Call, act: number, told: Told): Promise<unknown> {
  switch (call.kind) {
    case 'execute':
      return store.execute(call.commands)
    case 'claim':
      return store.claim(call.request)
    case 'query':
      return store.query(call.query)
    case 'refused':
      return store.execute([call.command])
    case 'upkeep': {
      const commands = await store.query({ kind: 'upkeep', limit: 100 })
      const answers = await store.execute(commands)
      // What there is to do depends on what was done before without an answer.
      return answers.filter(({ verdict }) => verdict === 'rejected')
    }
    case 'checkpoint':
      await store.checkpoint()
      return null
    case 'backup': {
      told.begun += 1
      const folder = `/backup-${told.begun}`
      await store.backup(folder)
      told.backups.push({ folder, act })
      return null
    }
  }
}

function onlyAsks({ kind }: Call): boolean {
  return kind === 'query' || kind === 'refused'
}

/** Sends the calls of an act at once; those that find the disk full, once more. */
async function tellAct(store: Opened, acts: readonly Act[], at: number, told: Told): Promise<void> {
  const waiting = new Map((acts[at] as Act).map((call, i) => [`${at}.${i}`, call]))
  for (let round = 0; round < 2 && waiting.size > 0; round++) {
    const sent = []
    for (const [id, call] of waiting) {
      // Those before it are decided by then, and nothing of them is durable.
      if (onlyAsks(call)) for (let i = 0; i < 5; i++) await Promise.resolve()
      const { kind } = call
      sent.push({ id, kind, result: settled(send(store, call, at, told), `${id}, ${kind},`) })
    }
    for (const { id, kind, result } of sent) {
      const found = await result
      if (found.status === 'fulfilled') {
        told.answers.set(id, answerText(found.value))
        waiting.delete(id)
      } else {
        const name = nameOf(found.reason)
        told.errors.push(`${kind}: ${name}`)
        if (name !== 'DiskFull') waiting.delete(id)
      }
    }
  }
}

/** Goes on with the next act only if all of this one was answered. */
export async function tell(
  store: Opened,
  clock: TestClock,
  story: readonly Act[],
  told: Told,
): Promise<void> {
  while (told.reached < story.length) {
    const at = told.reached
    clock.time = START + at * ACT_MS
    await tellAct(store, story, at, told)
    if ((story[at] as Act).some((_, i) => !told.answers.has(`${at}.${i}`))) return
    told.reached += 1
  }
}

/** Opens, tells, and closes, whatever fails. */
export async function tellOn(
  disk: Disk,
  open: Opener,
  story: readonly Act[],
  told: Told = untold(),
): Promise<Told> {
  const clock = new TestClock()
  const opened = await settled(open(disk, clock), 'open')
  if (opened.status === 'rejected') {
    told.errors.push(`open: ${nameOf(opened.reason)}`)
    return told
  }
  await tell(opened.value, clock, story, told)
  const closed = await settled(opened.value.close(), 'close')
  if (closed.status === 'rejected') told.errors.push(`close: ${nameOf(closed.reason)}`)
  return told
}

function subjectOf(entry: Entry): string {
  if ('job' in entry) return `job ${entry.job}`
  return 'queue' in entry ? `queue ${entry.queue}` : `schedule ${entry.schedule}`
}

function subjectsOf(call: Call, answer: string): string[] {
  if (call.kind === 'query') return 'job' in call.query ? [`job ${call.query.job}`] : []
  if (call.kind === 'refused') return [`job ${(call.command as { job: string }).job}`]
  if (call.kind === 'claim') {
    return [...answer.matchAll(/"job":"(\w+)"/g)].map(([, job]) => `job ${job}`)
  }
  if (call.kind !== 'execute') return []
  return call.commands.map((command) => {
    if ('job' in command) return `job ${command.job}`
    return 'queue' in command ? `queue ${command.queue}` : `schedule ${command.schedule}`
  })
}

function bySubject(entries: readonly Entry[]): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const entry of entries) {
    const subject = subjectOf(entry)
    found.set(subject, [...(found.get(subject) ?? []), sortedText(entry)])
  }
  return found
}

/** What the calls of an act that only ask are answered now. */
async function asked(disk: SimDisk, open: Opener, act: Act, at: number): Promise<string[]> {
  const clock = new TestClock()
  clock.time = START + at * ACT_MS
  const store = await open(disk, clock)
  const answers: string[] = []
  for (const call of act) {
    answers.push(onlyAsks(call) ? answerText(await send(store, call, at, untold())) : '')
  }
  await store.close()
  return answers
}

/** Tells the story without a fault. */
export async function referenceOf(open: Opener, story: readonly Act[]): Promise<Reference> {
  const disk = new SimDisk()
  const told = untold()
  const answers = new Map<string, string[]>()
  const counts: Map<string, number>[] = []
  const states: string[] = []
  const subjects = new Map<string, string[]>()
  let entries = new Map<string, string[]>()
  for (const [at, act] of story.entries()) {
    const before = await asked(disk, open, act, at)
    await tellOn(disk, open, story.slice(0, at + 1), told)
    const after = await asked(disk, open, act, at)
    const all = (await entriesOn(disk)).map(({ entry }) => entry)
    states.push(stateFrom(all))
    entries = bySubject(all)
    counts.push(new Map([...entries].map(([subject, list]) => [subject, list.length])))
    for (const [i, call] of act.entries()) {
      const id = `${at}.${i}`
      const answer = told.answers.get(id) as string
      subjects.set(id, call.kind === 'upkeep' ? changed(counts) : subjectsOf(call, answer))
      answers.set(id, onlyAsks(call) ? [before[i] as string, after[i] as string] : [answer])
    }
  }
  must(told.errors.length === 0, `without a fault there was ${told.errors.join(', ')}`)
  const reference = { story, answers, entries, counts, subjects, states }
  await mustHold(reference, told, disk, open)
  return reference
}

/** What the last act was about. */
function changed(counts: readonly ReadonlyMap<string, number>[]): string[] {
  const [before, after] = [counts.at(-2), counts.at(-1)]
  return [...(after ?? [])].flatMap(([subject, count]) =>
    count === (before?.get(subject) ?? 0) ? [] : [subject],
  )
}

/** As if all of the story had been answered. */
export function toldInFull({ story, answers }: Reference): Told {
  const last = [...answers].map(([id, texts]) => [id, texts.at(-1) as string] as const)
  return { ...untold(), answers: new Map(last), reached: story.length }
}

/**
 * What a disk holds, against what was told: every answer is that of the reference; all that was
 * answered is there; nothing is there that was never sent, and nothing twice.
 */
export async function mustHold(
  reference: Reference,
  told: Told,
  disk: SimDisk,
  open: Opener,
): Promise<void> {
  mustFit(reference, told, await countsOn(reference, told, disk, open))
}

/** How many entries of each job, queue and schedule there are: whatever was answered, as sent. */
export async function countsOn(
  reference: Reference,
  { backups }: Pick<Told, 'backups'>,
  disk: SimDisk,
  open: Opener,
): Promise<ReadonlyMap<string, number>> {
  const store = await open(disk)
  const state = await stateOf(store)
  await store.close()
  const entries = (await entriesOn(disk)).map(({ entry }) => entry)
  must(state === stateFrom(entries), 'the store shows another state than its entries make')
  const found = bySubject(entries)
  for (const [subject, list] of found) {
    const all = reference.entries.get(subject) ?? []
    must(
      list.every((text, i) => text === all[i]),
      `${subject} has other entries than were sent`,
    )
  }
  for (const { folder, act } of backups) {
    await mustBeBackup(disk.clone(), folder, reference.states[act] as string)
  }
  return new Map([...found].map(([subject, list]) => [subject, list.length]))
}

/** Whether so many are what was sent, and all of what was answered. */
export function mustFit(
  reference: Reference,
  told: Told,
  found: ReadonlyMap<string, number>,
): void {
  const unsent = told.reached + 1
  for (const [subject, count] of found) {
    const most = reference.counts[Math.min(unsent, reference.counts.length) - 1]?.get(subject) ?? 0
    must(count <= most, `${subject} has entries that were never sent`)
  }
  for (const [id, answer] of told.answers) {
    const allowed = reference.answers.get(id) as readonly string[]
    must(allowed.includes(answer), `${id}: another answer: ${answer}`)
    // What was asked may have been answered before the rest of the act was decided.
    const at = Number.parseInt(id, 10) - (answer === allowed.at(-1) ? 0 : 1)
    for (const subject of reference.subjects.get(id) ?? []) {
      const least = reference.counts[at]?.get(subject) ?? 0
      const count = found.get(subject) ?? 0
      must(count >= least, `${id}: answered, but ${subject} lost entries`)
    }
  }
}

const own = async (): Promise<Owner> => ({ release: async () => undefined })

/** It checks, and opens as the store was then. */
async function mustBeBackup(disk: SimDisk, folder: string, state: string): Promise<void> {
  const { problems } = await verifyDirectory(folder, { disk, own })
  must(problems.length === 0, `the backup is damaged: ${problems.map(({ what }) => what).join()}`)
  const store = await openerOf(openDirectory, {}, folder)(disk)
  must((await stateOf(store)) === state, 'the backup has another state than the store had')
  await store.close()
}

/** Repeats every command that was answered, goes on with the story, and comes to its end. */
export async function mustGoOn(
  reference: Reference,
  told: Told,
  disk: SimDisk,
  open: Opener,
): Promise<void> {
  const clock = new TestClock()
  const store = await open(disk, clock)
  const { answers, backups } = told
  const going = { ...told, answers: new Map(answers), errors: [], backups: [...backups] }
  await mustGoOnIn(reference, going, store, clock)
  await store.close()
  must(disk.openFiles === 0, `${disk.openFiles} files are still open`)
}

/** The same in a store that is open already. */
export async function mustGoOnIn(
  reference: Reference,
  told: Told,
  store: Opened,
  clock: TestClock,
): Promise<void> {
  const { story, answers } = reference
  clock.time = START + told.reached * ACT_MS
  for (const [id, answer] of told.answers) {
    const [at, i] = id.split('.').map(Number)
    const call = story[at as number]?.[i as number] as Call
    if (call.kind !== 'execute' || answer.includes('rejected')) continue
    if (isForgotten(reference, id, at as number, told.reached)) continue
    const again = answerText(await store.execute(call.commands))
    must(again === answer, `${id}: repeated, it is answered ${again} instead of ${answer}`)
  }
  await tell(store, clock, story, told)
  must(
    told.reached === story.length,
    `the story stops at act ${told.reached}: ${told.errors.join()}`,
  )
  for (const [id, answer] of told.answers) {
    must(answers.get(id)?.includes(answer) === true, `${id}: another answer in the end: ${answer}`)
  }
  must((await stateOf(store)) === reference.states.at(-1), 'the story came to another end')
}

/** Whether a job that a call is about may be forgotten by now: then it says something else. */
function isForgotten(reference: Reference, id: string, at: number, reached: number): boolean {
  const { subjects, entries, counts } = reference
  return (subjects.get(id) ?? []).some((subject) => {
    const from = counts[at]?.get(subject) ?? 0
    const to = counts[Math.min(reached, counts.length - 1)]?.get(subject) ?? 0
    const since = entries.get(subject)?.slice(from, to) ?? []
    return since.some((text) => text.includes('"type":"JobForgotten"'))
  })
}
