/**
 * What a handler may rely on, on every store: its steps are not done again, its effects run after its
 * commit and once, its artifacts are checked and used again, and it is noticed if it falls silent.
 */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { ArtifactRef, Notice } from '../../src/index.ts'
import { effect, job, typed } from '../../src/index.ts'
import { deferred, EVERY_ENGINE } from '../support/engines.ts'

describe.each(EVERY_ENGINE)('a handler %s', (_name, open) => {
  it('whose worker dies before the commit runs again, without the steps that it recorded', async () => {
    const pawl = await open()
    const done: string[] = []
    const begun = deferred()
    const send = effect('send', { run: (_input, { key }) => void done.push(`sent ${key}`) })
    const order = job('order', {
      lease: 300,
      effects: [send],
      run: async ({ step, commit, job: { attempt } }) => {
        const page = await step('render', () => {
          done.push('rendered')
          return 'page'
        })
        done.push(`prepared ${attempt}`)
        if (attempt === 1) {
          begun.resolve()
          await new Promise(() => undefined)
        }
        return commit(page, [send()])
      },
    })
    const dies = pawl.work([order])
    const handle = await pawl.submit(order)
    await begun.promise
    await dies.kill()
    pawl.work([order])
    expect(await handle.result()).toBe('page')
    expect(done).toEqual(['rendered', 'prepared 1', 'prepared 2', `sent ${handle.id}/0/0/0`])
    const types = (await pawl.history(handle.id)).map(({ type }) => type)
    const inOrder = ['ExecutionCommitted', 'EffectStarted', 'EffectFinished']
    expect(types.filter((type) => inOrder.includes(type))).toEqual(inOrder)
  })

  it('whose worker dies after the commit is not run again: its effects are finished', async () => {
    const pawl = await open()
    const done: string[] = []
    const begun = deferred()
    const bill = effect('bill', {
      idempotent: true,
      run: async () => {
        done.push('billed')
        if (done.filter((what) => what === 'billed').length > 1) return
        begun.resolve()
        await new Promise(() => undefined)
      },
    })
    const mail = effect('mail', { run: () => void done.push('mailed') })
    const order = job('order', {
      lease: 300,
      effects: [mail, bill],
      run: ({ commit, job: { attempt } }) => {
        done.push(`prepared ${attempt}`)
        return commit(attempt, [mail(), bill()])
      },
    })
    const dies = pawl.work([order])
    const handle = await pawl.submit(order)
    await begun.promise
    await dies.kill()
    pawl.work([order])
    expect(await handle.result()).toBe(1)
    expect(done).toEqual(['prepared 1', 'mailed', 'billed', 'billed'])
    expect((await handle.info()).effects.map(({ state }) => state)).toEqual([
      'FINISHED',
      'FINISHED',
    ])
  })

  it('that falls silent is flagged after the time that its job says, and run again if that says so', async () => {
    for (const recover of [false, true]) {
      const notices: Notice[] = []
      const pawl = await open({ onNotice: (notice) => notices.push(notice) })
      const mayEnd = deferred<string>()
      const silent = job('silent', {
        stalled: { after: 250, recover },
        run: ({ job: { attempt } }) => (attempt === 1 ? mayEnd.promise : 'second'),
      })
      pawl.work([silent])
      const handle = await pawl.submit(silent)
      const stalled = (): Notice[] => notices.filter(({ kind }) => kind === 'stalled')
      await expect.poll(stalled, { timeout: 10_000 }).toHaveLength(1)
      expect(stalled()).toMatchObject([
        { job: handle.id, type: 'silent', attempt: 1, isRecovered: recover },
      ])
      if (!recover) mayEnd.resolve('first')
      expect(await handle.result()).toBe(recover ? 'second' : 'first')
      const revoked = (await pawl.history(handle.id)).filter(({ type }) => type === 'LeaseRevoked')
      expect(revoked.map(({ from, to, reason }) => [from, to, reason])).toEqual(
        recover ? [['RUNNING', 'QUEUED', 'Stalled: nothing was heard of it for 250 ms.']] : [],
      )
      expect(await handle.info()).toMatchObject({ retryCount: recover ? 1 : 0 })
      mayEnd.resolve('late')
    }
  })

  it('finds the artifact of an earlier attempt, whose checksum is in the commit', async () => {
    const pawl = await open()
    const did: string[] = []
    const encode = job('encode', {
      input: typed<string>(),
      version: 3,
      upgrades: { 1: (input) => input, 2: (input) => input },
      retry: { max: 1, delay: 0 },
      run: async ({ input, artifact, job: { attempt } }): Promise<ArtifactRef> => {
        const film = artifact('film.mp4')
        const before = await film.reuse()
        did.push(before === null ? 'worked' : 'reused')
        const ref = before ?? (await film.write(input))
        if (attempt === 1) throw new Error('later')
        return ref
      },
    })
    pawl.work([encode])
    const handle = await pawl.submit(encode, 'abc', { id: 'one' })
    const ref = await handle.result()
    expect(did).toEqual(['worked', 'reused'])
    const sha256 = createHash('sha256').update('abc').digest('hex')
    expect(ref).toMatchObject({ sha256, bytes: 3 })
    // Job, stage (a plain job has none), version, segment and attempt.
    expect(ref.$artifact).toMatch(/^[0-9a-f]{2}\/one~[0-9a-f]{32}\/job\/v3\/0\/1\/film\.mp4$/)
    expect(await pawl.artifacts.check('one')).toMatchObject([{ ref, state: 'valid' }])
    const history = await pawl.history('one')
    expect(history.at(-1)?.entry).toMatchObject({ output: JSON.stringify(ref) })
  })
})
