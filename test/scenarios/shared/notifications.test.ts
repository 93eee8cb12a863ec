/**
 * PostgreSQL: whoever was told nothing for a while, because the connection that listens was lost,
 * has missed nothing.
 */
import { describe, expect, it } from 'vitest'
import { job, typed } from '../../../src/index.ts'
import { openConnection } from '../../../src/store/sql/postgres/connection.ts'
import { newsIn, newsPayload } from '../../../src/store/sql/postgres/notifier.ts'
import { freshSchema } from '../../support/postgres.ts'
import { engineAt } from './places.ts'

const echo = job('echo', { input: typed<number>(), run: ({ input }) => input })

describe('a queue whose own rate is used up', () => {
  it('goes on when it has room again, though no worker polls', async () => {
    const { url, schema } = await freshSchema()
    const pawl = await engineAt({ location: url, options: { schema } })
    await pawl.configure('default', { rate: { count: 1, per: '2s' } })
    pawl.work([echo], { poll: '1h' })
    const handles = await pawl.submitMany(echo, [{ input: 1 }, { input: 2 }])
    const results = handles.map((handle) => handle.result({ timeout: '30s' }))
    expect(await Promise.all(results)).toEqual([1, 2])
  })
})

describe('the bell', () => {
  it('is put up again when its connection was lost, and nothing is missed', async () => {
    const { url, schema } = await freshSchema()
    const [here, there] = [
      await engineAt({ location: url, options: { schema } }),
      await engineAt({ location: url, options: { schema } }),
    ]
    there.work([echo], { poll: '1h' })
    const server = await openConnection({ url })
    const cut = async (): Promise<number> => {
      const [answered] = await server.run([
        {
          sql: `select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1`,
          values: [`pawl listener ${schema}`],
        },
      ])
      return answered?.rows.length ?? 0
    }
    for (let input = 0; input < 5; input++) {
      await expect.poll(cut).toBeGreaterThan(0)
      const handle = await here.submit(echo, input)
      expect(await handle.result()).toBe(input)
    }
    await server.close()
    expect([...here.errors, ...there.errors]).toEqual([])
  })

  it('says who rings it, so that nobody hears himself', () => {
    const news = new Set(['work', 'ends'] as const)
    expect(newsIn(newsPayload(news, 'a'), 'b')).toEqual(news)
    expect(newsIn(newsPayload(news, 'a'), 'a')).toBe(null)
    expect(newsIn(newsPayload(news), 'a')).toEqual(news)
    expect(newsIn('', 'a')).toEqual(new Set())
    const later = newsIn('x work weather', 'a')
    expect(later).toContain('schedules')
  })
})
