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

  it('is counted and told by its code, too, if the engine itself refuses it', async () => {
    const notices: Notice[] = []
    const onNotice = (notice: Notice): unknown => notices.push(notice)
    const pawl = await open({ noticeRefusals: true, onNotice, maxWaiting: 2 })
    await pawl.submitMany(
      echo,
      ['one', 'two'].map((id) => ({ input: 1, options: { id } })),
    )
    await expect(pawl.submit(echo, 3)).rejects.toMatchObject({ code: 'QueueFull' })
    const three = [1, 2, 3].map((input) => ({ input }))
    await expect(pawl.submitMany(echo, three)).rejects.toMatchObject({ code: 'QueueFull' })
    await expect(pawl.discard('one')).rejects.toMatchObject({ code: 'TaskNotDead' })
    await expect(pawl.rerun('one')).rejects.toMatchObject({ code: 'JobNotFinal' })
    await expect(pawl.erase('one')).rejects.toMatchObject({ code: 'JobNotFinal' })
    for (const id of ['one', 'two']) await pawl.cancel(id)
    await pawl.rerun('two', { id: 'again' })
    await expect(pawl.erase('two')).rejects.toMatchObject({ code: 'CopiesExist' })
    await pawl.erase('one')
    await expect(pawl.rerun('one')).rejects.toMatchObject({ code: 'JobWasErased' })
    await expect(pawl.retry('none')).rejects.toMatchObject({ code: 'UnknownJob' })
    await expect(pawl.erase('none')).rejects.toMatchObject({ code: 'UnknownJob' })
    expect((await pawl.metrics()).refused).toEqual({
      QueueFull: 4,
      TaskNotDead: 1,
      JobNotFinal: 2,
      CopiesExist: 1,
      JobWasErased: 1,
      UnknownJob: 2,
    })
    const told = notices.flatMap((one) => {
      return one.kind === 'refused' ? [[one.command, one.job, one.code]] : []
    })
    expect(told).toEqual([
      ['SubmitJob', null, 'QueueFull'],
      ['SubmitJob', null, 'QueueFull'],
      ['CancelJob', 'one', 'TaskNotDead'],
      ['SubmitJob', 'one', 'JobNotFinal'],
      ['EraseJob', 'one', 'JobNotFinal'],
      ['EraseJob', 'two', 'CopiesExist'],
      ['SubmitJob', 'one', 'JobWasErased'],
      ['RetryTask', 'none', 'UnknownJob'],
      ['EraseJob', 'none', 'UnknownJob'],
    ])
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
