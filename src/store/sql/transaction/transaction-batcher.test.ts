import { describe, expect, it, onTestFinished } from 'vitest'
import { plain } from '../../../../test/support/specs.ts'
import { freshFile } from '../../../../test/support/sqlite.ts'
import type { Command } from '../../../kernel/index.ts'
import { openSqlite } from '../../../log/disk/sqlite-driver.ts'
import { PartlyDone } from '../../errors.ts'
import { openSqliteStore } from '../../index.ts'

function submits(count: number, input = 'null'): Command[] {
  return Array.from({ length: count }, (_, i) => {
    return { type: 'SubmitJob', job: `job-${i}`, spec: { ...plain(), input } }
  })
}

const PAUSE: Command = { type: 'PauseQueue', queue: 'q', by: 'ops', reason: '' }

async function opened() {
  const store = await openSqliteStore({ path: await freshFile() })
  onTestFinished(() => store.close())
  return store
}

describe('new work that waits while there are always reports', () => {
  it('has its turn', async () => {
    const store = await opened()
    const seen = { isIn: false, reports: 0 }
    // As many as two transactions hold, at any time: each that is answered is followed by the next.
    const report = async (): Promise<void> => {
      while (!seen.isIn && seen.reports < 60_000) {
        seen.reports += 500
        await store.execute(Array.from({ length: 500 }, () => PAUSE))
      }
    }
    const reporting = Promise.all(Array.from({ length: 6 }, report))
    await store.execute(submits(1)).then(() => (seen.isIn = true))
    await reporting
    expect(seen.reports).toBeLessThan(20_000)
  })
})

describe('a call of more commands than one transaction holds', () => {
  it('lets a report pass that comes later, and is answered in order', async () => {
    const store = await opened()
    const order: string[] = []
    const many = store.execute(submits(4_000)).then((answers) => {
      order.push('submits')
      return answers
    })
    const report = store.execute([PAUSE]).then(() => order.push('report'))
    await report
    expect(order).toEqual(['report'])
    const answers = await many
    expect(answers.map(({ value }) => value)).toEqual(
      submits(4_000).map((one) => 'job' in one && one.job),
    )
  })

  it('that fails midway says how many of them were done, and can be repeated', async () => {
    const path = await freshFile()
    const store = await openSqliteStore({ path })
    onTestFinished(() => store.close())
    const other = openSqlite(path)
    onTestFinished(() => other.close())
    const many = store.execute(submits(4_000))
    const failure = many.then(
      () => null,
      (error: unknown) => error,
    )
    // The first transaction is committed, and others follow.
    await store.execute([PAUSE])
    other.exec('pragma busy_timeout = 5000; alter table events rename to elsewhere')
    const error = (await failure) as PartlyDone
    expect(error).toBeInstanceOf(PartlyDone)
    const { done } = error.details as { readonly done: number }
    expect(error).toMatchObject({ kind: 'unknown_outcome', details: { of: 4_000 } })
    expect(done).toBeGreaterThan(0)
    expect(done).toBeLessThan(4_000)
    other.exec('alter table elsewhere rename to events')
    expect(await store.query({ kind: 'job', job: `job-${done - 1}` })).not.toBeNull()
    expect(await store.query({ kind: 'job', job: `job-${done}` })).toBeNull()
    const answers = await store.execute(submits(4_000))
    expect(answers.every(({ verdict }) => verdict === 'committed')).toBe(true)
  })

  it('is cut by the size of its payloads, too', async () => {
    const store = await opened()
    const order: string[] = []
    const many = store
      .execute(submits(12, `"${'x'.repeat(900_000)}"`))
      .then(() => order.push('submits'))
    await store.execute([PAUSE]).then(() => order.push('report'))
    expect(order).toEqual(['report'])
    await many
  })
})
