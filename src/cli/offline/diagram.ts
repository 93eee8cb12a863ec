/**
 * `diagram`: the states of a job, or the stages of a pipeline, as Mermaid.
 */
import { UnknownJob } from '../../engine/index.ts'
import type { CliCommand } from '../command.ts'
import { withStore } from '../store-session.ts'

export const DIAGRAM: CliCommand = {
  name: 'diagram',
  group: 'learn',
  says: 'Draws a job, or the states of any job, as a Mermaid diagram',
  arguments: [{ name: 'job', says: 'The id of a job; none: the states of any', isRequired: false }],
  examples: ['diagram', 'diagram report-7 --store ./data > report-7.mmd'],
  run: async (call) => {
    const { job } = call.given
    const { diagram } = await import('../../engine/index.ts')
    if (job === undefined) {
      const text = diagram()
      return { report: { value: { diagram: text }, text: () => text } }
    }
    return withStore(call, async (pawl) => {
      const info = await pawl.get(job)
      if (info === null) throw new UnknownJob(job)
      const text = diagram(info)
      return { report: { value: { job, diagram: text }, text: () => text } }
    })
  },
}
