/** A logger of the user's, in the place of lines on stderr. */
import { expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../../test/support/engines.ts'
import type { Notice } from '../index.ts'
import { job, open } from '../index.ts'

it('gets errors that reach no caller, and notices, beside the functions of the user', async () => {
  const lines: [level: string, message: string, details: object][] = []
  const line =
    (level: string) =>
    (details: object, message: string): void =>
      void lines.push([level, message, details])
  const logger = { info: line('info'), warn: line('warn'), error: line('error') }
  const notices: Notice[] = []
  const pawl = await open(await temporaryFolder(), {
    logger,
    onNotice: (notice) => notices.push(notice),
    noticeRefusals: true,
  })
  onTestFinished(() => pawl.close())
  await pawl.on('submitted', () => {
    throw new Error('a listener failed')
  })
  const { id } = await pawl.submit(job('quiet', { run: () => null }))
  await pawl.cancel(id)
  await expect(pawl.retry(id)).rejects.toThrow()
  await expect
    .poll(() => lines.map(([level, message]) => `${level}: ${message}`))
    .toEqual(expect.arrayContaining(['info: A command was refused', 'error: a listener failed']))
  expect(notices).toMatchObject([{ kind: 'refused' }])
  expect(lines.find(([level]) => level === 'error')?.[2]).toMatchObject({
    err: { message: 'a listener failed' },
  })
})

it('is refused if it is none', async () => {
  await expect(open('memory:', { logger: { info: 1 } as never })).rejects.toThrow(
    '`logger` is an object with the functions info, warn and error, such as pino() gives',
  )
})
