/** A pipeline for workers that run it in children. It says where things ran in what it puts out. */
import { appendFileSync } from 'node:fs'
// Not from the front door: a child that reads less starts sooner.
import { child, effect, job, pipeline, typed } from '../../../src/definition/index.ts'

const mail = effect('mail', {
  input: typed<{ to: string; file: string }>(),
  idempotent: true,
  run: ({ to, file }, { key }) => appendFileSync(file, `${to} ${key} ${process.pid}\n`),
})

export const follow = job('follow', { input: typed<string>(), run: ({ input }) => input })

export const film = pipeline('film', { input: typed<{ file: string; parts: number }>() })
  .stage('cut', { run: ({ input }) => Array.from({ length: input.parts }, (_, i) => `part ${i}`) })
  .stage('render', {
    after: 'cut',
    each: 'cut',
    effects: [mail],
    run: async ({ segment, index, input, outputs, step, commit }) => {
      const pid = await step('pid', () => process.pid)
      const output = { pid, text: `${segment} of ${outputs.cut.length}` }
      return commit(output, index === 0 ? [mail({ to: segment, file: input.file })] : [])
    },
  })
  .stage('join', {
    after: 'render',
    run: async ({ outputs, commit }) => {
      const pids = new Set<number>([process.pid])
      const texts: string[] = []
      for await (const { output } of outputs.render) {
        pids.add(output.pid)
        texts.push(output.text)
      }
      return commit({ pids: [...pids], texts }, [], [child(follow, 'to be continued')])
    },
  })

export const broken = pipeline('broken', { input: typed<string[]>(), retry: { max: 0 } })
  .stage('item', {
    each: 'input',
    quarantine: 'never',
    run: ({ segment }): string => {
      throw new Error(`no ${segment}`)
    },
  })
  .stage('undo', {
    onFailure: true,
    run: ({ failure, input, step }) => step('told', () => [failure.stage, input.length]),
  })
