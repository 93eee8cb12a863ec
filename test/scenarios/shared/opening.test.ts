/**
 * Opening an engine on a database: what it takes, what it refuses, and where files go.
 */
import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { OpenOptions } from '../../../src/index.ts'
import { job, open } from '../../../src/index.ts'
import { freshSchema } from '../../support/postgres.ts'
import { freshFile } from '../../support/sqlite.ts'
import type { SharedPlace } from './places.ts'
import { engineAt, SHARED } from './places.ts'

const writing = job('writing', {
  retry: { max: 0 },
  run: async ({ artifact }) => artifact('report.txt').write('all of it'),
})

describe('opening a database', () => {
  it.each<[string, string, OpenOptions, string]>([
    ['an archive', 'postgres://localhost/x', { archive: './old' }, '`archive`'],
    ['a schema of SQLite', 'sqlite:a.db', { schema: 'a' }, '`schema`'],
    ['a schema of a directory', './data', { schema: 'a' }, '`schema`'],
    ['a schema without a name', 'postgres://localhost/x', { schema: '' }, '`schema`'],
    ['a schema of the server', 'postgres://localhost/x', { schema: 'pg_a' }, '`schema`'],
    ['a schema that is too long', 'postgresql://h/x', { schema: 'ä'.repeat(32) }, '63 bytes'],
    ['no file', 'sqlite:', {}, 'sqlite:jobs.db'],
    ['a file in memory', 'sqlite::memory:', {}, `open('memory:')`],
    ['a schema of a server', 'https://localhost', { schema: 'a' }, '`schema`'],
    ['a token of a database', 'postgres://localhost/x', { token: 'a' }, '`token`'],
  ])('refuses %s', async (_, location, options, named) => {
    const opening = open(location, options)
    await expect(opening).rejects.toMatchObject({ code: 'InvalidDefinition' })
    await expect(opening).rejects.toThrow(named)
  })

  it('says which server is not there, and not with which password', async () => {
    const opening = open('postgres://ann:secret@127.0.0.1:1/x')
    await expect(opening).rejects.toMatchObject({ code: 'SqlFailed' })
    await expect(opening).rejects.toThrow(/127\.0\.0\.1:1\/x/)
    await expect(opening).rejects.not.toThrow(/secret/)
  })

  it('of a file whose folder is not there says so', async () => {
    const opening = open('sqlite:/nowhere/at/all/jobs.db')
    await expect(opening).rejects.toMatchObject({ code: 'SqlFailed' })
    await expect(opening).rejects.toThrow('/nowhere/at/all/jobs.db')
  })

  it('keeps artifacts beside a SQLite file', async () => {
    const path = await freshFile()
    const pawl = await engineAt({ location: `sqlite:${path}`, options: {} })
    pawl.work([writing])
    const ref = await (await pawl.submit(writing)).result()
    expect(await (await pawl.artifacts.open(ref)).text()).toBe('all of it')
    expect(existsSync(`${path}-artifacts`)).toBe(true)
  })

  it('has no place for artifacts on PostgreSQL until it is given one', async () => {
    const { url, schema } = await freshSchema()
    const place: SharedPlace = { location: url, options: { schema } }
    const without = await engineAt(place)
    const worker = without.work([writing])
    const result = (await without.submit(writing)).result()
    await expect(result).rejects.toMatchObject({
      code: 'JobQuarantined',
      failure: { code: 'InvalidDefinition', message: expect.stringContaining('{ artifacts }') },
    })
    await worker.stop()
    const folder = await freshFile()
    const pawl = await engineAt(place, { artifacts: folder })
    pawl.work([writing])
    const ref = await (await pawl.submit(writing)).result()
    expect(await (await pawl.artifacts.open(ref)).text()).toBe('all of it')
    await expect(without.artifacts.open(ref)).rejects.toMatchObject({ code: 'ArtifactMissing' })
  })

  it.each(Object.keys(SHARED))('leaves backups to it, and forgets as told: %s', async (name) => {
    const place = await (SHARED[name] as (typeof SHARED)[string])()
    const first = await engineAt(place)
    await expect(first.backup('./copy')).rejects.toMatchObject({ code: 'InvalidDefinition' })
    const brief = job('brief', { run: () => 1 })
    first.work([brief])
    const handle = await first.submit(brief)
    await handle.result()
    const kept: string[] = []
    await engineAt(place, {
      retention: { types: { brief: { count: 0 } } },
      onForget: (jobs) => void kept.push(...jobs.map(({ id }) => id)),
    })
    await expect.poll(() => first.get(handle.id), { timeout: 20_000 }).toBe(null)
    expect(kept).toEqual([handle.id])
  })
})
