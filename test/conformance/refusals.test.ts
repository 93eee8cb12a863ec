/**
 * Commands that are refused: the caller is told by the code of the rejection, the metrics count it, and
 * the owner of the engine hears of it if they want to. Same to same is no refusal.
 */
import { describe, expect, it } from 'vitest'
import type { Notice } from '../../src/index.ts'
import { job, Refused, TerminalError, typed } from '../../src/index.ts'
import { EVERY_ENGINE } from '../support/engines.ts'

const echo = job('echo', { input: typed<number>(), run: ({ input }) => input })
const broken = job('broken', {
  run: () => {
    throw new TerminalError('no')
  },
})

describe.each(EVERY_ENGINE)('a refused command %s', (_name, open) => {
  it('throws what has the code of the rejection, and is counted by it', async () => {
    const pawl = await open()
    const handle = await pawl.submit(echo, 1, { id: 'one' })
    pawl.work([echo])
    await handle.result()
    const other = pawl.submit(echo, 2, { id: 'one' })
    await expect(other).rejects.toMatchObject({ code: 'IdReused', name: 'Refused' })
    await expect(other).rejects.toThrow(Refused)
    for (let i = 0; i < 2; i++) {
      await expect(pawl.cancel('one')).rejects.toMatchObject({ code: 'NothingToCancel' })
    }
    const { refused } = await pawl.metrics()
    expect(refused).toMatchObject({ IdReused: 1, NothingToCancel: 2 })
    expect(Object.keys(refused)).not.toContain('TaskFinal')
  })

  it('is a notice if the owner wants it, and none otherwise', async () => {
    for (const noticeRefusals of [true, false]) {
      const notices: Notice[] = []
      const pawl = await open({ noticeRefusals, onNotice: (notice) => notices.push(notice) })
      await pawl.submit(echo, 1, { id: 'one' })
      await expect(pawl.submit(echo, 2, { id: 'one' })).rejects.toThrow(Refused)
      await expect(pawl.pause('mail', { by: '' })).rejects.toThrow(Refused)
      const told = notices.filter(({ kind }) => kind === 'refused')
      if (!noticeRefusals) expect(told).toEqual([])
      else {
        expect(told).toContainEqual({
          kind: 'refused',
          command: 'SubmitJob',
          job: 'one',
          code: 'IdReused',
          message: 'Job one exists with other content: use a new id.',
        })
        expect(told).toContainEqual(expect.objectContaining({ command: 'PauseQueue', job: null }))
      }
    }
  })
})

describe.each(EVERY_ENGINE)('same to same %s', (_name, open) => {
  it('is answered without an entry: a cancel of a job that is FAILED', async () => {
    const pawl = await open()
    const handle = await pawl.submit(broken)
    pawl.work([broken])
    await expect(handle.result()).rejects.toMatchObject({ code: 'JobFailed' })
    const before = await pawl.history(handle.id)
    await handle.cancel({ by: 'ann', reason: 'too late' })
    expect(await pawl.history(handle.id)).toEqual(before)
    expect(await handle.info()).toMatchObject({ state: 'FAILED', cancelled: null })
    expect((await pawl.metrics()).refused).toEqual({})
  })
})
