/**
 * What a new user writes by mistake. Each is refused where it is written, BEFORE anything is sent or made, and
 * its message has the option or the value that was given, and what to write instead.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Pawl } from '../../../src/index.ts'
import { batchJob, child, effect, job, open, pipeline, typed } from '../../../src/index.ts'

const wrong = (value: unknown): never => value as never
const run = (): null => null
const greet = job('greet', { input: typed<string>(), run })
const receipt = effect('receipt', { run })

/** What is written, and what its message must have. */
type Misuse = readonly [written: string, message: readonly string[], write: () => unknown]

const DEFINITIONS: readonly Misuse[] = [
  [
    'retry: 5',
    ["job 'a'", 'an object, not 5', 'retry: { max: 5 }'],
    () => job('a', { retry: wrong(5), run }),
  ],
  [
    'retry: { attempts: 5 }',
    ['`attempts`', "job 'a'", '`max`'],
    () => job('a', { retry: wrong({ attempts: 5 }), run }),
  ],
  ['retires: …', ['`retires`', '`retry`'], () => job('a', wrong({ retires: { max: 1 }, run }))],
  ['attempts: 3', ['`attempts`', '`retry`'], () => job('a', wrong({ attempts: 3, run }))],
  ['handler: …', ['`handler`', '`run`'], () => job('a', wrong({ handler: run }))],
  ['timeOut: …', ['`timeOut`', '`timeout`'], () => job('a', wrong({ timeOut: '5s', run }))],
  [
    'a handler for the options',
    ["job 'a'", 'the function run', "job('a', { run:"],
    () => job('a', wrong(run)),
  ],
  [
    "input: { name: 'string' }",
    ['`input`', "job 'a'", 'zod', 'typed<'],
    () => job('a', wrong({ input: { name: 'string' }, run })),
  ],
  ['output: String', ['`output`', 'zod'], () => job('a', wrong({ output: String, run }))],
  [
    'limits: {}',
    ['`limits`', 'an object', "[{ key: 'mail', concurrency: 5 }]"],
    () => job('a', { limits: wrong({}), run }),
  ],
  [
    'a limit with max',
    ['`max`', 'a limit of job', '`concurrency`'],
    () => job('a', { limits: [wrong({ key: 'k', max: 2 })], run }),
  ],
  [
    'a rate in words',
    ['rate', "'10/s'", "{ count: 100, per: '1m' }"],
    () => job('a', { limits: [wrong({ key: 'k', rate: '10/s' })], run }),
  ],
  [
    'effects: receipt',
    ['`effects`', 'a list', 'effects: [receipt]'],
    () => job('a', { effects: wrong(receipt), run }),
  ],
  [
    'effects: [fn]',
    ['`effects`', 'the function run', "effect('…', { run })"],
    () => job('a', { effects: wrong([run]), run }),
  ],
  [
    'stalled: true',
    ['`stalled`', 'not true', "stalled: { after: '5m' }"],
    () => job('a', { stalled: wrong(true), run }),
  ],
  ['an effect: retries', ['`retries`', '`retry`'], () => effect('e', wrong({ retries: 2, run }))],
  ['an effect: a handler', ["effect('e', { run:"], () => effect('e', wrong(run))],
  ['a batch: size', ['`size`', 'max'], () => batchJob('b', wrong({ size: 5, run: () => [] }))],
  ['a pipeline: run', ['`run`', "pipeline 'p'"], () => pipeline('p', wrong({ run }))],
  [
    'a stage: needs',
    ['`needs`', "stage 's' of pipeline 'p'", 'after'],
    () => pipeline('p').stage('s', wrong({ needs: 'a', run })),
  ],
  ['a child: jobId', ['`jobId`', "child 'greet'"], () => child(greet, 'x', wrong({ jobId: '1' }))],
]

describe('a definition', () => {
  it.each(DEFINITIONS)('%s is refused', (_, message, write) => {
    expect(write).toThrow(expect.objectContaining({ code: 'InvalidDefinition' }) as Error)
    for (const part of message) expect(write).toThrow(part)
  })
})

describe('a child', () => {
  it('has no id of its own, and says so', () => {
    expect(() => child(greet, 'x', wrong({ id: '1' }))).toThrow('no option `id` of child')
  })
})

type Misused = readonly [
  written: string,
  message: readonly string[],
  write: (pawl: Pawl) => unknown,
]

const CALLS: readonly Misused[] = [
  ["submit('greet')", ['submit()', "'greet'", "job('…'"], (p) => p.submit(wrong('greet'))],
  ['submit(run)', ['submit()', 'the function run'], (p) => p.submit(wrong(run))],
  ['submit: jobId', ['`jobId`', '`id`'], (p) => p.submit(greet, 'x', wrong({ jobId: 'a' }))],
  [
    "submit: { key: '…' } in place of the input",
    ['not 5', 'submit(definition, input, {'],
    (p) => p.submit(greet, 'x', wrong(5)),
  ],
  [
    "submitMany(def, ['a', 'b'])",
    ['{ input, options }', 'number 1', "'a'", 'inputs.map((input) => ({ input }))'],
    (p) => p.submitMany(greet, wrong(['a', 'b'])),
  ],
  [
    'submitMany: an item with a key beside its input',
    ['`key`', 'input, options'],
    (p) => p.submitMany(greet, wrong([{ input: 'a', key: 'k' }])),
  ],
  [
    'submitMany: options of an item',
    ['`prio`', '`priority`'],
    (p) => p.submitMany(greet, wrong([{ input: 'a', options: { prio: 1 } }])),
  ],
  [
    'submitMany: options of all',
    ['`queue`', 'submitMany()'],
    (p) => p.submitMany(greet, [], wrong({ queue: 'q' })),
  ],
  ['work(job)', ['a list', 'work([greet])'], (p) => p.work(wrong(greet))],
  ['work([fn])', ['number 1', 'the function run', "job('…'"], (p) => p.work(wrong([run]))],
  ['work: workers', ['`workers`', '`concurrency`'], (p) => p.work([greet], wrong({ workers: 5 }))],
  [
    'schedule: pattern',
    ['`pattern`', '`cron`', "schedule 's'"],
    (p) => p.schedule('s', wrong({ job: greet, input: 'x', pattern: '* * * * *' })),
  ],
  ['configure: max', ['`max`', '`concurrency`'], (p) => p.configure('q', wrong({ max: 5 }))],
  ['configure: 5', ['not 5', '{ concurrency: 5 }'], (p) => p.configure('q', wrong(5))],
  ['list: name', ['`name`', '`type`', 'list()'], (p) => p.list(wrong({ name: 'greet' }))],
  ['list: status', ['`status`', '`state`'], (p) => p.list(wrong({ status: 'FAILED' }))],
  [
    'list: type is undefined',
    ['`type` of list()', 'undefined', 'leave it out'],
    (p) => p.list(wrong({ type: undefined })),
  ],
  [
    'list: a state that is none',
    ['`state`', "'DONE'", 'SUCCEEDED'],
    (p) => p.list(wrong({ state: 'DONE' })),
  ],
  ['list: order', ['`order`', "'desc'", "'newest'"], (p) => p.list(wrong({ order: 'desc' }))],
  [
    'list: a time in words',
    ["'yesterday'", 'date'],
    (p) => p.list(wrong({ submittedFrom: "'yesterday'" })),
  ],
  ['counts: by name', ['`by`', "'name'", "'type'"], (p) => p.counts(wrong({ by: 'name' }))],
  ['counts: status', ['`status`', 'counts()'], (p) => p.counts(wrong({ status: 'FAILED' }))],
  [
    'counts: a tag of an error',
    ['counts()', 'no counter', 'list()'],
    (p) => p.counts({ tag: 'a', error: 'b' }),
  ],
  [
    'counts: by tag of a tag',
    ['by tag of one tag', 'list()'],
    (p) => p.counts({ by: 'tag', tag: 'a' }),
  ],
  ["bulk('delete')", ["'cancel'", "'delete'"], (p) => p.bulk(wrong('delete'), { type: 'a' })],
  [
    "bulk('cancel', {})",
    ["bulk('cancel')", 'does not say which jobs', '{ all: true }'],
    (p) => p.bulk('cancel', {}),
  ],
  [
    "bulk('cancel', { type: undefined })",
    ["`type` of bulk('cancel')", 'undefined'],
    (p) => p.bulk('cancel', wrong({ type: undefined })),
  ],
  [
    "bulk('cancel', { typ: 'a' })",
    ['`typ`', '`type`', "bulk('cancel')"],
    (p) => p.bulk('cancel', wrong({ typ: 'a' })),
  ],
  [
    'bulk: all and a filter',
    ['`all`', '`type`', 'leave out'],
    (p) => p.bulk('cancel', { all: true, type: 'a' }),
  ],
  [
    'bulk: a state that the action is not for',
    ['SUCCEEDED', "bulk('cancel')", 'QUEUED'],
    (p) => p.bulk('cancel', { state: 'SUCCEEDED' }),
  ],
  [
    'bulk: a rerun without a name',
    ["bulk('rerun')", '`name`'],
    (p) => p.bulk('rerun', { type: 'a' }),
  ],
  [
    'bulk: a reschedule of nothing',
    ["bulk('reschedule')", '`delay`'],
    (p) => p.bulk('reschedule', { type: 'a' }),
  ],
  [
    'bulk: a delay for a cancel',
    ["bulk('reschedule')", "not for bulk('cancel')"],
    (p) => p.bulk('cancel', { type: 'a' }, { delay: '1h' }),
  ],
  [
    'bulk: a rate in words',
    ['`speed`', "bulk('cancel')"],
    (p) => p.bulk('cancel', { type: 'a' }, wrong({ speed: 5 })),
  ],
  [
    "quarantine.discard({ typ: 'a' })",
    ['`typ`', '`type`', 'quarantine.discard()'],
    (p) => p.quarantine.discard(wrong({ typ: 'a' })),
  ],
  [
    'quarantine.discard({ type: undefined })',
    ['`type` of quarantine.discard()', 'undefined'],
    (p) => p.quarantine.discard(wrong({ type: undefined })),
  ],
  [
    'quarantine.discard({ ids: undefined })',
    ['`ids` of quarantine.discard()', 'undefined'],
    (p) => p.quarantine.discard(wrong({ ids: undefined })),
  ],
  [
    'quarantine.discard()',
    ['does not say which jobs', '{ all: true }'],
    (p) => p.quarantine.discard(wrong({})),
  ],
  [
    'quarantine.redrive()',
    ['does not say which jobs', '{ all: true }'],
    (p) => p.quarantine.redrive(wrong({ rate: { count: 1, per: '1s' } })),
  ],
  [
    'quarantine.discard: all, and a filter',
    ['`all`', '`type`', 'one or the other'],
    (p) => p.quarantine.discard({ all: true, type: 'a' }),
  ],
  [
    'quarantine.discard: all: false',
    ['`all`', 'not false'],
    (p) => p.quarantine.discard(wrong({ all: false })),
  ],
  [
    'quarantine.groups: tags',
    ['`tags`', '`tag`'],
    (p) => p.quarantine.groups(wrong({ tags: ['a'] })),
  ],
  ['cancel: why', ['`why`', 'by, reason'], (p) => p.cancel('a', wrong({ why: 'x' }))],
  ['force: state', ['`state`', 'to'], (p) => p.force('a', wrong({ state: 'FAILED' }))],
  ['retry: attempts', ['`attempts`', '`attempt`'], (p) => p.retry('a', wrong({ attempts: 1 }))],
  ['reschedule: when', ['`when`'], (p) => p.reschedule('a', wrong({ when: 1 }))],
  ['rerun: step', ['`step`'], (p) => p.rerun('a', wrong({ step: 'one' }))],
  ['erase: copie', ['`copie`', '`copies`'], (p) => p.erase('a', wrong({ copie: 'erase' }))],
  ['history: page', ['`page`', 'history()'], (p) => p.history('a', wrong({ page: 2 }))],
]

describe('a call', () => {
  it.each(CALLS)('%s is refused', async (_, message, write) => {
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    await pawl.submit(greet, 'kept', { id: 'kept' })
    const written = (async () => write(pawl))()
    await expect(written).rejects.toMatchObject({ code: 'InvalidDefinition' })
    for (const part of message) await expect(written).rejects.toThrow(part)
    expect((await pawl.list()).jobs.map(({ id, state }) => [id, state])).toEqual([
      ['kept', 'QUEUED'],
    ])
  })
})

describe('a transaction', () => {
  it('is no client of pg, but what fromPg makes of one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'pawl-misuse-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const pawl = await open(`sqlite:${join(folder, 'jobs.db')}`)
    onTestFinished(() => pawl.close())
    for (const client of [new Client(), new Pool()]) {
      const written = pawl.submit(greet, 'x', { tx: wrong(client) })
      await expect(written).rejects.toThrow('tx: fromPg(client)')
    }
  })
})

describe('a place', () => {
  let folder = ''
  const before = process.cwd()
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'pawl-places-'))
    process.chdir(folder)
  })
  afterAll(() => {
    process.chdir(before)
    rmSync(folder, { recursive: true, force: true })
  })

  it.each([
    ['postgressql://app:s3cret@host/db', "'postgres://…'"],
    ['POSTGRES://app:s3cret@host/db', "'postgres://…'"],
    ['postgres:app:s3cret@host/db', "'postgres://…'"],
    ['pg://app:s3cret@host/db', "'postgres://…'"],
    ['redis://app:s3cret@host', 'no such store'],
    ['mysql://app:s3cret@host/db', 'no such store'],
    ['mongodb+srv://app:s3cret@host/db', 'no such store'],
    ['file:///s3cret', 'the path alone'],
    ['sqlite://s3cret.db', "'sqlite:jobs.db'"],
    ['sqlite3:s3cret.db', "'sqlite:jobs.db'"],
    ['SQLITE:s3cret.db', "'sqlite:jobs.db'"],
    ['http://app:s3cret@host', '{ token }'],
    ['HTTP://app:s3cret@host', 'in small letters'],
    ['http://host/?s3cret', 'without a query'],
    [' postgres://app:s3cret@host/db', 'a blank'],
    ['./s3cret\n', 'a blank'],
    ['memory', null],
  ])('%s is what it says, or is refused and makes nothing', async (location, message) => {
    if (message === null) {
      // A directory may have any name that looks like no URL.
      await (await open(location)).close()
      expect(readdirSync(folder)).toEqual([location])
      return
    }
    const opening = open(location)
    await expect(opening).rejects.toMatchObject({ code: 'InvalidDefinition' })
    await expect(opening).rejects.toThrow(message)
    await expect(opening).rejects.not.toThrow('s3cret')
    expect(readdirSync(folder)).toEqual([])
  })

  it.each([
    [{ retention: '30d' }, ["'30d'", "retention: { age: '30d' }"]],
    [{ retention: { days: 30 } }, ['`days`', 'age, count, types']],
    [{ retention: { types: { mail: '30d' } } }, ["{ mail: { age: '30d' } }"]],
    [{ retentions: { age: '30d' } }, ['`retentions`', '`retention`']],
    [{ logger: { info: 1 } }, ['`logger`', 'info, warn and error', 'pino()']],
    [{ loger: console }, ['`loger`', '`logger`']],
    ['./data', ["'./data'", 'an object']],
  ])('options %j are refused', async (options, message) => {
    const opening = open('memory:', wrong(options))
    await expect(opening).rejects.toMatchObject({ code: 'InvalidDefinition' })
    for (const part of message) await expect(opening).rejects.toThrow(part)
  })
})
