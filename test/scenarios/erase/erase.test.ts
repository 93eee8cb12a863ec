/**
 * Jobs that are erased, on real files and a real server: what they were given and made is looked for in the
 * bytes of every file, before and after.
 */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Pawl } from '../../../src/index.ts'
import {
  child,
  CopiesExist,
  effect,
  job,
  JobWasErased,
  open,
  Refused,
  TerminalError,
  typed,
} from '../../../src/index.ts'
import type { CallerRef, Command, JobSpec, WaitSpec } from '../../../src/kernel/index.ts'
import { calleeId } from '../../../src/kernel/index.ts'
import type { Claimed, Store } from '../../../src/store/index.ts'
import { openDirectory, verifyDatabase, verifyDirectory } from '../../../src/store/index.ts'
import { openPostgres, openSqliteStore } from '../../../src/store/sql/open-sql.ts'
import { claim, reportOf, TestClock } from '../../conformance/bench.ts'
import { endPipeline, endPlain, SECRET_TEXT } from '../../conformance/secret-jobs.ts'
import { temporaryFolder } from '../../support/engines.ts'
import { freshSchema } from '../../support/postgres.ts'
import { call, onRecord, plain } from '../../support/specs.ts'

const run = promisify(execFile)

/** Files in the folders that have the text in their bytes. */
async function filesWith(text: string, ...folders: readonly string[]): Promise<string[]> {
  // It fails if there are none, and on files that go away meanwhile.
  const found = await run('grep', ['-rlaF', text, ...folders]).catch((error: unknown) => {
    return error as { stdout: string }
  })
  return found.stdout.split('\n').filter((path) => path !== '')
}

interface Place {
  openStore(clock: TestClock): Promise<Store>
  open(): Promise<Pawl>
  /** Where the text is found. */
  find(text: string): Promise<string[]>
  verify(): Promise<{ readonly problems: readonly unknown[] }>
  /** What the database does by itself from time to time. */
  tend?(): Promise<unknown>
}

const PLACES: Readonly<Record<string, () => Promise<Place>>> = {
  'a directory': async () => {
    const folder = await temporaryFolder()
    return {
      openStore: (clock) => openDirectory(folder, { clock }),
      open: () => open(folder),
      find: (text) => filesWith(text, folder),
      verify: () => verifyDirectory(folder),
    }
  },
  SQLite: async () => {
    const path = join(await temporaryFolder(), 'jobs.db')
    return {
      openStore: (clock) => openSqliteStore({ path, clock }),
      open: () => open(`sqlite:${path}`),
      // With the write-ahead log, what processes say, and the artifacts.
      find: (text) => filesWith(text, dirname(path)),
      verify: () => verifyDatabase(`sqlite:${path}`),
    }
  },
  PostgreSQL: async () => {
    const { url, schema } = await freshSchema()
    const artifacts = await temporaryFolder()
    return {
      openStore: (clock) => openPostgres({ url, schema, clock }),
      open: () => open(url, { schema, artifacts }),
      find: async (text) => {
        const tables = await tablesWith(url, schema, text)
        return [...tables, ...(await filesWith(text, artifacts, await tableFiles(url)))]
      },
      verify: () => verifyDatabase(url, { schema }),
      // Statistics hold samples of what is in the columns.
      tend: () => connected(url, (client) => client.query(`analyze ${tablesIn(schema)}`)),
    }
  },
}

async function connected<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(url)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function tablesIn(schema: string): string {
  return ['events', 'work', 'baselines', 'schedules', 'reports']
    .map((table) => `"${schema}".${table}`)
    .join(', ')
}

/** As a dump has them: every table, every row, with bytes in hexadecimal digits. */
async function tablesWith(url: string, schema: string, text: string): Promise<string[]> {
  return connected(url, async (client) => {
    const asked = 'select tablename as name from pg_tables where schemaname = $1'
    const { rows } = await client.query<{ name: string }>(asked, [schema])
    const found: string[] = []
    for (const { name } of rows) {
      const hex = Buffer.from(text).toString('hex')
      const sql = `select 1 from "${schema}".${name} t where t::text like $1 or t::text like $2 limit 1`
      const { rowCount } = await client.query(sql, [`%${text}%`, `%${hex}%`])
      if (rowCount !== 0) found.push(`table ${name}`)
    }
    return found
  })
}

/** The folder of the database's files, with all that it has in memory written to them. */
async function tableFiles(url: string): Promise<string> {
  return connected(url, async (client) => {
    await client.query('checkpoint')
    const sql = `select current_setting('data_directory') || '/base/' || oid as path
      from pg_database where datname = current_database()`
    const { rows } = await client.query<{ path: string }>(sql)
    return rows[0]?.path as string
  })
}

const mail = effect('mail', {
  idempotent: true,
  input: typed<{ text: string }>(),
  run: async () => undefined,
})
const sent = job('sent', { input: typed<string>(), run: async () => undefined })
const busy = job('busy', {
  input: typed<string>(),
  effects: [mail],
  retry: { max: 1, delay: 0 },
  async run({ input, step, progress, log, artifact, job: { attempt }, commit }) {
    progress({ input })
    log(`at ${input}`)
    await step('first', () => input)
    if (attempt === 1) throw new Error(`no ${input}`)
    const file = await artifact('a.txt').write(input)
    return commit({ text: input, file }, [mail({ text: input })], [child(sent, input)])
  },
})
const parent = job('parent', {
  input: typed<string>(),
  run: async ({ input, commit }) => commit(input, [], [child(sent, input)]),
})
const failing = job('failing', {
  input: typed<string>(),
  run: ({ input }) => {
    throw new TerminalError(`no ${input}`)
  },
})

describe.each(Object.keys(PLACES))('on %s', (name) => {
  const fresh = PLACES[name] as () => Promise<Place>

  it('every field of every kind of job is in no file once it is compacted', async () => {
    const place = await fresh()
    const clock = new TestClock()
    // They are forgotten a week after their end.
    clock.time = Date.now() - 3_600_000
    const store = await place.openStore(clock)
    const send: Parameters<typeof endPlain>[0]['send'] = async (command) => {
      const [answer] = await store.execute([command])
      return answer as NonNullable<typeof answer>
    }
    await endPlain({ clock, store, send })
    await endPipeline({ clock, store, send })
    await send({ type: 'CancelJob', job: 'a/0/0/1', by: 'ops', reason: SECRET_TEXT })
    await store.close()
    await place.tend?.()
    expect(await place.find(SECRET_TEXT)).not.toEqual([])
    const pawl = await place.open()
    onTestFinished(() => pawl.close())
    expect(await pawl.erase('a', { copies: 'erase' })).toEqual(['a', 'a/0/0/1'])
    await pawl.erase('p')
    await pawl.compact()
    expect(await place.find(SECRET_TEXT)).toEqual([])
    expect((await pawl.get('p'))?.state).toBe('SUCCEEDED')
    await pawl.close()
    // Nothing comes back when it is closed, or opened.
    expect(await place.find(SECRET_TEXT)).toEqual([])
    expect((await place.verify()).problems).toEqual([])
    const again = await place.open()
    onTestFinished(() => again.close())
    expect((await again.get('a'))?.erased?.by).toBe('client')
  })

  it('steps, errors, artifacts and what handlers said are gone, and those of other jobs are not', async () => {
    const place = await fresh()
    const pawl = await place.open()
    onTestFinished(() => pawl.close())
    const [secret, other] = [`secret-${randomUUID()}`, `other-${randomUUID()}`]
    const worker = pawl.work([busy, sent], { signals: [] })
    const handle = await pawl.submit(busy, secret, { id: 'a', key: 'k' })
    const kept = await pawl.submit(busy, other, { id: 'b' })
    const { file } = await handle.result()
    await kept.result()
    await expect.poll(async () => (await pawl.list({ type: 'sent' })).jobs.length).toBe(2)
    await expect
      .poll(async () => (await pawl.list({ type: 'sent', state: 'SUCCEEDED' })).jobs.length)
      .toBe(2)
    // What was said comes a second late to others.
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    await worker.stop()
    await place.tend?.()
    expect(await place.find(secret)).not.toEqual([])
    await expect(pawl.erase('a')).rejects.toThrow(CopiesExist)
    await expect(pawl.erase('a')).rejects.toMatchObject({
      copies: [{ job: 'a/0/0/1', relation: 'child' }],
    })
    await expect(pawl.erase('a/0/0/1')).rejects.toMatchObject({
      copies: [{ job: 'a', relation: 'parent' }],
    })
    expect(await pawl.erase('a/0/0/1', { copies: 'erase' })).toEqual(['a/0/0/1', 'a'])
    await pawl.compact()
    expect(await place.find(secret)).toEqual([])
    expect(await place.find(other)).not.toEqual([])
    await expect(pawl.artifacts.open(file)).rejects.toMatchObject({
      code: 'ArtifactMissing',
    })
    expect(await kept.result()).toMatchObject({ text: other })
    // Nobody else is told what was there; that it ran is.
    await expect(handle.result()).rejects.toThrow(JobWasErased)
    expect(await pawl.get('a')).toMatchObject({
      state: 'SUCCEEDED',
      input: undefined,
      output: undefined,
      attempt: 2,
      progress: undefined,
      lines: [],
      erased: { by: 'client', reason: 'Erased' },
    })
    const listed = await pawl.list({ type: 'busy' })
    expect(listed.jobs.map(({ erasedAt }) => erasedAt !== null)).toEqual([true, false])
    expect((await pawl.submit(busy, 'something else', { key: 'k' })).id).toBe('a')
  })
})

async function inMemory(): Promise<Pawl> {
  const pawl = await open('memory:')
  onTestFinished(() => pawl.close())
  return pawl
}

describe('a job that is erased', () => {
  it('takes its reruns with it, or leaves them, or is refused because of them', async () => {
    const pawl = await inMemory()
    const worker = pawl.work([failing], { signals: [] })
    const end = async (id: string): Promise<void> => {
      await expect(pawl.handle(id).result()).rejects.toThrow()
    }
    for (const id of ['a', 'other']) await pawl.submit(failing, 'secret', { id })
    await end('a')
    await pawl.rerun('a', { id: 'b' })
    await end('b')
    await pawl.rerun('b', { id: 'c' })
    await end('c')
    await worker.stop()
    await pawl.rerun('c', { id: 'd' })
    const asked = pawl.erase('b')
    await expect(asked).rejects.toMatchObject({
      code: 'CopiesExist',
      copies: ['a', 'c', 'd'].map((one) => ({ job: one, relation: 'rerun' })),
    })
    await expect(asked).rejects.toThrow(
      "Job b was not erased, because other jobs hold copies of what it holds: a (rerun), c (rerun), d (rerun). Give `copies: 'erase'`",
    )
    // All of them, or none.
    await expect(pawl.erase('b', { copies: 'erase' })).rejects.toThrow(/Erasing job d was refused/)
    expect((await pawl.get('b'))?.erased).toBeNull()
    await pawl.cancel('d')
    expect(await pawl.erase('b', { copies: 'keep', by: 'dpo', reason: 'asked for' })).toEqual(['b'])
    expect((await pawl.get('a'))?.erased).toBeNull()
    expect(await pawl.erase('b', { copies: 'erase' })).toEqual(['b', 'a', 'c', 'd'])
    expect((await pawl.get('b'))?.erased).toMatchObject({ by: 'dpo', reason: 'asked for' })
    expect((await pawl.get('other'))?.erased).toBeNull()
    await expect(pawl.rerun('a')).rejects.toThrow(JobWasErased)
    const error = await pawl
      .handle('b')
      .result()
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'JobWasErased', details: { by: 'dpo', state: 'FAILED' } })
    expect(await pawl.history('b')).toMatchObject(
      expect.arrayContaining([expect.objectContaining({ type: 'JobErased', by: 'dpo' })]),
    )
  })

  it('takes reruns of its parent and of its children with it', async () => {
    const pawl = await inMemory()
    const worker = pawl.work([parent, sent], { signals: [] })
    await (await pawl.submit(parent, 'secret', { id: 'a' })).result()
    await pawl.handle('a/0/0/0').result()
    await (await pawl.rerun('a', { id: 'again', effects: 'again' })).result()
    await (await pawl.rerun('a/0/0/0', { id: 'child-again' })).result()
    await worker.stop()
    await expect(pawl.erase('a/0/0/0')).rejects.toMatchObject({
      copies: [
        { job: 'a', relation: 'parent' },
        { job: 'again', relation: 'rerun' },
        { job: 'child-again', relation: 'rerun' },
      ],
    })
    await expect(pawl.erase('a')).rejects.toMatchObject({
      copies: [
        { job: 'a/0/0/0', relation: 'child' },
        { job: 'again', relation: 'rerun' },
        { job: 'child-again', relation: 'rerun' },
      ],
    })
  })

  it('takes callees with it that an earlier run called, before it continued with a new input', async () => {
    const [folder, clock] = [await temporaryFolder(), new TestClock()]
    clock.time = Date.now() - 3_600_000
    const store = await openDirectory(folder, { clock })
    const send = async (...commands: Command[]): Promise<void> => {
      const answers = await store.execute(commands)
      for (const { verdict, rejection } of answers) {
        expect(verdict, rejection?.message).toBe('committed')
      }
    }
    const nap: WaitSpec = { ...call(), name: 'nap', delayMs: 5, callee: null }
    const first = call({ run: '1' })
    const callee = calleeId(first.callee?.caller as CallerRef)
    await send({ type: 'SubmitJob', job: 'a', spec: plain() })
    const [leased] = await store.claim(claim({ request: 1 }))
    const suspended = {
      needs: 'any',
      waits: [first, nap],
      unfit: [],
      definitionVersion: 1,
    } as const
    await send(
      { type: 'SuspendExecution', ...reportOf(leased as Claimed), ...suspended },
      { type: 'SubmitJob', job: callee, spec: first.callee as JobSpec },
      { type: 'CancelJob', job: callee, ...onRecord },
    )
    clock.time += 5
    const [again] = await store.claim(claim({ request: 2 }))
    const report = { ...reportOf(again as Claimed), input: '"next"', definitionVersion: 1 }
    await send(
      { type: 'ContinueExecution', ...report },
      { type: 'CancelJob', job: 'a', ...onRecord },
    )
    await store.close()
    const pawl = await open(folder)
    onTestFinished(() => pawl.close())
    await expect(pawl.erase('a')).rejects.toMatchObject({
      copies: [{ job: callee, relation: 'callee' }],
    })
  })

  it('must be over, be there, and be asked for in words that are known', async () => {
    const pawl = await inMemory()
    await pawl.submit(busy, 'x', { id: 'a' })
    await expect(pawl.erase('a')).rejects.toThrow(Refused)
    await expect(pawl.erase('a')).rejects.toMatchObject({ code: 'JobNotFinal' })
    await expect(pawl.erase('b')).rejects.toMatchObject({ code: 'UnknownJob' })
    await expect(pawl.erase('a', { copies: 'all' as never })).rejects.toThrow(
      "`copies` is 'erase' or 'keep', or it is left out, not all.",
    )
    await expect(pawl.erase(7 as never)).rejects.toThrow('The id of a job is a text')
  })
})
