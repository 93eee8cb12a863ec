import { describe, expect, it } from 'vitest'
import type { TaskOnFile } from './paths.ts'
import { assertArtifactName, folderOf, MARKER, versionFolderOf } from './paths.ts'

const TASK: TaskOnFile = {
  store: null,
  job: 'j',
  submittedAt: 1,
  stage: null,
  version: 1,
  segment: 0,
  attempt: 1,
}

const stageFolder = (stage: string | null): string | undefined =>
  versionFolderOf({ ...TASK, stage }).split('/')[2]

describe('the folder of a job', () => {
  it('has no two names that some systems take for one', () => {
    const stages = [null, 'job', 'JOB', 'Job', 'owner.json', 'a', 'A', 'a.', 'a b', 'a/b', 'ä', 'ö']
    const names = [MARKER, ...stages.map(stageFolder)].map((name) => name?.toLowerCase())
    expect(new Set(names).size).toBe(names.length)
  })

  it('has parts that any system takes: short, plain, and without a dot at the end', () => {
    for (const text of ['x'.repeat(200), 'con', '..', 'a.', '../../etc', 'Ünï', '🙂', '-']) {
      const path = versionFolderOf({ ...TASK, job: text, stage: text })
      for (const part of path.split('/'))
        expect(part).toMatch(/^[a-z0-9~][a-z0-9._~-]{0,79}(?<!\.)$/)
    }
  })

  it('is another one for each job, each submit, and each store', () => {
    const jobs = [{ job: 'j' }, { job: 'J' }, { submittedAt: 2 }, { store: 'a' }, { store: 'b' }]
    expect(new Set(jobs.map((one) => folderOf({ ...TASK, ...one }))).size).toBe(5)
  })
})

describe('the name of an artifact', () => {
  it.each(['a', 'Film.mp4', 'a-b_c.1', 'console.log', 'com', '0', 'x'.repeat(128)])(
    'may be %j',
    (name) => expect(() => assertArtifactName(name)).not.toThrow(),
  )

  it.each(['', '.a', 'a.', 'a/b', 'ä', 'x'.repeat(129), 'nul', 'CON', 'Aux.txt', 'com1.log', 7])(
    'may not be %j, which some systems do not take',
    (name) => expect(() => assertArtifactName(name)).toThrow('An artifact needs a name'),
  )
})
