import { describe, expect, it } from 'vitest'
import * as fc from 'fast-check'
import { plain } from '../../../test/support/specs.ts'
import type { Job } from '../../kernel/index.ts'
import { createJob } from '../../kernel/index.ts'
import { LiveJobList } from './live-jobs.ts'

function jobAt(position: number): Job {
  const entry = { type: 'JobSubmitted', version: 1, at: 1, spec: plain(), dueAt: 1 } as const
  const job = createJob({ ...entry, job: `job ${position}` })
  job.firstPosition = position
  return job
}

function positions(jobs: Iterable<Job>): number[] {
  return [...jobs].map(({ firstPosition }) => firstPosition)
}

describe('the list of live jobs', () => {
  it('has those that came and did not leave, in order, from any position on', () => {
    const action = fc.record({ adds: fc.nat(400), leaves: fc.array(fc.nat(), { maxLength: 300 }) })
    fc.assert(
      fc.property(fc.array(action, { maxLength: 6 }), fc.nat(2_000), (actions, from) => {
        const list = new LiveJobList()
        let here: Job[] = []
        let position = 0
        for (const { adds, leaves } of actions) {
          for (let i = 0; i < adds; i++) {
            position += 1 + (i % 3)
            const job = jobAt(position)
            here.push(job)
            list.add(job)
          }
          for (const which of leaves) {
            const job = here[which % Math.max(1, here.length)]
            if (job === undefined) continue
            list.remove(job)
            here = here.filter((one) => one !== job)
          }
        }
        const expected = positions(here).filter((one) => one > from)
        expect(positions(list.after(from))).toEqual(expected)
      }),
    )
  })

  it('goes on behind where it was when jobs leave meanwhile', () => {
    const list = new LiveJobList()
    const jobs = Array.from({ length: 1_000 }, (_, i) => jobAt(i + 1))
    for (const job of jobs) list.add(job)
    const seen: number[] = []
    for (const job of list.after(0)) {
      seen.push(job.firstPosition)
      // The one that was seen, and one that comes.
      list.remove(job)
      list.remove(jobs[job.firstPosition + 299] ?? job)
    }
    const all = positions(jobs)
    expect(seen).toEqual([...all.slice(0, 300), ...all.slice(600, 900)])
    expect(positions(list.after(0))).toEqual([])
  })

  it('gives each job behind a position another object, in steps, once', async () => {
    const list = new LiveJobList()
    list.addAll(Array.from({ length: 5_000 }, (_, i) => jobAt(5_000 - i)))
    let turns = 0
    const pause = async (): Promise<void> => {
      turns += 1
      for (const job of list.after(4_990)) list.remove(job)
    }
    const changed: number[] = []
    const change = (job: Job): Job => {
      changed.push(job.firstPosition)
      return { ...job, version: 7 }
    }
    await list.replaceJobs(100, change, pause)
    expect(turns).toBeGreaterThan(1)
    expect(changed).toEqual(Array.from({ length: 4_890 }, (_, i) => i + 101))
    const versions = [...list.after(0)].map(({ version }) => version)
    expect(versions.filter((version) => version === 7)).toHaveLength(4_890)
  })
})
