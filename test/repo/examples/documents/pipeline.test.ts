/** The pipeline of the example, over real files, without kills. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { Collection } from '../../../../examples/documents/corpus.ts'
import { writeCollection } from '../../../../examples/documents/corpus.ts'
import { collection as definition } from '../../../../examples/documents/pipeline.ts'
import { proofOf } from '../../../../examples/documents/proof.ts'
import { Tally } from '../../../../examples/documents/tally.ts'
import { open } from '../../../../src/index.ts'

const SOUND = 1
const SPOILT = 4
const SIZE = 8
const TIMEOUT = { timeout: '60s' } as const

const folders: string[] = []
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true })
})

async function place(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-documents-test-'))
  folders.push(folder)
  return folder
}

interface Worked {
  readonly log: string
  readonly collection: Collection
}

/** One collection, worked through. */
async function worked(number: number): Promise<Worked> {
  const folder = await place()
  const log = join(folder, 'log')
  const collection = await writeCollection(folder, 1, number, SIZE)
  const pawl = await open(log)
  pawl.work([definition])
  const share = { folder: collection.folder, flaky: collection.flaky }
  const handle = await pawl.submit(definition, share, { id: collection.name })
  await handle.result(TIMEOUT).catch(() => undefined)
  await pawl.close()
  return { log, collection }
}

async function fileNamed(folder: string, name: string): Promise<string> {
  const paths = await readdir(folder, { recursive: true })
  return join(folder, paths.find((path) => path.endsWith(name)) ?? '')
}

describe('a collection', () => {
  it('is the same for the same seed, and another for another', async () => {
    const files = async (seed: number): Promise<string[]> => {
      const { folder } = await writeCollection(await place(), seed, SOUND, SIZE)
      const names = (await readdir(folder)).toSorted()
      return Promise.all(names.map((name) => readFile(join(folder, name), 'latin1')))
    }
    const first = await files(1)
    expect(first).toHaveLength(SIZE)
    expect(await files(1)).toEqual(first)
    expect(await files(2)).not.toEqual(first)
  })

  it('is reported on: sound documents are counted once, the others named', async () => {
    const { log, collection } = await worked(SOUND)
    const sound = collection.documents.filter(({ flaw }) => flaw === null)
    const flaky = collection.documents.filter(({ isFlaky }) => isFlaky)
    const { lines, holds, report } = await proofOf(log, [collection], new Tally())
    expect(lines.at(-1)).toBe('It holds: every document was counted exactly once.')
    expect(holds).toBe(true)
    expect(lines).toContain(`reads that failed and were tried again: ${flaky.length}`)
    expect(flaky.length).toBeGreaterThan(0)
    expect(sound.length).toBeLessThan(SIZE)
    const text = await readFile(report ?? '', 'utf8')
    for (const { name } of collection.documents) expect(text.split(name)).toHaveLength(2)
  })

  it('that is spoilt fails, with a note and without a report', async () => {
    const { log, collection } = await worked(SPOILT)
    const { lines, holds } = await proofOf(log, [collection], new Tally())
    expect(lines).toContain('collections: 1; 0 reports, 1 given up, with a note')
    expect(holds).toBe(true)
    const note = await readFile(await fileNamed(log, 'note.txt'), 'utf8')
    expect(note).toMatch(/^railway-4: there is no report/)
  })
})

describe('the proof does not hold', () => {
  it('if a document has other words than its report says', async () => {
    const { log, collection } = await worked(SOUND)
    const name = collection.documents.find(({ flaw }) => flaw === null)?.name ?? ''
    const path = join(collection.folder, name)
    await writeFile(path, `One more word. ${await readFile(path, 'utf8')}`)
    const { lines, holds } = await proofOf(log, [collection], new Tally())
    expect(lines.join('\n')).toContain(`PROBLEM: ${collection.name}/${name} has `)
    expect(holds).toBe(false)
  })

  it('if a report is not what was committed', async () => {
    const { log, collection } = await worked(SOUND)
    await writeFile(await fileNamed(log, 'report.json'), '{}')
    const { lines, holds } = await proofOf(log, [collection], new Tally())
    expect(lines.join('\n')).toMatch(/PROBLEM: .*report\.json is corrupt/)
    expect(lines.at(-1)).toMatch(/^IT DOES NOT HOLD/)
    expect(holds).toBe(false)
  })

  it('if a collection that should be there is not', async () => {
    const { log, collection } = await worked(SOUND)
    const missing = { ...collection, name: 'nowhere-9' }
    const { lines, holds } = await proofOf(log, [collection, missing], new Tally())
    expect(lines).toContain('PROBLEM: nowhere-9 is not in the log')
    expect(holds).toBe(false)
  })
})
