/**
 * The proof: the reports beside the files and the log, document by document.
 */
import type { Pawl } from '../../src/index.ts'
import { open } from '../../src/index.ts'
import { verifyDirectory } from '../../src/store/index.ts'
import { compared } from './comparison.ts'
import type { Collection } from './corpus.ts'
import { collection as definition } from './pipeline.ts'
import type { Report } from './report.ts'
import { problemsOf, runsOf } from './runs.ts'
import type { Tally } from './tally.ts'

export interface Proof {
  readonly lines: readonly string[]
  readonly holds: boolean
  /** Where one of the reports is, for whoever wants to read it. */
  readonly report: string | null
}

/** What is found, summed over all collections. */
class Findings {
  collections = 0
  reports = 0
  givenUp = 0
  documents = 0
  counted = 0
  lost = 0
  countedTwice = 0
  /** Named in a report as such. */
  unusable = 0
  /** In collections that were given up. */
  leftOut = 0
  readonly reported = { words: 0, sentences: 0 }
  readonly recounted = { words: 0, sentences: 0 }
  /** How many failed for good, by their codes. */
  readonly failures = new Map<string, number>()
  /** Documents that were handed to a worker at least once. */
  segments = 0
  runAgain = 0
  committedTwice = 0
  readsRetried = 0
  artifacts = 0
  /** The path of one. */
  report: string | null = null
  readonly problems: string[] = []
}

const SHOWN = 10

export async function proofOf(
  log: string,
  collections: readonly Collection[],
  tally: Tally,
): Promise<Proof> {
  const found = new Findings()
  const pawl = await open(log)
  for (const collection of collections) await examine(pawl, collection, found)
  await pawl.close()
  const { entries, checkpoints, problems } = await verifyDirectory(log)
  const all = [...found.problems, ...problems.map((problem) => JSON.stringify(problem))]
  return {
    lines: [
      ...linesOf(found, tally),
      `verified: ${entries} entries, ${checkpoints} checkpoints, ${problems.length} problems`,
      ...all.slice(0, SHOWN).map((problem) => `PROBLEM: ${problem}`),
      all.length === 0
        ? 'It holds: every document was counted exactly once.'
        : `IT DOES NOT HOLD: ${all.length} problems, see above.`,
    ],
    holds: all.length === 0,
    report: found.report,
  }
}

async function examine(pawl: Pawl, collection: Collection, found: Findings): Promise<void> {
  const { name, documents, isSpoilt } = collection
  found.collections += 1
  found.documents += documents.length
  if ((await pawl.get(name)) === null) {
    found.problems.push(`${name} is not in the log`)
    return
  }
  await examineRuns(pawl, collection, found)
  await examineArtifacts(pawl, collection, found)
  if (isSpoilt) await examineNote(pawl, collection, found)
  else await examineReport(pawl, collection, found)
}

async function examineRuns(pawl: Pawl, collection: Collection, found: Findings): Promise<void> {
  const all = await runsOf(pawl, collection)
  found.problems.push(...problemsOf(collection, all))
  for (const { attempts, commits, readsRetried, code } of all) {
    if (attempts > 0) found.segments += 1
    if (attempts > 1) found.runAgain += 1
    if (commits > 1) found.committedTwice += 1
    if (code !== null) found.failures.set(code, (found.failures.get(code) ?? 0) + 1)
    found.readsRetried += readsRetried
  }
}

/** Every file that the outputs of the collection refer to. */
async function examineArtifacts(pawl: Pawl, { name }: Collection, found: Findings): Promise<void> {
  for (const { ref, state } of await pawl.artifacts.check(name)) {
    found.artifacts += 1
    if (state !== 'valid') found.problems.push(`${ref.$artifact} is ${state}`)
  }
}

/** One that is spoilt is counted nowhere, and ended with a note. */
async function examineNote(pawl: Pawl, collection: Collection, found: Findings): Promise<void> {
  found.leftOut += collection.documents.length
  const info = await pawl.get(collection.name)
  const note = info?.stages.find(({ name }) => name === 'note')
  if (info?.state === 'FAILED' && note?.completed === 1) found.givenUp += 1
  else found.problems.push(`${collection.name} is spoilt, and is ${info?.state}`)
}

async function examineReport(pawl: Pawl, collection: Collection, found: Findings): Promise<void> {
  const report = await reportOf(pawl, collection, found)
  if (report === null) return
  const comparison = await compared(collection, report)
  found.reports += 1
  found.counted += comparison.counted
  found.lost += comparison.lost
  found.countedTwice += comparison.countedTwice
  found.unusable += comparison.unusable
  for (const what of ['words', 'sentences'] as const) {
    found.reported[what] += report[what]
    found.recounted[what] += comparison.recounted[what]
  }
  found.problems.push(...comparison.problems)
}

/** Opening a file compares it with the SHA-256 that the log has. */
async function reportOf(pawl: Pawl, { name }: Collection, found: Findings): Promise<Report | null> {
  try {
    const { json, text } = await pawl.handle(name, definition).result({ timeout: '1s' })
    found.report = (await pawl.artifacts.open(text)).localPath
    return JSON.parse(await (await pawl.artifacts.open(json)).text()) as Report
  } catch (error) {
    found.problems.push(`${name} has no report: ${(error as Error).message}`)
    return null
  }
}

function linesOf(found: Findings, tally: Tally): string[] {
  const { documents, counted, unusable, leftOut, reported, recounted, failures } = found
  const { kills, engineKills, processKills, expiries, revocations } = tally
  const codes = [...failures].map(([code, count]) => `${count} ${code}`)
  return [
    `collections: ${found.collections}; ${found.reports} reports, ${found.givenUp} given up, with a note`,
    `documents: ${documents}; ${counted} counted, ${unusable} named as unusable, ${leftOut} in what was given up`,
    `lost: ${found.lost}, counted twice: ${found.countedTwice}`,
    `words: ${reported.words} in the reports, ${recounted.words} in the files`,
    `sentences: ${reported.sentences} in the reports, ${recounted.sentences} in the files`,
    `failed for good: ${codes.join(', ') || 'none'}`,
    `kills: ${kills} by SIGKILL (${engineKills} of the engine, ${processKills} of its processes)`,
    `leases lost: ${expiries} ran out, ${revocations} taken back at once`,
    `reads that failed and were tried again: ${found.readsRetried}`,
    `run more than once: ${found.runAgain} of ${found.segments} segments; committed twice: ${found.committedTwice}`,
    `artifacts: ${found.artifacts}, compared with the SHA-256 in the log`,
  ]
}
