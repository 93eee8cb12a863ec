/**
 * The commands on a store that is not open, and those that need none: each by the real program.
 */
import { copyFile, mkdir, readdir, readFile, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { job, open, typed } from '../../../src/index.ts'
import type { LabRun } from '../../../src/lab/index.ts'
import { FAILURE_MODES, runExperiment } from '../../../src/lab/index.ts'
import { cli, cliJson, userFolder } from '../../support/command-line.ts'
import { freshSchema } from '../../support/postgres.ts'

const mail = job('mail', { input: typed<number>(), run: ({ input }) => input })

/** Three jobs, of which the first is done, in `data`. */
async function withData(): Promise<string> {
  const cwd = await userFolder()
  const pawl = await open(join(cwd, 'data'))
  const first = await pawl.submit(mail, 1, { id: 'a', tags: ['x'] })
  const worker = pawl.work([mail])
  await first.result()
  await worker.stop()
  await pawl.submit(mail, 2, { id: 'b', key: 'k', priority: 3 })
  await pawl.submit(mail, 3, { id: 'c' })
  await pawl.close()
  return cwd
}

describe('a directory that is not open', () => {
  it('is verified, copied into a database and back, backed up, and each copy is well', async () => {
    const cwd = await withData()
    const run = (...args: readonly string[]): ReturnType<typeof cli> => cli(args, { cwd })
    expect((await run('verify', '-s', './data')).out).toMatch(/^well {2}\.\/data: .*3 jobs/)
    const copied = await run('copy', './data', 'sqlite:jobs.db')
    expect(copied.out).toMatch(/^Copied 3 jobs with \d+ events to sqlite:jobs\.db\.\n$/)
    const again = await run('copy', './data', 'sqlite:jobs.db')
    expect(again).toMatchObject({ code: 3 })
    expect(again.err).toMatch(/There is something in .*\(NotEmpty\)/)
    const [back, backup] = await Promise.all([
      cliJson(['copy', 'sqlite:jobs.db', './back'], { cwd }),
      cliJson(['backup', './saved', '-s', './data'], { cwd }),
    ])
    expect(back).toMatchObject({ jobs: 3 })
    expect(backup).toMatchObject({ artifacts: 0 })
    const stores = ['sqlite:jobs.db', './back', './saved']
    const reports = await Promise.all(
      stores.map((store) => cliJson(['verify', '-s', store], { cwd })),
    )
    expect(reports).toMatchObject(stores.map(() => ({ isWell: true, jobs: 3, problems: [] })))
    expect((await run('repair', '-s', 'sqlite:jobs.db')).out).toMatch(/nothing to repair/)
  })

  it('is as it was at a moment, differs between two, and is drawn', async () => {
    const cwd = await withData()
    const env = { PAWL_STORE: './data' }
    const history = await cliJson<{ items: { position: number }[] }>(['history', 'a'], { cwd, env })
    const first = String(history.items[0]?.position)
    // The directory is one process's at a time.
    const [counts, any] = await Promise.all([
      cli(['at', 'now'], { cwd, env }),
      cli(['diagram'], { cwd }),
    ])
    expect(counts.out).toMatch(/: 3 jobs\n {2}QUEUED 2\n {2}SUCCEEDED 1\n$/)
    expect(any.out).toMatch(/^stateDiagram-v2\n/)
    expect((await cli(['at', first, 'a'], { cwd, env })).out).toMatch(/state {2}QUEUED/)
    const missing = await cli(['at', first, 'b'], { cwd, env })
    expect(missing.code).toBe(2)
    expect(missing.err).toMatch(/There was no job 'b' at position/)
    const changes = await cli(['diff', first, 'now', '-o', 'jsonl'], { cwd, env })
    const lines = changes.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    expect(lines).toEqual([
      { id: 'a', type: 'mail', before: 'QUEUED', after: 'SUCCEEDED' },
      { id: 'b', type: 'mail', before: null, after: 'QUEUED' },
      { id: 'c', type: 'mail', before: null, after: 'QUEUED' },
    ])
    expect((await cli(['diagram', 'a'], { cwd, env })).out).toMatch(/class SUCCEEDED now/)
    expect((await cli(['diff', 'now'], { cwd, env })).out).toBe('No job is different.\n')
  })

  it('with damage is told so, repaired when that is said, and opens again', async () => {
    const cwd = await withData()
    const data = join(cwd, 'data')
    const log = (await readdir(data)).find((name) => name.startsWith('log-')) as string
    await truncate(join(data, log), 100)
    const verified = await cli(['verify', '-s', './data'], { cwd })
    expect(verified.code).toBe(1)
    expect(verified.out).toMatch(/^damaged {2}\.\/data: \d+ problems/)
    const planned = await cli(['repair', '-s', './data'], { cwd })
    expect(planned.code).toBe(1)
    expect(planned.out).toMatch(/Would be done, with --apply:/)
    const unasked = await cli(['repair', '-s', './data', '--apply'], { cwd })
    expect(unasked.code).toBe(2)
    const repaired = await cli(['repair', '-s', './data', '--apply', '--yes'], { cwd })
    expect(repaired).toMatchObject({ code: 0, err: '' })
    expect(repaired.out).toMatch(/Was done:/)
    expect((await cli(['verify', '-s', './data'], { cwd })).code).toBe(0)
  })
})

describe('jobs as lines', () => {
  it('those that did not begin go to another store, twice is fine, and what is wrong is named', async () => {
    const cwd = await withData()
    const wrote = await cli(['export', 'jobs.jsonl', '-s', './data'], { cwd })
    expect(wrote.out).toBe('Wrote 3 jobs to jobs.jsonl.\n')
    expect((await stat(join(cwd, 'jobs.jsonl'))).mode & 0o777).toBe(0o600)
    const over = await cli(['export', 'jobs.jsonl', '-s', './data'], { cwd })
    expect(over).toMatchObject({ code: 2 })
    const piped = await cli(['export', '--tag', 'x', '-s', './data'], { cwd })
    expect(JSON.parse(piped.out)).toMatchObject({
      id: 'a',
      type: 'mail',
      input: 1,
      was: { state: 'SUCCEEDED', output: 1 },
    })
    const imported = await cli(['import', 'jobs.jsonl', '-s', 'sqlite:new.db'], { cwd })
    expect(imported).toMatchObject({ code: 0, out: 'Submitted 2, passed over 1, refused 0.\n' })
    const lines = [
      '{"type":"mail","input":2,"id":"b","key":"k","priority":3}',
      '{"typ":"mail"}',
      'x',
      '',
    ]
    const input = `${lines.join('\n')}{"type":"mail","retry":{"max":0},"id":"d"}\n`
    const wrong = await cli(['import', '-', '-s', 'sqlite:new.db'], { cwd, input })
    expect(wrong.code).toBe(1)
    expect(wrong.out).toMatch(
      /^Submitted 2, passed over 0, refused 2\.\n- 2: .*`type` is missing.*\n- 3: .*no JSON/,
    )
    const list = await cliJson<{ jobs: { id: string }[] }>(['list', '-s', 'sqlite:new.db'], { cwd })
    expect(list.jobs.map(({ id }) => id)).toEqual(['b', 'c', 'd'])
    const all = await cli(['import', 'jobs.jsonl', '--all', '-y', '-s', './other'], { cwd })
    expect(all.out).toBe('Submitted 3, passed over 0, refused 0.\n')
  })
})

describe('databases', () => {
  it('get their tables, or the SQL for them', async () => {
    const cwd = await userFolder()
    const [made, sql, folder] = await Promise.all([
      cli(['migrate', '-s', 'sqlite:jobs.db'], { cwd }),
      cli(['migrate', '--sql', '--schema', 'jobs'], { cwd }),
      cli(['migrate', '-s', './data'], { cwd }),
    ])
    expect(made.out).toMatch(/^The tables are at version \d+; before: none\.\n$/)
    expect(sql.out).toMatch(/^begin;[\s\S]*"jobs"[\s\S]*commit;\n$/)
    expect(folder).toMatchObject({ code: 3 })
    const again = await cliJson<{ from: number; to: number }>(['migrate', '-s', 'sqlite:jobs.db'], {
      cwd,
    })
    expect(again.from).toBe(again.to)
  })
})

describe('PostgreSQL', () => {
  it('gets its tables, is examined, operated on, verified and copied', async () => {
    const cwd = await userFolder()
    const { url, schema } = await freshSchema()
    const env = { PAWL_STORE: url }
    const run = (...args: readonly string[]): ReturnType<typeof cli> =>
      cli([...args, '--schema', schema], { cwd, env })
    const before = await run('doctor')
    // The server of the tests does not sync.
    expect(before.code).toBe(1)
    expect(before.out).toMatch(/unfit {2}fsync +off/)
    expect(before.out).toMatch(
      /fit {4}database +PostgreSQL \d+[\s\S]*there are none yet: `pawl migrate` makes/,
    )
    expect((await run('migrate')).out).toMatch(/^The tables are at version \d+; before: none\./)
    expect((await run('submit', 'mail', '1', '--id', 'a')).out).toBe('a\n')
    const [doctor, list, verify] = await Promise.all([run('doctor'), run('list'), run('verify')])
    expect(doctor.out).toMatch(/fit {4}tables +version \d+\nNot fit for Pawl\.\n$/)
    expect(list.out).toMatch(/^a\s+mail\s+QUEUED/m)
    expect(verify.out).toMatch(/^well {2}postgres/)
    // Where it is said, no password is.
    expect(new URL(url).password === '' || !verify.out.includes(new URL(url).password)).toBe(true)
    const copied = await cli(['copy', url, './copy', '--from-schema', schema], { cwd })
    expect(copied.out).toMatch(/^Copied 1 jobs/)
    const none = await cli(['doctor', '-s', 'postgres://127.0.0.1:9/none'], { cwd })
    expect(none.code).toBe(1)
    expect(none.out).toMatch(/unfit {2}database/)
  })
})

describe('doctor', () => {
  it('finds this machine, its disk and each store fit, and damage not', async () => {
    const cwd = await withData()
    const [bare, directory, missing, nobody] = await Promise.all([
      cli(['doctor'], { cwd }),
      cliJson<{ isFit: boolean; findings: { check: string; verdict: string }[] }>(
        ['doctor', '-s', './data'],
        { cwd },
      ),
      cli(['doctor', '-s', 'sqlite:none.db'], { cwd }),
      cli(['doctor', '-s', 'http://127.0.0.1:9'], { cwd }),
    ])
    expect(bare).toMatchObject({ code: 0 })
    expect(bare.out).toMatch(/^fit {4}node[\s\S]*sync[\s\S]*Fit for Pawl\.\n$/)
    expect(directory.isFit).toBe(true)
    const checks = ['node', 'memory', 'clock', 'stalls', 'file system', 'space', 'sync', 'store']
    expect(directory.findings.map(({ check }) => check)).toEqual(checks)
    expect(missing.out).toMatch(/there is nothing at none\.db yet/)
    expect(nobody.code).toBe(1)
    expect(nobody.out).toMatch(/unfit {2}server[\s\S]*Not fit for Pawl\.\n$/)
    // It leaves nothing behind.
    expect((await readdir(cwd)).toSorted()).toEqual(['data', 'node_modules'])
    const mark = join(cwd, 'data', 'MARK')
    await copyFile(mark, `${mark}.before`)
    const log = (await readdir(join(cwd, 'data'))).find((name) => name.startsWith('log-')) as string
    await truncate(join(cwd, 'data', log), 100)
    const damaged = await cli(['doctor', '-s', './data'], { cwd })
    expect(damaged.code).toBe(1)
    expect(damaged.out).toMatch(/unfit {2}store +\d+ problems/)
  })
})

/** What was told, what was done, and what does not hold. */
function seen({ steps, ...others }: LabRun): unknown {
  return { ...others, answers: steps.map(({ answer }) => answer) }
}

describe('lab', () => {
  it('shows each failure mode without its guard and with it: only without is there damage', async () => {
    const cwd = await userFolder()
    await mkdir(join(cwd, 'empty'))
    const [list, one, json] = await Promise.all([
      cli(['lab'], { cwd }),
      cli(['lab', 'fm_1'], { cwd }),
      cliJson<{ experiments: unknown[] }>(['lab', 'FM_007'], { cwd }),
    ])
    expect(list.out.trim().split('\n')).toHaveLength(1 + FAILURE_MODES.length)
    expect(one.out).toMatch(
      /WITHOUT CommitExecution\.lease-held[\s\S]*charge: 2 times, by slow, by quick[\s\S]*WITH every guard[\s\S]*cancelled[\s\S]*charge: once, by quick/,
    )
    expect(json.experiments).toHaveLength(2)
    for (const { id, experiments } of FAILURE_MODES) {
      for (const experiment of experiments) {
        const [bad, good] = [runExperiment(experiment, false), runExperiment(experiment, true)]
        expect(good.brokenInvariants, id).toEqual([])
        expect(seen(bad), id).not.toEqual(seen(good))
      }
    }
  })

  it('has the modes of docs/failure-modes.md, with their titles and the guards of their sections', async () => {
    const page = await readFile('docs/failure-modes.md', 'utf8')
    const sections = page.split(/^## /m).slice(1)
    expect(FAILURE_MODES.map(({ id, title }) => `${id} ${title}`)).toEqual(
      sections.map((section) => section.split('\n')[0]),
    )
    FAILURE_MODES.forEach(({ experiments }, i) => {
      const guards = experiments
        .flatMap(({ leftOut }) => leftOut)
        .filter((one) => /^\w+(?:\.[\w-]+)?$/.test(one))
      for (const guard of guards) expect(sections[i]).toContain(`\`${guard}\``)
    })
  })
})
