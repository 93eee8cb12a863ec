/**
 * The commands of the catalogue, each by the real program: on the address of a server whose workers run here, and on stores
 * that the program opens itself.
 */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { AnyJob, LimitList, Pawl } from '../../../src/index.ts'
import { effect, job, message, open, typed } from '../../../src/index.ts'
import { serve } from '../../../src/server/index.ts'
import { cli, cliJson, endOf, outputOf, startCli, userFolder } from '../../support/command-line.ts'
import type { CliRun } from '../../support/command-line.ts'

const approve = message('approve', { input: typed<boolean>() })
const pay = effect('pay', {
  input: typed<number>(),
  retry: { max: 0 },
  run: () => {
    throw new Error('the bank is closed')
  },
})

const mail = job('mail', { input: typed<number>(), run: ({ input }) => ({ sent: input }) })
const fails = job('fails', {
  retry: { max: 0 },
  run: () => {
    throw new Error('no such mailbox')
  },
})
const hangs = job('hangs', {
  run: ({ signal }) => once(signal, 'abort').then(() => null),
})
const asks = job('asks', {
  messages: [approve],
  run: ({ waitFor }) => waitFor(approve, { ask: 'Refund 70?', for: ['finance'] }),
})
const order = job('order', { effects: [pay], run: ({ commit }) => commit('paid', [pay(7)]) })
const talks = job('talks', {
  run: async ({ emit }) => {
    await emit('log', 'began')
    await emit('log', { step: 2 })
  },
})
const travels = job('travels', {
  input: typed<string>(),
  run: async ({ input, step }) => {
    const found = await step('find', () => input)
    return step('book', () => `${input} by ${found}`)
  },
})
const idle = job('idle', { input: typed<number>(), queue: 'night', run: () => null })

const WORKED: readonly AnyJob[] = [mail, fails, hangs, asks, order, talks, travels]

interface Served {
  readonly pawl: Pawl
  /** On the address of the server. */
  readonly run: (...args: readonly string[]) => Promise<CliRun>
  readonly json: <T = Record<string, unknown>>(...args: readonly string[]) => Promise<T>
  readonly url: string
}

async function served(definitions: readonly AnyJob[] = WORKED): Promise<Served> {
  const pawl = await open('memory:')
  onTestFinished(() => pawl.close())
  const server = await serve(pawl, { port: 0, definitions: [...definitions, idle] })
  onTestFinished(() => server.close())
  if (definitions.length > 0) pawl.work(definitions, { name: 'tester' })
  const env = { PAWL_STORE: server.url }
  return {
    pawl,
    url: server.url,
    run: (...args) => cli(args, { env }),
    json: (...args) => cliJson(args, { env }),
  }
}

async function inState(pawl: Pawl, id: string, state: string): Promise<void> {
  await expect.poll(async () => (await pawl.get(id))?.state).toBe(state)
}

describe('jobs', () => {
  it('are handed in for a time to come, where a filter looks back', async () => {
    const { pawl, run } = await served()
    const submitted = await run('submit', 'mail', '8', '--at', '2h')
    const dueAt = (await pawl.get(submitted.out.trim()))?.dueAt?.getTime() ?? 0
    expect(Math.abs(dueAt - Date.now() - 7_200_000)).toBeLessThan(600_000)
    const wrong = await run('submit', 'mail', '8', '--at', 'soon')
    expect(wrong).toMatchObject({ code: 2 })
    expect(wrong.err).toContain('in ten minutes')
  })

  it('are handed in, waited for, shown, and their history told', async () => {
    const { run, json } = await served()
    const submitted = await run(
      'submit',
      'mail',
      '7',
      '--key',
      'welcome-7',
      '--tags',
      'a',
      '--tags',
      'b',
    )
    const id = submitted.out.trim()
    const again = await json(
      'submit',
      'mail',
      '7',
      '--key',
      'welcome-7',
      '--tags',
      'a',
      '--tags',
      'b',
    )
    expect(again).toEqual({ job: id })
    const waited = await run('wait', id)
    expect(waited).toMatchObject({ code: 0, err: '' })
    expect(waited.out).toMatch(/state\s+SUCCEEDED[\s\S]*result\s+\{"sent":7\}/)
    const [shown, list, history, explained, executions, counts, followed] = await Promise.all([
      run('show', id),
      json<{ jobs: { id: string }[] }>(
        'list',
        '--tag',
        'a',
        '--submitted-from',
        '1h',
        '--order',
        'newest',
      ),
      run('history', id),
      run('explain', id),
      json<{ executions: { status: string }[] }>('executions', id),
      run('counts', '--by', 'type'),
      run('follow', id, '-o', 'jsonl'),
    ])
    expect(shown.out).toMatch(
      /state\s+SUCCEEDED[\s\S]*key\s+welcome-7[\s\S]*tags\s+a, b[\s\S]*output\s+\{"sent":7\}/,
    )
    expect(list.jobs.map((one) => one.id)).toEqual([id])
    expect(history.out).toMatch(
      /JobSubmitted\s+QUEUED\s+\S+\n[\s\S]*ExecutionCommitted\s+SUCCEEDED\s+tester/,
    )
    expect(explained.out).toMatch(new RegExp(`^${id}  SUCCEEDED\\n- .*never runs again`, 'm'))
    expect(executions.executions).toMatchObject([{ status: 'DONE' }])
    const actions = await run('actions', id)
    expect(actions.out).toMatch(/^action\s+how\s*\nrerun\s*\nerase\s*$/m)
    expect((await run('segments', id, 'pages')).err).toContain('it is a plain job')
    expect(counts.out).toMatch(/^1 jobs {2}SUCCEEDED 1\n {2}mail: 1 jobs/)
    const types = followed.out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { entry: { type: string } }).entry.type)
    expect(types).toEqual(['JobSubmitted', 'LeaseGranted', 'ExecutionCommitted'])
  })

  it('keep the policies of the definitions that the server has', async () => {
    const { pawl, run } = await served()
    const id = (await run('submit', 'fails')).out.trim()
    await inState(pawl, id, 'QUARANTINED')
    const waited = await run('wait', id)
    expect(waited.code).toBe(1)
    expect(waited.out).toMatch(/state\s+QUARANTINED/)
    const early = await run('submit', 'asks')
    expect(await run('wait', early.out.trim(), '--wait-ms', '1')).toMatchObject({ code: 4 })
  })

  it('are held, released, rescheduled, cancelled, forced, run again and erased', async () => {
    const { pawl, run, json } = await served([])
    const [a, b, c] = await Promise.all(
      ['a', 'b', 'c'].map((id) =>
        run('submit', 'idle', '1', '--id', id, ...(id === 'a' ? ['--hold'] : [])),
      ),
    )
    expect([a, b, c].map((one) => one?.out)).toEqual(['a\n', 'b\n', 'c\n'])
    expect((await run('release', 'a')).code).toBe(0)
    const [moved, cancelled, forced] = await Promise.all([
      run('reschedule', 'a', '--priority', '5', '--queue', 'day'),
      run('cancel', 'b', '--by', 'ada', '--reason', 'asked by the customer', '--yes'),
      run('force', 'c', 'SUCCEEDED', '--result', '{"by":"hand"}', '--yes'),
    ])
    expect(moved).toMatchObject({ code: 0, err: '' })
    expect(await pawl.get('a')).toMatchObject({ priority: 5, queue: 'day', state: 'QUEUED' })
    expect(cancelled.out).toBe('The job is cancelled; a handler that runs is told.\n')
    expect(await pawl.get('b')).toMatchObject({
      cancelled: { by: 'ada', reason: 'asked by the customer' },
    })
    expect(forced.code).toBe(0)
    expect(await pawl.get('c')).toMatchObject({ state: 'SUCCEEDED', output: { by: 'hand' } })
    const rerun = await json<{ job: string }>('rerun', 'c', '--input', '2')
    expect(await pawl.get(rerun.job)).toMatchObject({ rerunOf: 'c', input: 2 })
    expect(await json('erase', 'b', '--yes')).toEqual({ erased: ['b'] })
    expect((await run('compact', '--yes')).code).toBe(0)
  })

  it('are run again from a step with another input and other values of the steps before it', async () => {
    const { pawl, run, json } = await served()
    const { id } = await pawl.submit(travels, 'rail')
    await inState(pawl, id, 'SUCCEEDED')
    const given = ['--from', 'book', '--input', '"sea"', '--steps', '{"find":"boat"}']
    const again = await json<{ job: string }>('rerun', id, ...given, '--by', 'ada')
    await inState(pawl, again.job, 'SUCCEEDED')
    expect(await pawl.get(again.job)).toMatchObject({
      output: 'sea by boat',
      asked: {
        by: 'ada',
        reason: "Run again from 'book' with another input and other values of 'find'",
      },
    })
    const refused = await run('rerun', id, '--from', 'book', '--steps', '{"fly":1}')
    expect(refused.err).toContain("those are 'find'")
  })

  it('a command that cannot be taken back is refused without a terminal and without --yes', async () => {
    const { pawl, run } = await served([])
    await pawl.submit(idle, 1, { id: 'a' })
    const [cancel, bulk] = await Promise.all([run('cancel', 'a'), run('bulk', 'cancel', '--all')])
    expect(cancel.code).toBe(2)
    expect(cancel.err).toMatch(/^pawl: pawl cancel a: The job is cancelled.* write --yes/)
    expect(bulk.code).toBe(2)
    expect(await pawl.get('a')).toMatchObject({ state: 'QUEUED' })
  })

  it('are taken from a worker, and an effect of one is resolved', async () => {
    const { pawl, run } = await served()
    const hanging = await pawl.submit(hangs)
    await inState(pawl, hanging.id, 'RUNNING')
    expect((await run('revoke', hanging.id, '--yes')).code).toBe(0)
    const revoked = (await pawl.history(hanging.id)).map(({ type }) => type)
    expect(revoked).toContain('LeaseRevoked')
    const held = await pawl.submit(order)
    await inState(pawl, held.id, 'QUARANTINED')
    const [listed, quarantine, counted] = await Promise.all([
      run('list', '--held-effects', '-o', 'jsonl'),
      run('quarantine', '--held-effects'),
      run('counts', '--held-effects'),
    ])
    const ids = listed.out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { id: string }).id)
    expect(ids).toEqual([held.id])
    expect(quarantine.out).toMatch(/order\s.*pay \(0, start 1\)\s+the bank is closed/)
    expect(counted).toMatchObject({ code: 0, err: '' })
    expect(counted.out).toMatch(/QUARANTINED/)
    const resolve = ['resolve', held.id, '0', 'happened', '--reason', 'seen at the bank']
    const early = await run(...resolve, '--start', '0')
    expect(early.err).toContain('HELD since its start under lease 1')
    const resolved = await run(...resolve, '--start', '1')
    expect(resolved).toMatchObject({ code: 0, err: '' })
    await inState(pawl, held.id, 'SUCCEEDED')
    expect((await run('quarantine', '--held-effects')).out).toContain('none')
    await pawl.cancel(hanging.id)
  })

  it('are sent messages, and questions of theirs are answered', async () => {
    const { pawl, run, json } = await served()
    const [first, second] = [await pawl.submit(asks), await pawl.submit(asks)]
    await expect.poll(async () => (await pawl.inbox()).questions).toHaveLength(2)
    const inbox = await run('inbox', '--for', 'finance')
    expect(inbox.out).toMatch(/approve\s+Refund 70\?\s+finance/)
    const sent = await json('send', first.id, 'approve', 'true', '--id', 'm-1')
    expect(sent).toEqual({ id: 'm-1' })
    expect((await run('answer', second.id, 'approve', 'false', '--by', 'ada')).code).toBe(0)
    expect(await Promise.all([first, second].map((one) => one.result({ timeout: '20s' })))).toEqual(
      [true, false],
    )
    const wrong = await run('send', first.id, 'unheard', '1')
    expect(wrong).toMatchObject({ code: 3 })
    expect(wrong.err).toMatch(/no message 'unheard'/)
  })

  it('show what their handlers emit', async () => {
    const { pawl, run } = await served()
    const { id } = await pawl.submit(talks)
    await inState(pawl, id, 'SUCCEEDED')
    const [page, followed] = await Promise.all([
      run('stream', id, 'log'),
      run('stream', 'follow', id, 'log', '-o', 'jsonl'),
    ])
    expect(page.out).toMatch(/0\s+\S+ \S+\s+began\n1\s+\S+ \S+\s+\{"step":2\}/)
    expect(
      followed.out
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { value: unknown }).value),
    ).toEqual(['began', { step: 2 }])
  })

  it('in quarantine are listed by what went wrong, retried, discarded, and done to many at once', async () => {
    const { pawl, run, json } = await served([fails])
    const handles = await pawl.submitMany(fails, [{}, {}, {}, {}])
    await expect.poll(async () => (await pawl.counts()).states.QUARANTINED).toBe(4)
    const [id = '', other = ''] = handles.map((one) => one.id)
    const [list, groups, dry, preview] = await Promise.all([
      run('quarantine', '--type', 'fails'),
      json<{ groups: { fingerprint: string; count: number }[] }>('quarantine', 'groups'),
      json('quarantine', 'retry', '--all', '--dry-run'),
      json('bulk', 'preview', 'discard', '--type', 'fails'),
    ])
    expect(list.out).toMatch(/fails\s+.*no such mailbox/)
    expect(groups.groups).toMatchObject([{ count: 4 }])
    expect(dry).toMatchObject({ matched: 4, done: 4 })
    expect(preview).toMatchObject({ matched: 4 })
    expect((await run('retry', id)).code).toBe(0)
    await inState(pawl, id, 'QUARANTINED')
    expect((await run('discard', other, '--yes', '--by', 'ada')).code).toBe(0)
    await inState(pawl, other, 'FAILED')
    const fingerprint = groups.groups[0]?.fingerprint ?? ''
    const discarded = await json(
      'quarantine',
      'discard',
      '--fingerprint',
      fingerprint,
      '--rate',
      '100/1s',
      '--yes',
    )
    expect(discarded).toMatchObject({ matched: 3, done: 3, isComplete: true })
    await pawl.submitMany(idle, [{ input: 1 }, { input: 2 }])
    expect(await json('bulk', 'cancel', '--type', 'idle', '--yes')).toMatchObject({ done: 2 })
  })
})

describe('queues, schedules, workers and the whole', () => {
  it('queues are listed, shown, bounded, paused and resumed; limits and workers are shown', async () => {
    const { pawl, run, json } = await served()
    await pawl.submit(idle, 1)
    expect(
      (await run('queues', 'configure', 'night', '--concurrency', '3', '--rate', '10/1m')).code,
    ).toBe(0)
    expect((await run('pause', 'night', '--reason', 'repairs')).code).toBe(0)
    const [all, one, limit, workers] = await Promise.all([
      run('queues'),
      json('queues', 'show', 'night'),
      json('limits', 'show', 'tenant-7'),
      run('workers'),
    ])
    expect(all.out).toMatch(/night\s+\d{4}-\d\d-\d\d \S+\s+1\s+0\s+0\s+0\s+3\s+10\/60000ms/)
    expect(one).toMatchObject({ concurrency: 3, rate: { count: 10, perMs: 60_000 } })
    expect(limit).toMatchObject({ held: 0 })
    expect(workers.out).toMatch(/tester\S*\s+\S+\s+\d+\s+0 of 10/)
    expect((await run('resume', 'night')).code).toBe(0)
    expect((await run('queues', 'configure', 'night', '--concurrency', 'none')).code).toBe(0)
    expect(await pawl.queue('night')).toMatchObject({
      pausedAt: null,
      concurrency: null,
      rate: null,
    })
  })

  it('limits of which something is used are listed, by the beginning of their keys', async () => {
    const { pawl, run, json } = await served()
    for (const key of ['tenant-7', 'tenant-8', 'disk']) {
      const { id } = await pawl.submit(hangs, undefined, { limits: [{ key, concurrency: 2 }] })
      await inState(pawl, id, 'RUNNING')
    }
    expect((await run('limits')).out).toMatch(
      /^limit\s+held\s.*\ndisk\s+1\s+2\s*\ntenant-7\s+1\s+2/,
    )
    const first = await json<LimitList>('limits', '--prefix', 'tenant', '--limit', '1')
    expect(first).toMatchObject({ limits: [{ key: 'tenant-7' }], next: 'tenant-7' })
    const rest = await json<LimitList>('limits', '--prefix', 'tenant', '--after', 'tenant-7')
    expect(rest).toMatchObject({ limits: [{ key: 'tenant-8', held: 1 }], next: null })
    await pawl.bulk('cancel', { type: 'hangs' })
  })

  it('a worker is drained and resumed, of whatever process', async () => {
    const { pawl, run } = await served([])
    const worker = pawl.work([mail], { name: 'mill' })
    expect((await run('workers', 'drain', worker.name, '--reason', 'replaced')).out).toBe(
      'The worker takes nothing more.\n',
    )
    expect((await pawl.workers())[0]).toMatchObject({
      isDraining: true,
      drained: { reason: 'replaced' },
    })
    expect((await run('workers')).out).toMatch(/draining/)
    expect((await run('workers', 'resume', worker.name)).code).toBe(0)
    expect(worker.isDraining).toBe(false)
    const unknown = await run('workers', 'drain', 'nobody')
    expect(unknown.err).toContain('No worker nobody is known')
  })

  it('schedules are set, listed, shown, paused, resumed, run now and removed', async () => {
    const { pawl, run, json } = await served()
    const set = await run('schedules', 'set', 'nightly', 'idle', '7', '--cron', '0 3 * * *')
    expect(set).toMatchObject({ code: 0, err: '' })
    expect((await run('schedules', 'pause', 'nightly', '--by', 'ada')).code).toBe(0)
    const listed = await run('schedules')
    expect(listed.out).toMatch(/nightly\s+idle\s+0 3 \* \* \*\s+.*by ada/)
    expect((await run('schedules', 'resume', 'nightly')).code).toBe(0)
    const shown = await json('schedules', 'show', 'nightly', '--times', '2')
    expect(shown).toMatchObject({ id: 'nightly', input: 7, nextTimes: { length: 2 } })
    const now = await run('schedules', 'run', 'nightly', '--reason', 'late')
    expect(await pawl.get(now.out.trim())).toMatchObject({
      type: 'idle',
      input: 7,
      asked: { reason: "late (run now from schedule 'nightly')" },
    })
    expect((await run('schedules', 'remove', 'nightly', '--yes')).code).toBe(0)
    expect((await run('schedules')).out).toBe('none\n')
  })

  it('figures over time are those that the server has noted, and of no other store', async () => {
    const { pawl, run, json } = await served()
    await expect
      .poll(async () => (await json('figures'))['times'], { timeout: 20_000 })
      .not.toEqual([])
    await pawl.submitMany(mail, [{ input: 1 }, { input: 2 }])
    const told = await run('figures', '1h')
    expect(told).toMatchObject({ code: 0, err: '' })
    expect(told.out).toMatch(/^The last 1h, of all processes, as the server has noted since 2/)
    expect(told.out).toMatch(/submitted a second\s+[\d.]+\s+[\d.]+\s+[\d.]+/)
    expect((await run('figures', '2h')).code).toBe(2)
    const alone = await cli(['figures', '-s', 'memory:'])
    expect(alone.code).toBe(2)
    expect(alone.err).toContain('figures is of a server: name its address.')
  })

  it('health and metrics; the past by moments; the log as it grows', async () => {
    const { pawl, run, json, url } = await served()
    const { id } = await pawl.submit(mail, 1)
    await inState(pawl, id, 'SUCCEEDED')
    const first = (await pawl.history(id))[0]?.position ?? 0
    const [health, metrics, shown, listed, counted, written] = await Promise.all([
      run('health'),
      json('metrics'),
      json('at', 'show', id, '--position', String(first)),
      json('at', 'list', '--position', String(first)),
      json('at', 'counts', '--time', 'now'),
      json('at', 'entries', '--through', String(first), '--newest'),
    ])
    expect(written['entries']).toMatchObject([{ position: first, type: 'JobSubmitted', job: id }])
    // To older ones, or to newer ones.
    const newest = await run('at', 'entries', '--newest', '--limit', '1')
    expect(newest.err).toMatch(/There are more: --through \d/)
    expect((await run('at', 'entries', '--limit', '1')).err).toContain(`--after ${first}`)
    expect(health).toMatchObject({ code: 0 })
    expect(metrics['entries']).toMatchObject({ JobSubmitted: 1 })
    expect(shown).toMatchObject({ id, state: 'QUEUED' })
    expect(listed['jobs']).toMatchObject([{ id, state: 'QUEUED' }])
    expect(counted).toMatchObject({ total: 1, states: { SUCCEEDED: 1 } })
    const watching = await startCli(['watch', '-s', url])
    const output = outputOf(watching)
    await expect.poll(() => output.out).toContain('ExecutionCommitted')
    await pawl.pause('night')
    await expect.poll(() => output.out).toContain('QueuePaused')
    watching.kill('SIGINT')
    expect((await endOf(watching)).code).toBe(0)
  })
})

describe('on stores that it opens itself', () => {
  it.each(['./data', 'sqlite:jobs.db'])(
    '%s is made by a submit, and operated on',
    async (store) => {
      const cwd = await userFolder()
      const env = { PAWL_STORE: store }
      await writeFile(join(cwd, 'input.json'), '{"to":"ada"}')
      const run = (...args: readonly string[]): Promise<CliRun> => cli(args, { cwd, env })
      expect((await run('submit', 'mail', '@input.json', '--id', 'a')).out).toBe('a\n')
      expect(
        (await cli(['submit', 'mail', '@-', '--id', 'b'], { cwd, env, input: '[1]' })).code,
      ).toBe(0)
      expect((await run('pause', 'default')).code).toBe(0)
      const explained = await run('explain', 'a')
      expect(explained.out).toMatch(/paused/)
      expect((await run('cancel', 'b', '-y')).code).toBe(0)
      const shown = await run('show', 'b', '-o', 'json')
      expect(JSON.parse(shown.out)).toMatchObject({
        input: [1],
        state: 'FAILED',
        cancelled: { reason: 'no reason given' },
      })
    },
  )
})
