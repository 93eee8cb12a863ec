import { expect, it, onTestFinished } from 'vitest'
import { accessTo } from '../engine/engine-access.ts'
import type { EngineAccess } from '../engine/engine-access.ts'
import { open } from '../index.ts'
import { RemoteSessions } from './remote-sessions.ts'

it('what is asked of a session between two of its polls ends the next one at once, and no other', async () => {
  const pawl = await open('memory:')
  const sessions = new RemoteSessions(accessTo(pawl) as EngineAccess, 60_000, () => undefined)
  onTestFinished(async () => {
    sessions.close()
    await pawl.close()
  })
  sessions.polls('far').end()
  expect(sessions.ask('far', 'worker', 'drain')).toBe(true)
  const next = sessions.polls('far')
  expect(next.isAsked.aborted).toBe(true)
  expect(sessions.asked('far')).toEqual([{ worker: 'worker', text: 'drain' }])
  next.end()
  const later = sessions.polls('far')
  expect(later.isAsked.aborted).toBe(false)
  sessions.ask('far', 'worker', 'resume')
  expect(later.isAsked.aborted).toBe(true)
})
