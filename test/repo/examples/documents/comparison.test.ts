/** A report that is not about the files is found out, whatever is wrong with it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { analysed } from '../../../../examples/documents/analysis.ts'
import type { Comparison } from '../../../../examples/documents/comparison.ts'
import { compared } from '../../../../examples/documents/comparison.ts'
import type { Collection } from '../../../../examples/documents/corpus.ts'
import { writeCollection } from '../../../../examples/documents/corpus.ts'
import { textOf } from '../../../../examples/documents/document.ts'
import type { Report, ReportedDocument } from '../../../../examples/documents/report.ts'
import { Summary } from '../../../../examples/documents/report.ts'
import type { Runs } from '../../../../examples/documents/runs.ts'
import { problemsOf } from '../../../../examples/documents/runs.ts'
import { readFrom } from '../../../../examples/documents/share.ts'

let place = ''
let collection: Collection
let report: Report

/** As the pipeline makes it, but without the pipeline. */
async function reportOn({ name: id, documents, folder }: Collection): Promise<Report> {
  const names = documents.map(({ name }) => name)
  const summary = new Summary(id, names)
  for (const { name, flaw } of documents) {
    if (flaw !== null) continue
    const file = await readFrom({ folder, flaky: 'none' }, name, new AbortController().signal)
    summary.add({ name, ...analysed(textOf(name, file)) }, {})
  }
  return summary.report()
}

beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), 'pawl-comparison-'))
  collection = await writeCollection(place, 1, 1, 8)
  report = await reportOn(collection)
})
afterAll(() => rm(place, { recursive: true, force: true }))

async function problemsWith(changed: Partial<Report>): Promise<Comparison> {
  return compared(collection, { ...report, ...changed })
}

describe('a report', () => {
  it('that is right has no problems', async () => {
    const { problems, counted, lost, countedTwice, unusable, recounted } = await problemsWith({})
    expect(problems).toEqual([])
    expect({ lost, countedTwice, sum: counted + unusable }).toEqual({
      lost: 0,
      countedTwice: 0,
      sum: collection.documents.length,
    })
    expect(recounted).toEqual({ words: report.words, sentences: report.sentences })
  })

  it('that has a document twice is found out', async () => {
    const [first] = report.documents as [ReportedDocument]
    const { problems, countedTwice } = await problemsWith({
      documents: [...report.documents, first],
    })
    expect(problems).toEqual(['harbour-1 has 1 documents twice'])
    expect(countedTwice).toBe(1)
  })

  it('that lost one is found out', async () => {
    const [first, ...documents] = report.documents as [ReportedDocument]
    const { problems, lost } = await problemsWith({ documents })
    expect(problems).toEqual([`harbour-1/${first.name} is not in the report`])
    expect(lost).toBe(1)
  })

  it('that counts what cannot be used is found out', async () => {
    const [first] = report.documents as [ReportedDocument]
    const stranger = { ...first, name: report.unusable[0] ?? '' }
    const { problems } = await problemsWith({ documents: [...report.documents, stranger] })
    expect(problems).toEqual([`harbour-1/${stranger.name} is in the report`])
  })

  it.each(['words', 'sentences'] as const)('that has one of the %s too many', async (what) => {
    const [first, ...others] = report.documents as [ReportedDocument]
    const documents = [{ ...first, [what]: first[what] + 1 }, ...others]
    expect((await problemsWith({ documents })).problems).toHaveLength(1)
    expect((await problemsWith({ [what]: report[what] + 1 })).problems).toHaveLength(1)
  })

  it('that names others as unusable is found out', async () => {
    const { problems } = await problemsWith({ unusable: [] })
    expect(problems).toEqual(['harbour-1 names others as unusable: none'])
  })
})

describe('the runs of a collection', () => {
  const run = { attempts: 2, commits: 1, readsRetried: 0, code: null }

  it.each([
    ['was committed twice', { commits: 2 }, /was committed 2 times/],
    ['was never committed', { commits: 0 }, /was committed 0 times/],
    ['failed for good although it is sound', { code: 'CutShort' }, /is sound, and failed by/],
  ])('are found out if one %s', (_, wrong, problem) => {
    const right = collection.documents.map(({ flaw }): Runs =>
      flaw === null ? run : { ...run, commits: 0, code: flaw },
    )
    expect(problemsOf(collection, right)).toEqual([])
    const sound = collection.documents.findIndex(({ flaw }) => flaw === null)
    const runs = right.with(sound, { ...run, ...wrong })
    expect(problemsOf(collection, runs)).toEqual([expect.stringMatching(problem)])
  })
})
