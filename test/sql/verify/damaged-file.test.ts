/**
 * A SQLite file with bytes flipped all over its pages: whatever reads it either gives what was written, or
 * says that the file is damaged, by name. Nothing else ever comes out of it.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { DatabaseDamaged, verifyDatabase } from '../../../src/store/index.ts'
import { openSqliteStore } from '../../../src/store/sql/open-sql.ts'
import type { SqlStore } from '../../../src/store/sql/sql-store.ts'
import { CorruptRecord } from '../../../src/store/sql/rows/records.ts'
import { Dice } from '../../model/properties/dice.ts'
import { plain } from '../../support/specs.ts'
import { freshFile } from '../../support/sqlite.ts'
import { SampleStore } from './sample-store.ts'
import { DATABASES } from './test-databases.ts'
import { IS_LONG } from '../../support/campaign.ts'

const PAGE = 4_096
const FLIPS = IS_LONG ? 1_000 : 16
const JOBS = ['done', 'held', 'pipe', 'dead', 'parent', 'filler 1', 'filler 20']
const clock = { now: () => 2_000 }

let path: string
let whole: Buffer
beforeAll(async () => {
  path = await freshFile()
  const store = await new SampleStore().tell((told) => openSqliteStore({ path, clock: told }))
  const spec = plain({ input: JSON.stringify('x'.repeat(200)) })
  for (let i = 0; i < 40; i++) {
    await store.execute([{ type: 'SubmitJob', job: `filler ${i}`, spec }])
  }
  await store.close()
  whole = readFileSync(path)
})

function write(bytes: Buffer): void {
  // Without the mark, too: this is an older copy of what was written since.
  for (const end of ['-wal', '-shm', '-mark']) rmSync(path + end, { force: true })
  writeFileSync(path, bytes)
}

/** One to four bytes in a row that are used, half of the time at the beginning of a page. */
function damaged(dice: Dice): { bytes: Buffer; at: number } {
  const bytes = Buffer.from(whole)
  const page = dice.below(whole.length / PAGE) * PAGE
  let at = page + dice.below(dice.chance(50) ? 120 : PAGE)
  while (whole[at] === 0 && at < whole.length - 4) at += 1
  const bits = 1 + dice.below(255)
  for (let end = at + (dice.chance(50) ? 1 : 4), i = at; i < end; i++) {
    bytes[i] = (bytes[i] as number) ^ bits
  }
  return { bytes, at }
}

/** Also where SQLite left a copy in a page that it has used for something else since. */
function placesOf(text: string): number[] {
  const places: number[] = []
  for (let at = whole.indexOf(text); at >= 0; at = whole.indexOf(text, at + 1)) places.push(at)
  expect(places.length).toBeGreaterThan(0)
  return places
}

/** Errors that are not those which say so, with the place that was damaged. */
class Unexpected {
  readonly list: string[] = []
  damages = 0

  note(at: number, call: string): (error: unknown) => void {
    return (error) => {
      const isSaid = error instanceof DatabaseDamaged || error instanceof CorruptRecord
      if (isSaid && error.message.includes(path)) this.damages += 1
      else this.list.push(`byte ${at}, ${call}: ${String((error as Error).stack)}`)
    }
  }
}

/** Everything that a user may ask of the store, which is closed then. */
async function askAll(
  store: SqlStore,
  note: (call: string) => (error: unknown) => void,
): Promise<void> {
  for (const job of JOBS) {
    await store.query({ kind: 'overview', job }).catch(note('get'))
    await store.query({ kind: 'history', job, limit: 50 }).catch(note('history'))
  }
  const examination = { kind: 'examination', limit: 200, waitedMs: 1 } as const
  await store.query(examination).catch(note('examination'))
  const submit = { type: 'SubmitJob', job: 'new', spec: plain() } as const
  await store.execute([submit]).catch(note('submit'))
  await store.close()
}

describe('a SQLite file with bytes flipped', () => {
  it.each([1, 2])('says that it is damaged, whatever is asked of it (seed %i)', async (seed) => {
    const dice = new Dice(seed)
    const unexpected = new Unexpected()
    for (let i = 0; i < FLIPS; i++) {
      const { bytes, at } = damaged(dice)
      write(bytes)
      const store = await openSqliteStore({ path, clock }).catch(unexpected.note(at, 'open'))
      if (store !== undefined) await askAll(store, (call) => unexpected.note(at, call))
      write(bytes)
      const { problems } = await verifyDatabase(`sqlite:${path}`).catch((error: unknown) => {
        unexpected.note(at, 'verify')(error)
        return { problems: [] }
      })
      for (const problem of problems) {
        expect(problem).toMatchObject({ what: expect.any(String), table: expect.any(String) })
      }
    }
    expect(unexpected.list).toEqual([])
    expect(unexpected.damages).toBeGreaterThan(FLIPS / 8)
  })

  it('that hides the table with its version is not taken for a new one', async () => {
    const bytes = Buffer.from(whole)
    for (const at of placesOf('tablemetameta')) bytes.write('tablemetbmetb', at)
    for (const at of placesOf('CREATE TABLE meta')) bytes.write('CREATE TABLE metb', at)
    write(bytes)
    await expect(openSqliteStore({ path, clock })).rejects.toThrow(DatabaseDamaged)
    expect((await verifyDatabase(`sqlite:${path}`)).problems).toMatchObject([{ table: 'meta' }])
  })

  it.each([7, 'text'])(
    'may give %j in place of a record, which is damage as any other',
    async (value) => {
      const place = await (DATABASES['SQLite'] as (typeof DATABASES)[string])()
      const store = await new SampleStore().tell((told) => place.open(told))
      await place.plant(async (run) => {
        await run(
          `update events set record = ? where job = 'done' and type = 'LeaseGranted'`,
          value,
        )
        await run(`update work set record = ? where job = 'held'`, value)
      })
      for (const query of [
        { kind: 'history', job: 'done', limit: 9 },
        { kind: 'overview', job: 'held' },
      ] as const) {
        const asked = store.query(query)
        await expect(asked).rejects.toThrow(CorruptRecord)
        await expect(asked).rejects.toThrow(place.dialect.where)
      }
      await store.close()
      const { problems } = await verifyDatabase(place.location)
      expect(problems).toMatchObject([
        { table: 'events', row: 'done', what: 'LeaseGranted: it is missing' },
        { table: 'work', row: 'held', what: 'its record is damaged: it is missing' },
      ])
      await place.close()
    },
  )

  it('is named with the row, where a record does not check', async () => {
    const bytes = Buffer.from(whole)
    for (const at of placesOf('filler 1JobSubmitted')) {
      bytes[at + 100] = (bytes[at + 100] as number) ^ 1
    }
    write(bytes)
    const store = await openSqliteStore({ path, clock })
    const failed = await Promise.all(
      JOBS.map((job) => store.query({ kind: 'overview', job }).then(() => null, String)),
    )
    await store.close()
    expect(failed.filter((one) => one !== null)).toMatchObject([
      expect.stringMatching(/SQLite file .*\.db: the event at position \d+ is damaged/),
    ])
  })
})
