/**
 * The statements as they are run on a connection of the user's.
 */
import { readFileSync } from 'node:fs'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPostgres } from '../../../src/store/sql/open-sql.ts'
import { qualified } from '../../../src/store/sql/postgres/qualified-names.ts'
import { POSTGRES } from '../../../src/store/sql/postgres/statements.ts'
import type { SqlStore } from '../../../src/store/sql/sql-store.ts'
import { freshSchema } from '../../support/postgres.ts'

/** Others are about the transaction, and name nothing. */
const PREPARABLE = /^(?:select|with|insert|update|delete)\b/
/** The files that take the statements of a decision from the dialect. */
const DECIDING = [
  'transaction/transaction',
  'transaction/row-loader',
  'transaction/build-writes',
  'transaction/turn-assignment',
  'user-transaction/user-transactions',
  'user-transaction/commit-with-writes',
]

/** The names of all statements that are run where something is decided. */
function used(): string[] {
  const texts = DECIDING.map((file) => readFileSync(`src/store/sql/${file}.ts`, 'utf8'))
  return texts.flatMap((text) => [...text.matchAll(/\bsql\.(\w+)/g)].map(([, name = '']) => name))
}

let store: SqlStore
let client: Client
let schema: string
beforeAll(async () => {
  const place = await freshSchema()
  schema = `${place.schema} it's "odd"`
  store = await openPostgres({ ...place, schema })
  client = new Client({ connectionString: place.url })
  await client.connect()
  // Whatever has no schema before it is not found.
  await client.query(`set search_path = ''`)
})
afterAll(async () => {
  await client.end()
  await store.close()
})

function all(): [name: string, text: string][] {
  const names = new Set(used())
  const statements = Object.entries(qualified(POSTGRES, schema)) as [string, string][]
  return statements.filter(([name, text]) => names.has(name) && PREPARABLE.test(text.trim()))
}

describe('statements with their schema', () => {
  it('find everything, wherever names are looked for', async () => {
    expect(all().length).toBeGreaterThan(25)
    for (const [name, text] of all()) {
      await expect(client.query(`prepare "${name}" as ${text}`), name).resolves.toMatchObject({
        command: 'PREPARE',
      })
    }
  })

  it('without it they find nothing', async () => {
    await expect(client.query(`prepare x as ${POSTGRES.readQueues}`)).rejects.toThrow('not exist')
    await expect(client.query(`prepare x as ${POSTGRES.positions}`)).rejects.toThrow('not exist')
  })

  it('that are read have a name of its own for each column: libraries read by name', async () => {
    const read = ['readMeta', 'clock', 'positions', 'lockRows', 'readRows', 'lockKeys', 'tallies']
    const others = ['queues', 'readQueues', 'leasesInQueues', 'lockSchedules', 'lockLimits']
    const texts = new Map(all())
    for (const name of [...read, ...others]) {
      const text = texts.get(name) as string
      const parameters = [...text.matchAll(/\$(\d+)::\w+(\[\])?/g)]
      const values: unknown[] = []
      for (const [, number, array] of parameters) {
        values[Number(number) - 1] = array === undefined ? null : []
      }
      const { fields } = await client.query(text, values)
      const names = fields.map((field) => field.name)
      expect({ name, names }).toEqual({ name, names: [...new Set(names)] })
    }
  })
})
