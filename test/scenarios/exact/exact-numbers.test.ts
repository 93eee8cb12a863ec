/**
 * Numbers that JavaScript has no value for, from a worker in another language to everything that shows them: none is shown,
 * kept or written as another.
 */
import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Pawl } from '../../../src/index.ts'
import { job, open, typed } from '../../../src/index.ts'
import { accessTo } from '../../../src/engine/engine-access.ts'
import type { Schedule } from '../../../src/kernel/index.ts'
import type { OperationName } from '../../../src/protocol/index.ts'
import { OPERATIONS, pathOf } from '../../../src/protocol/index.ts'
import { serve } from '../../../src/server/index.ts'
import { cli, cliJson } from '../../support/command-line.ts'
import { EVERY_ENGINE, temporaryFolder } from '../../support/engines.ts'
import {
  EXACT,
  EXACT_JOBS,
  LARGE,
  LARGEST,
  recordExactJobs,
  ROUNDED,
} from '../../support/exact-jobs.ts'
import type { Answered } from '../../support/server-calls.ts'
import { callServer, serverInFront } from '../../support/server-calls.ts'

const { done, dead, film } = EXACT_JOBS
const note = job('note', { input: typed<unknown>(), run: () => null })
const FILM_OUTPUT = `[${EXACT.segments.join(',')}]`

interface Shown extends Record<string, unknown> {
  readonly exact?: Record<string, string>
}

/** A body as it is written, whatever JavaScript would make of it. */
async function post(
  url: string,
  name: OperationName,
  path: Record<string, string>,
  body: string,
): Promise<Answered> {
  const operation = OPERATIONS[name]
  const response = await fetch(`${url}${pathOf(operation, path).path}`, {
    method: operation.method,
    headers: { 'content-type': 'application/json' },
    body,
  })
  return {
    status: response.status,
    body: (await response.json()) as Record<string, unknown>,
  }
}

describe.each(EVERY_ENGINE)('%s', (_, openEngine) => {
  it('a job shows what was recorded, digit by digit, in the library and over HTTP', async () => {
    const pawl = await openEngine()
    const server = await serve(pawl, { port: 0 })
    onTestFinished(() => server.close())
    const { url } = server
    await recordExactJobs(url)
    const { input, output, metadata, values } = EXACT
    const info = await pawl.get(done)
    expect(info?.exact).toEqual({ input, output, metadata })
    expect(info?.input).toMatchObject({ note: 'grün', id: Number(ROUNDED[0]) })
    const entries = await pawl.history(done)
    const step = entries.find(({ type }) => type === 'StepRecorded')
    expect(step?.entry).toMatchObject({ value: EXACT.step })
    const show = await callServer(url, 'jobs.show', { job: done })
    expect((show.body as Shown).exact).toEqual({ input, output, metadata })
    const result = await callServer(url, 'jobs.result', { job: done })
    expect(result.body).toMatchObject({ state: 'SUCCEEDED', exact: { result: output } })
    const stream = await callServer(url, 'jobs.stream', { job: done, stream: 'log' })
    const items = stream.body['items'] as readonly Shown[]
    expect(items.map(({ exact }) => exact?.['value'])).toEqual([values[0], undefined, values[2]])
    const read: unknown[] = []
    for await (const { value, exact } of pawl.handle(done).stream('log')) {
      read.push(exact?.value ?? value)
    }
    expect(read).toEqual([values[0], 7, values[2]])
    const filmed = await callServer(url, 'jobs.show', { job: film })
    expect(filmed.body).toMatchObject({ state: 'SUCCEEDED', exact: { output: FILM_OUTPUT } })
    const filmResult = await callServer(url, 'jobs.result', { job: film })
    expect((filmResult.body as Shown).exact).toEqual({ result: FILM_OUTPUT })
    const position = entries.at(-1)?.position as number
    const past = await callServer(url, 'past.show', { job: done, position })
    expect((past.body as Shown).exact).toEqual({ input, output, metadata })
    // What is done to the job without another input keeps its own.
    const again = await callServer(url, 'jobs.rerun', { job: done })
    expect((await pawl.get(again.body['job'] as string))?.exact?.input).toBe(input)
    expect((await callServer(url, 'jobs.retry', { job: dead })).status).toBe(200)
    expect((await pawl.get(dead))?.exact?.input).toBe(input)
  }, 60_000)
})

describe('a job without such a number', () => {
  it('has nothing beside its fields', async () => {
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    const { id } = await pawl.submit(note, { id: 2 ** 53 - 1 })
    expect(await pawl.get(id)).not.toHaveProperty('exact')
  })
})

describe('over HTTP', () => {
  it('a token without payloads and an erased job have no exact texts', async () => {
    const tokens = [
      { token: 'all-0123456789abcdef', roles: ['admin'] },
      { token: 'blind-0123456789abcdef', roles: ['read'], payloads: false },
    ] as const
    const { call, server, pawl, events } = await serverInFront({ tokens: [...tokens] })
    await recordExactJobs(server.url, tokens[0].token)
    const blind = tokens[1].token
    for (const [name, given] of [
      ['jobs.show', { job: done }],
      ['jobs.show', { job: film }],
      ['jobs.result', { job: done }],
      ['jobs.stream', { job: done, stream: 'log' }],
      ['past.show', { job: done, position: 1_000 }],
    ] as const) {
      const { status, body } = await call(name, given, blind)
      expect(status, name).toBe(200)
      expect(JSON.stringify(body), name).not.toMatch(/"exact":|9007199|18446744/)
    }
    const sent = await events('jobs.stream.events', { job: done, stream: 'log' }, { token: blind })
    expect(sent).toHaveLength(3)
    expect(JSON.stringify(sent)).not.toMatch(/"exact":|9007199|18446744/)
    const seen = await events(
      'jobs.stream.events',
      { job: done, stream: 'log' },
      { token: tokens[0].token },
    )
    expect(seen[0]?.data['exact']).toEqual({ value: EXACT.values[0] })
    await pawl.erase(done, { by: 'ada', reason: 'asked to' })
    expect(await pawl.get(done)).not.toHaveProperty('exact')
  })

  it('a schedule shows what its jobs are given, and keeps it when it is paused', async () => {
    const { call, pawl } = await serverInFront()
    await pawl.schedule('nightly', { every: '6h', job: note, input: { id: 'HERE' } })
    const access = accessTo(pawl)
    const stored = (await access?.store.query({
      kind: 'schedule',
      schedule: 'nightly',
    })) as Schedule
    const definition = (stored.definition as string).replace('\\"HERE\\"', LARGE)
    const record = { by: 'ada', reason: 'as another program' }
    await access?.execute([
      { type: 'SetSchedule', schedule: 'nightly', definition, seen: null, ...record },
    ])
    const exact = { input: `{"id":${LARGE}}` }
    expect((await call('schedules.show', { schedule: 'nightly' })).body).toMatchObject({ exact })
    expect((await call('schedules.pause', { schedule: 'nightly' })).status).toBe(200)
    expect((await call('schedules.list')).body['schedules']).toMatchObject([{ exact }])
  })

  it.each([
    ['jobs.submit', {}, `{"type":"note","input":{"id":[1,${LARGE}]}}`, 'input.id[1]'],
    ['jobs.submit', {}, `{"type":"note","metadata":{"id":${LARGE}}}`, 'metadata.id'],
    ['jobs.retry', { job: dead }, `{"input":{"id":${LARGE}}}`, 'input.id'],
    ['jobs.rerun', { job: done }, `{"input":${LARGE}}`, 'input'],
    ['jobs.force', { job: dead }, `{"to":"SUCCEEDED","output":${LARGE}}`, 'output'],
    ['messages.send', { job: dead }, `{"message":"go","value":${LARGE}}`, 'value'],
    ['inbox.answer', { job: dead }, `{"name":"go","value":${LARGE}}`, 'value'],
    ['quarantine.redrive', {}, `{"all":true,"input":{"id":${LARGE}}}`, 'input.id'],
    ['schedules.set', { schedule: 's' }, `{"type":"note","every":"1h","input":${LARGE}}`, 'input'],
  ] as const)('%s refuses a number that it would keep as another', async (name, path, body, at) => {
    const { server, pawl } = await serverInFront()
    await recordExactJobs(server.url)
    const before = await pawl.history(dead)
    const answer = await post(server.url, name, path, body)
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({
      code: 'InvalidInput',
      kind: 'rejected',
      detail: `The body has the number ${LARGE} at \`${at}\`, which would be kept as ${ROUNDED[0]}: write it as a text, "${LARGE}".`,
    })
    expect((await pawl.counts({ by: 'type', limit: 10 })).total).toBe(3)
    expect(await pawl.history(dead)).toEqual(before)
    expect(await pawl.schedules()).toEqual([])
    // The same as a text, and every number that JavaScript writes, are taken.
    const taken = `{"type":"note","input":["${LARGE}",${2 ** 53},${2 ** 70},1.5e300,0.1]}`
    expect((await post(server.url, 'jobs.submit', {}, taken)).status).toBe(200)
  })

  it('an id is not that of a job whose input differs in the last digit only', async () => {
    const { server, call } = await serverInFront()
    await recordExactJobs(server.url)
    const { job: known, spec } = await submitOf(server.url)
    const other = { ...spec, input: (spec['input'] as string).replace(LARGE, ROUNDED[0]) }
    const commands = [
      { type: 'SubmitJob', job: known, spec },
      { type: 'SubmitJob', job: known, spec: other },
    ]
    const { body } = await call('store.execute', { commands })
    expect(body['answers']).toMatchObject([
      { rejection: null },
      { rejection: { code: 'IdReused' } },
    ])
  })
})

/** As it was submitted. */
async function submitOf(url: string): Promise<{ job: string; spec: Record<string, unknown> }> {
  const { body } = await callServer(url, 'jobs.history', { job: done })
  const [first] = body['items'] as readonly { readonly entry: { readonly spec: object } }[]
  return { job: done, spec: { ...first?.entry.spec } }
}

describe('an edit of recorded inputs by a function', () => {
  it('leaves jobs out whose numbers it would carry over changed, and takes those that it leaves alone', async () => {
    const { server, pawl } = await serverInFront()
    await recordExactJobs(server.url)
    const carried = await pawl.quarantine.redrive({
      all: true,
      input: (old: unknown) => ({ ...(old as object), note: 'fixed' }),
    })
    expect(carried).toMatchObject({ matched: 1, done: 0, left: 1 })
    expect(carried.problems[0]?.why).toContain(
      `${LARGE} at \`id\`, which would be kept as ${ROUNDED[0]}`,
    )
    expect((await pawl.get(dead))?.exact?.input).toBe(EXACT.input)
    const renewed = await pawl.quarantine.redrive({ all: true, input: () => ({ id: LARGE }) })
    expect(renewed).toMatchObject({ matched: 1, done: 1, left: 0 })
    expect((await pawl.get(dead))?.input).toEqual({ id: LARGE })
  })
})

describe('on the command line', () => {
  it('jobs are shown, exported and given with their own digits, or refused', async () => {
    const folder = await temporaryFolder()
    const engine = await open(folder)
    const server = await serve(engine, { port: 0 })
    await recordExactJobs(server.url)
    const { url } = server
    const remote = await cli(['show', done, '--store', url])
    await server.close()
    await engine.close()
    const oneLine = EXACT.input
    for (const { code, out } of [remote, await cli(['show', done, '--store', folder])]) {
      expect(code).toBe(0)
      expect(out).toContain(oneLine)
      expect(out).toContain(EXACT.output)
      expect(out).not.toContain(ROUNDED[1])
    }
    const inJson = await cliJson<Shown>(['show', done, '--store', folder])
    expect(inJson.exact?.['input']).toBe(EXACT.input)
    expect((await cli(['wait', done, '--store', folder])).out).toContain(EXACT.output)
    const streamed = await cli(['stream', done, 'log', '--store', folder])
    expect(streamed.out).toContain(EXACT.values[0])
    expect(streamed.out).toContain(LARGEST)
    const followed = await cli(['stream', 'follow', done, 'log', '--store', folder])
    expect(followed.out).toContain(EXACT.values[0])
    const then = await cli(['at', 'now', done, '--store', folder])
    expect(then.out).toContain(oneLine)
    await refusedOrTaken(folder)
  }, 60_000)
})

async function refusedOrTaken(folder: string): Promise<void> {
  const own = await mkdtemp(join(tmpdir(), 'pawl-exact-'))
  onTestFinished(() => rm(own, { recursive: true, force: true }))
  const typedIn = await cli(['submit', 'note', `{"id":${LARGE}}`, '--store', folder])
  expect(typedIn.code).not.toBe(0)
  expect(typedIn.err).toContain(
    `<input> has the number ${LARGE} at \`id\`, which would be kept as ${ROUNDED[0]}`,
  )
  const file = join(own, 'input.json')
  await writeFile(file, `{"id":${LARGE}}`)
  const fromFile = await cli(['submit', 'note', `@${file}`, '--store', folder])
  expect(fromFile.err).toContain(`which would be kept as ${ROUNDED[0]}`)
  const retried = await cli(['retry', dead, '--input', LARGE, '--store', folder])
  expect(retried.err).toContain(`--input has the number ${LARGE}`)
  await writeFile(file, Buffer.from([0x22, 0xff, 0x22]))
  const noText = await cli(['submit', 'note', `@${file}`, '--store', folder])
  expect(noText.code).not.toBe(0)
  expect(noText.err).toContain('<input> cannot be read')
  const lines = join(own, 'jobs.jsonl')
  expect((await cli(['export', lines, '--store', folder])).code).toBe(0)
  const exported = await readFile(lines, 'utf8')
  expect(exported.split('\n')).toHaveLength(4)
  expect(exported).toContain(`"input":${EXACT.input}`)
  expect(exported).toContain(`"output":${EXACT.output}`)
  expect(exported).not.toContain(ROUNDED[1])
  const queued = `{"type":"note","input":{"id":${LARGE}}}\n{"type":"note","input":1}\n`
  const imported = await cli(['import', '-', '--store', folder], { input: queued })
  expect(imported.out).toContain('Submitted 1, passed over 0, refused 1.')
  const ended = `{"type":"note","input":1,"was":{"state":"SUCCEEDED","output":{"id":${LARGE}}}}\n`
  const all = ['import', '-', '--all', '-y', '--store', folder]
  expect((await cli(all, { input: ended })).out).toBe('Submitted 1, passed over 0, refused 0.\n')
  expect(imported.out).toContain(`Line 1 has the number ${LARGE} at \`input.id\``)
}

/** Python reads and writes whole numbers as they are: what it says is what is right. */
it('what is exact is what another language reads', async ({ skip }) => {
  const { server, pawl }: { server: { url: string }; pawl: Pawl } = await serverInFront()
  await recordExactJobs(server.url)
  const text = (await pawl.get(done))?.exact?.input as string
  const read = spawnSync('python3', ['-c', 'import json,sys; print(json.load(sys.stdin)["id"])'], {
    input: text,
    encoding: 'utf8',
  })
  skip(read.error !== undefined, 'no Python here')
  expect(read.stdout.trim()).toBe(LARGE)
})
