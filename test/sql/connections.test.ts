/**
 * What every connection to a database must do, whichever database it is.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Connection, Row } from '../../src/store/sql/connection.ts'
import type { Place } from './databases.ts'
import { ask, DATABASES, reasonOf } from './databases.ts'

const BYTES = Uint8Array.from({ length: 300 }, (_, at) => at % 256)

/** Bytes as plain numbers: drivers differ in their kinds of arrays. */
function plain(rows: readonly Row[]): unknown[] {
  return rows.map((row) => row.map((value) => (value instanceof Uint8Array ? [...value] : value)))
}

describe.each(DATABASES)('a connection to $name', (database) => {
  const { words } = database
  let place: Place
  let connection: Connection

  beforeEach(async () => {
    place = await database.make()
    connection = await place.open()
    await connection.run([ask(words.create)])
  })

  afterEach(async () => {
    await connection.close()
    await place.remove()
  })

  const idsOf = async (of = connection): Promise<unknown[]> => {
    const [answer] = await of.run([ask(words.select)])
    return (answer?.rows ?? []).map(([id]) => id)
  }

  const SAMPLES: readonly Row[] = [
    ['', 0, false, new Uint8Array(0)],
    ['a"b\\c,{}\n', 2 ** 53 - 1, true, BYTES],
    ['b', -(2 ** 53 - 1), null, Uint8Array.of(0)],
    ['c', null, true, null],
    ['d', 2 ** 32, false, Uint8Array.of(0, 92, 120, 0)],
    ['e', -1, true, BYTES.subarray(10, 20)],
    ['žluťoučký 馬 🐎', 1, true, BYTES],
  ]
  const expected = plain(
    SAMPLES.map(([id, n, is, bytes]) => [
      id as string,
      n as number | null,
      is === null ? null : database.flag(is as boolean),
      bytes as Uint8Array | null,
    ]),
  )

  it('gives back every value that it was given, one by one', async () => {
    await connection.run(SAMPLES.map((row) => ask(words.insert, ...row)))
    const [answer] = await connection.run([ask(words.select)])
    expect(plain(answer?.rows ?? [])).toEqual(expected)
    expect(answer?.changed).toBe(0)
  })

  it('gives back every value of a table of rows, and says what it returned and changed', async () => {
    const [inserted, read] = await connection.run([
      { sql: words.insertAll, rows: SAMPLES },
      ask(words.select),
    ])
    expect(inserted).toEqual({ rows: SAMPLES.map(([, n]) => [n]), changed: SAMPLES.length })
    expect(plain(read?.rows ?? [])).toEqual(expected)
  })

  it('takes a column that is all nulls, and no rows at all', async () => {
    const [none, one] = await connection.run([
      { sql: words.insertAll, rows: [] },
      { sql: words.insertAll, rows: [['x', null, null, null]] },
    ])
    expect(none).toEqual({ rows: [], changed: 0 })
    expect(one).toEqual({ rows: [[null]], changed: 1 })
    expect(await connection.run([])).toEqual([])
    expect(await connection.run([{ sql: words.nonsense, rows: [] }])).toEqual([
      { rows: [], changed: 0 },
    ])
  })

  it('runs what it is asked in order, also runs that do not wait for each other', async () => {
    const asks = [
      ask(words.insert, 'a', 1, true, null),
      ask(words.rename, 'a', 'b'),
      ask(words.rename, 'a', 'c'),
      ask(words.rename, 'b', 'd'),
    ]
    const runs = await Promise.all([...asks, ask(words.select)].map((one) => connection.run([one])))
    expect(runs.map(([answer]) => answer?.changed)).toEqual([1, 1, 0, 1, 0])
    expect(runs.at(-1)?.[0]?.rows.map(([id]) => id)).toEqual(['d'])
  })

  it('says of a statement that changes nothing that it changed nothing', async () => {
    const answers = await connection.run([
      ask(words.begin),
      ask(words.insert, 'a', 1, true, null),
      ask(words.select),
      ask('commit'),
      ask(words.begin),
      ask(words.rename, 'b', 'c'),
      ask('rollback'),
    ])
    expect(answers.map(({ changed }) => changed)).toEqual([0, 1, 0, 0, 0, 0, 0])
  })

  it('runs nothing behind a failure, and what is sent after that is run', async () => {
    const failing = connection.run([
      ask(words.begin),
      ask(words.insert, 'a', 1, true, null),
      ask(words.nonsense),
      ask(words.insert, 'b', 1, true, null),
      ask('commit'),
      ask(words.insert, 'c', 1, true, null),
    ])
    expect(await reasonOf(failing)).toBe('broken')
    await connection.run([ask('rollback')])
    expect(await idsOf()).toEqual([])
    await connection.run([ask(words.insert, 'd', 1, true, null)])
    expect(await idsOf()).toEqual(['d'])
  })

  it('runs nothing behind a failure outside of a transaction', async () => {
    const failing = connection.run([
      ask(words.nonsense),
      ask(words.insert, 'a', 1, true, null),
      { sql: words.insertAll, rows: [['b', 1, true, null]] },
    ])
    expect(await reasonOf(failing)).toBe('broken')
    expect(await idsOf()).toEqual([])
  })

  it('goes on after failures with statements that had failed, or were behind one', async () => {
    const failing = connection.run([ask(words.missing), ask(words.insert, 'a', 1, true, null)])
    const behind = connection.run([ask(words.insert, 'b', 1, true, null)])
    expect(await reasonOf(failing)).toBe('missing')
    expect(await reasonOf(behind)).toBe('none')
    expect(await reasonOf(connection.run([ask(words.missing)]))).toBe('missing')
    await connection.run([ask(words.insert, 'c', 1, true, null)])
    expect(await idsOf()).toEqual(['b', 'c'])
  })

  it('reads what a statement returns, also right behind a run in which it failed', async () => {
    const add = (id: string, n: number) => ({ sql: words.insertAll, rows: [[id, n, true, null]] })
    await connection.run([add('a', 1)])
    const failing = connection.run([add('a', 2)])
    const behind = connection.run([ask(words.select), add('b', 3)])
    expect(await reasonOf(failing)).toBe('conflict')
    expect((await behind)[1]?.rows).toEqual([[3]])
    expect((await connection.run([add('c', 4)]))[0]?.rows).toEqual([[4]])
  })

  it('calls a row that is there already a conflict', async () => {
    const row: Row = ['a', 1, true, null]
    await connection.run([ask(words.insert, ...row)])
    expect(await reasonOf(connection.run([ask(words.insert, ...row)]))).toBe('conflict')
    expect(await reasonOf(connection.run([{ sql: words.insertAll, rows: [row] }]))).toBe('conflict')
  })

  it('says that a database cannot be written to', async () => {
    await connection.run([ask(words.forbidWrites)])
    const refused = connection.run([ask(words.insert, 'a', 1, true, null)])
    expect(await reasonOf(refused)).toBe('read-only')
  })

  it('shows nobody else what is not committed', async () => {
    const other = await place.open()
    await connection.run([ask(words.begin), ask(words.insert, 'a', 1, true, null)])
    expect(await idsOf(other)).toEqual([])
    await connection.run([ask('commit')])
    expect(await idsOf(other)).toEqual(['a'])
    await other.close()
  })

  it('drops what is not committed when it is closed', async () => {
    const other = await place.open()
    await other.run([ask(words.begin), ask(words.insert, 'a', 1, true, null)])
    await other.close()
    expect(await idsOf()).toEqual([])
  })

  it('is closed once what was sent is through, and takes nothing after that', async () => {
    const rows = Array.from({ length: 2_000 }, (_, at): Row => [`id-${at}`, at, true, BYTES])
    const busy = connection.run([ask(words.begin), { sql: words.insertAll, rows }, ask('commit')])
    const closing = connection.close()
    expect(await reasonOf(connection.run([ask(words.select)]))).toBe('lost')
    const [, answer] = await busy
    expect(answer?.changed).toBe(2_000)
    await closing
    await connection.close()
    const other = await place.open()
    expect(await idsOf(other)).toHaveLength(2_000)
    await other.close()
  })

  it('names the database and the statement when it fails', async () => {
    const failing = connection.run([ask(words.missing)])
    await expect(failing).rejects.toThrow(/nowhere.*In: select 1 from nowhere/)
    await expect(failing).rejects.toMatchObject({
      code: 'SqlFailed',
      details: { reason: 'missing' },
    })
  })
})
