import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/engines.ts'
import { plain } from '../../../test/support/specs.ts'
import { job, open } from '../../index.ts'
import { openDirectory } from './open-directory.ts'

const TYPE = 'held'
const CHANNELS = [{ queue: 'default', type: TYPE, stage: null }]

it('the leases of former owners are revoked at once, and those behind a server are not', async () => {
  const folder = await temporaryFolder()
  const first = await openDirectory(folder)
  const sessions = [first.presence?.session ?? '', 'owner-of-long-ago', 'remote-1', '']
  for (const [i, session] of sessions.entries()) {
    await first.execute([{ type: 'SubmitJob', job: `j${i}`, spec: { ...plain(), type: TYPE } }])
    const request = { worker: `w${i}`, request: 1, channels: CHANNELS, max: 1, started: true }
    expect(await first.claim({ ...request, session })).toHaveLength(1)
  }
  await first.close()
  const pawl = await open(folder)
  const own = job(TYPE, { run: () => 1 })
  try {
    await expect.poll(async () => (await pawl.get('j1'))?.state).toBe('QUEUED')
    const states = await Promise.all(sessions.map(async (_, i) => (await pawl.get(`j${i}`))?.state))
    expect(states).toEqual(['QUEUED', 'QUEUED', 'RUNNING', 'RUNNING'])
    // What is claimed now is this owner's own, and stays.
    pawl.work([own])
    expect(await pawl.handle('j0').result({ timeout: '20s' })).toBe(1)
  } finally {
    await pawl.close()
  }
})

it('without presence they are left to time', async () => {
  const folder = await temporaryFolder()
  const first = await openDirectory(folder, { presence: false })
  expect(first.presence).toBeUndefined()
  await first.execute([{ type: 'SubmitJob', job: 'j', spec: { ...plain(), type: TYPE } }])
  const request = { worker: 'w', request: 1, channels: CHANNELS, max: 1, started: true }
  await first.claim({ ...request, session: 'owner-a' })
  await first.close()
  const pawl = await open(folder, { presence: false })
  await pawl.upkeep()
  expect((await pawl.get('j'))?.state).toBe('RUNNING')
  await pawl.close()
})
