/**
 * The proof: the reports beside the files and the log, document by document.
 */
import type { Artifacts, Entry, Pawl } from '../../src/index.ts'
import { open } from '../../src/index.ts'
import { verifyDirectory } from '../../src/store/index.ts'
import type { Collection } from './corpus.ts'
import { collection as definition } from './pipeline.ts'
import { recount } from './recount.ts'
import type { Report } from './report.ts'
import type { Tally } from './tally.ts'

export interface Proof {
  readonly lines: readonly string[]
  readonly holds: boolean
  /** Where one of the reports is, for whoever wants to read it. */
  readonly report: string | null
}

/** What is found, summed over all collections. */
class Findings {
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
  failures = new Map<string, number>()
  reported = { words: 0, sentences: 0 }
  recounted = { words: 0, sentences: 0 }
  segments = 0
  runAgain = 0
  readsRetried = 0
  artifacts = 0
  report: string | null = null
  readonly problems: string[] = []
}

const PAGE = 1_000
const SHOWN = 10

export async function proofOf(
  log: string,
  collections: readonly Collection[],
  tally: Tally,
): Promise<Proof> {
  const found = new Findings()
  const pawl = await open(log)
  for (const collection of collections) {
    if ((await pawl.get(collection.name)) === null) {
      found.problems.push(`${collection.name} is not in the log`)
      continue
    }
    await examineRuns(pawl, collection, found)
    if (collection.isSpoilt) await examineNote(pawl, collection, found)
    else await examineReport(pawl, collection, found)
  }
  await pawl.close()
  const { entries, checkpoints, problems } = await verifyDirectory(log)
  const sum = found.counted + found.unusable + found.leftOut
  if (found.lost + found.countedTwice > 0 || sum !== found.documents) {
    found.problems.push('the documents in the reports are not those in the folders')
  }
  const all = [...found.problems, ...problems.map((problem) => JSON.stringify(problem))]
  return {
    lines: [
      ...linesOf(found, collections.length, tally),
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

/** Each sound document is in the report, once and with the right numbers; no other is. */
async function examineReport(pawl: Pawl, collection: Collection, found: Findings): Promise<void> {
  const { name: id, folder, documents } = collection
  const report = await reportOf(pawl, id, found)
  if (report === null) return
  found.reports += 1
  const inReport = new Map(report.documents.map((document) => [document.name, document]))
  found.countedTwice += report.documents.length - inReport.size
  found.unusable += report.unusable.length
  for (const { name, flaw } of documents) {
    const counted = inReport.get(name)
    inReport.delete(name)
    if (flaw !== null) {
      if (counted !== undefined) found.problems.push(`${id}/${name} is counted, and is ${flaw}`)
      continue
    }
    const count = await recount(folder, name)
    if (counted === undefined) found.lost += 1
    else found.counted += 1
    found.recounted.words += count.words
    found.recounted.sentences += count.sentences
    if (counted?.words !== count.words || counted.sentences !== count.sentences) {
      found.problems.push(`${id}/${name} has ${count.words} words, not ${counted?.words}`)
    }
  }
  for (const name of inReport.keys()) found.problems.push(`${id} has no document ${name}`)
  const flawed = documents.filter(({ flaw }) => flaw !== null).map(({ name }) => name)
  if (flawed.join('\n') !== report.unusable.join('\n')) {
    found.problems.push(`${id} names as unusable: ${report.unusable.join(', ')}`)
  }
  found.reported.words += report.words
  found.reported.sentences += report.sentences
}

/** Opening the file compares it with the SHA-256 that the log has. */
async function reportOf(pawl: Pawl, id: string, found: Findings): Promise<Report | null> {
  try {
    const { json, text } = await pawl.handle(id, definition).result({ timeout: '1s' })
    found.report = (await pawl.artifacts.open(text)).localPath
    return JSON.parse(await (await pawl.artifacts.open(json)).text()) as Report
  } catch (error) {
    found.problems.push(`${id} has no report: ${(error as Error).message}`)
    return null
  }
}

/** One that is spoilt is counted nowhere, and ended with a note. */
async function examineNote(
  pawl: Pawl,
  { name: id, documents }: Collection,
  found: Findings,
): Promise<void> {
  found.leftOut += documents.length
  const info = await pawl.get(id)
  const note = info?.stages.find(({ name }) => name === 'note')
  if (info?.state === 'FAILED' && note?.completed === 1) found.givenUp += 1
  else found.problems.push(`${id} is spoilt, and is ${info?.state}`)
}

/** What the log says about every attempt at every document. */
async function examineRuns(pawl: Pawl, collection: Collection, found: Findings): Promise<void> {
  const { name: id, documents } = collection
  const analyse = definition.stages.findIndex(({ stage }) => stage === 'analyse')
  const runs = documents.map(() => ({ grants: 0, commits: 0, code: null as string | null }))
  for await (const entry of entriesOf(pawl, id)) {
    if (!('segment' in entry) || entry.stage !== analyse) continue
    const run = runs[entry.segment]
    if (run === undefined) continue
    if (entry.type === 'LeaseGranted') run.grants += 1
    if (entry.type === 'ExecutionCommitted') run.commits += 1
    if (entry.type !== 'TaskFailed') continue
    if (entry.next === 'WAITING') found.readsRetried += 1
    else run.code = entry.error.code
  }
  for (const [i, { name, flaw }] of documents.entries()) {
    const { grants, commits, code } = runs[i] as (typeof runs)[number]
    found.documents += 1
    if (grants > 0) found.segments += 1
    if (grants > 1) found.runAgain += 1
    if (code !== null) found.failures.set(code, (found.failures.get(code) ?? 0) + 1)
    if (collection.isSpoilt) continue
    if (commits !== (flaw === null ? 1 : 0)) {
      found.problems.push(`${id}/${name} was committed ${commits} times`)
    }
    if (code !== flaw) found.problems.push(`${id}/${name} is ${flaw}, and failed by ${code}`)
  }
  await examineArtifacts(pawl.artifacts, id, found)
}

async function examineArtifacts(artifacts: Artifacts, id: string, found: Findings): Promise<void> {
  for (const { ref, state } of await artifacts.check(id)) {
    found.artifacts += 1
    if (state !== 'valid') found.problems.push(`${ref.$artifact} is ${state}`)
  }
}

async function* entriesOf(pawl: Pawl, id: string): AsyncGenerator<Entry> {
  for (let after = 0; ;) {
    const page = await pawl.history(id, { after, limit: PAGE })
    for (const { entry } of page) yield entry
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return
    after = last.position
  }
}

function linesOf(found: Findings, collections: number, tally: Tally): string[] {
  const { reports, givenUp, documents, counted, unusable, leftOut, failures } = found
  const { lost, countedTwice, reported, recounted, segments, runAgain } = found
  const { kills, engineKills, processKills, expiries, revocations } = tally
  const codes = [...failures].map(([code, count]) => `${count} ${code}`)
  return [
    `collections: ${collections}; ${reports} reports, ${givenUp} given up, with a note`,
    `documents: ${documents}; ${counted} counted, ${unusable} named as unusable, ${leftOut} in what was given up`,
    `lost: ${lost}, counted twice: ${countedTwice}`,
    `words: ${reported.words} in the reports, ${recounted.words} in the files`,
    `sentences: ${reported.sentences} in the reports, ${recounted.sentences} in the files`,
    `failed for good: ${codes.join(', ') || 'none'}`,
    `kills: ${kills} by SIGKILL (${engineKills} of the engine, ${processKills} of its processes)`,
    `leases lost: ${expiries} ran out, ${revocations} taken back at once`,
    `reads that failed and were tried again: ${found.readsRetried}`,
    `run more than once: ${runAgain} of ${segments} segments, and none was committed twice`,
    `artifacts: ${found.artifacts}, each as the SHA-256 in the log says`,
  ]
}
