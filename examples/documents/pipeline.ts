/**
 * The pipeline: a collection is surveyed, each of its documents is analysed, and what came of
 * them is joined into a report.
 *
 * Files that cannot be used fail for good, and the report names them. If there are more of them
 * than are tolerated, there is no report, but a note that says so.
 */
import type { ArtifactRef } from '../../src/index.ts'
import { pipeline, typed } from '../../src/index.ts'
import type { Analysis, Frequencies } from './analysis.ts'
import { analysed, frequenciesIn } from './analysis.ts'
import { textOf } from './document.ts'
import { say } from './lines.ts'
import type { Report } from './report.ts'
import { asText, Summary } from './report.ts'
import type { Share } from './share.ts'
import { namesOn, readFrom } from './share.ts'

/** Documents of a collection that may be unusable. */
export const TOLERATED = 4

/** What is told to whoever watches: which process reads which document now. */
export interface ToldReading {
  readonly type: 'reading'
  readonly collection: string
  readonly segment: number
  readonly process: number
}

export interface AnalysedDocument extends Analysis {
  readonly name: string
  /** How often each of its words occurs. */
  readonly frequencies: ArtifactRef
}

export const collection = pipeline('collection', {
  input: typed<Share>(),
  // Short, so that work is soon taken up again; many, so that no kill uses them up.
  lease: '2s',
  retry: { max: 100, delay: '300ms' },
})
  .stage('survey', { run: ({ input }) => namesOn(input) })
  .stage('analyse', {
    after: 'survey',
    each: 'survey',
    tolerate: TOLERATED,
    async run({ input, segment: name, index, job, signal, artifact }): Promise<AnalysedDocument> {
      tell({ type: 'reading', collection: job.id, segment: index, process: process.pid })
      const text = textOf(name, await readFrom(input, name, signal))
      const frequencies = JSON.stringify(frequenciesIn(text))
      return {
        name,
        ...analysed(text),
        frequencies: await artifact('frequencies.json').write(frequencies),
      }
    },
  })
  .stage('report', {
    after: ['survey', 'analyse'],
    async run({ job, outputs, openArtifact, artifact }) {
      const summary = new Summary(job.id, outputs.survey)
      // One after another: a collection may be larger than memory.
      for await (const { output: document } of outputs.analyse) {
        const table = await (await openArtifact(document.frequencies)).text()
        summary.add(document, JSON.parse(table) as Frequencies)
      }
      const report: Report = summary.report()
      return {
        json: await artifact('report.json').write(JSON.stringify(report)),
        text: await artifact('report.txt').write(asText(report)),
      }
    },
  })
  .stage('note', {
    onFailure: true,
    run: ({ job, outputs, artifact }) =>
      artifact('note.txt').write(
        `${job.id}: there is no report, because more than ${TOLERATED} of its ` +
          `${outputs.survey?.length ?? 0} documents cannot be used.\n`,
      ),
  })

/** Handlers run in processes of their own, which have the output of the engine's. */
function tell(reading: ToldReading): void {
  if (process.env['TELL_READINGS'] !== undefined) say(reading)
}
