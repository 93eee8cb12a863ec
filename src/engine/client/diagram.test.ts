import { describe, expect, it, onTestFinished } from 'vitest'
import type { JobInfo } from '../../index.ts'
import { diagram, job, open, pipeline, typed } from '../../index.ts'

async function memory(): Promise<Awaited<ReturnType<typeof open>>> {
  const pawl = await open('memory:')
  onTestFinished(() => pawl.close())
  return pawl
}

describe('a diagram', () => {
  it('without a job shows every state of a plain job, and which are final', () => {
    const text = diagram()
    expect(text.startsWith('stateDiagram-v2\n    [*] --> CREATED\n')).toBe(true)
    expect(text).toContain('RUNNING --> SUCCEEDED')
    expect(text).toContain('RUNNING --> SUSPENDED')
    expect(text).toContain('FAILED --> [*]')
    expect(text).not.toContain('SUCCEEDED --> QUEUED')
    expect(text).not.toContain('class ')
  })

  it('of a plain job marks the state that it is in', async () => {
    const pawl = await memory()
    const handle = await pawl.submit(job('greet', { run: () => null }))
    expect(diagram((await pawl.get(handle.id)) as JobInfo)).toContain('class QUEUED now')
  })

  it('of a pipeline shows its stages, their states and what they wait for', async () => {
    const pawl = await memory()
    const video = pipeline('a "video"', { input: typed<number[]>() })
      .stage('split', { run: ({ input }) => input })
      .stage('encode', { after: 'split', each: 'split', run: ({ segment }) => segment })
      .stage('tidy up', { onFailure: true, run: () => null })
    const handle = await pawl.submit(video, [1, 2, 3])
    pawl.work([video])
    await handle.result()
    expect(diagram((await pawl.get(handle.id)) as JobInfo).split('\n')).toEqual([
      'flowchart TD',
      '    job(["a #34;video#34;<br/>SUCCEEDED"])',
      '    s0["split<br/>DONE"]',
      '    s1["encode<br/>DONE<br/>3 of 3"]',
      '    s2["tidy up<br/>NEW"]',
      '    job --> s0',
      '    s0 --> s1',
      '    job -.->|on failure| s2',
      '    classDef now stroke-width:4px,font-weight:bold',
    ])
  })

  it('of no job is refused, and says what to write', () => {
    expect(() => diagram(null as unknown as JobInfo)).toThrow(/there is no such job/)
    expect(() => diagram('job-1' as unknown as JobInfo)).toThrow(/get\(id\)/)
  })
})
