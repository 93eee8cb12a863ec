/**
 * A backup has the artifacts that its jobs refer to, and opens elsewhere.
 */
import { rm } from 'node:fs/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { deferred, temporaryFolder } from '../../../test/support/engines.ts'
import type { ArtifactPlace, ArtifactRef, OpenOptions, Pawl } from '../../index.ts'
import { job, open, typed } from '../../index.ts'
import { folderPlace } from '../../worker/index.ts'

const write = job('write', {
  input: typed<string>(),
  run: ({ input, artifact }) => artifact('a.txt').write(input),
})

async function opened(folder: string, options: OpenOptions = {}): Promise<Pawl> {
  const pawl = await open(folder, {
    onError: (error) => {
      throw error
    },
    ...options,
  })
  onTestFinished(() => pawl.close())
  return pawl
}

/** Jobs that are over, each with a file; their ids are their contents. */
async function written(pawl: Pawl, ...ids: string[]): Promise<ArtifactRef[]> {
  const worker = pawl.work([write], { signals: [] })
  const refs: ArtifactRef[] = []
  for (const id of ids) refs.push(await (await pawl.submit(write, id, { id })).result())
  await worker.stop()
  return refs
}

async function texts(pawl: Pawl, refs: readonly ArtifactRef[]): Promise<string[]> {
  return Promise.all(refs.map(async (ref) => (await pawl.artifacts.open(ref)).text()))
}

/** The files of jobs in a place, without those that say whose they are. */
async function filesIn(place: ArtifactPlace, folder = ''): Promise<string[]> {
  const found: string[] = []
  for (const name of await place.list(folder, '', 1_000)) {
    const path = folder === '' ? name : `${folder}/${name}`
    if ((await place.size(path)) === null) found.push(...(await filesIn(place, path)))
    else if (name !== 'owner.json') found.push(path)
  }
  return found
}

/** A place of the user's own, on a folder, that can be stopped. */
class OwnPlace implements ArtifactPlace {
  readonly #inner: ArtifactPlace
  onRead: (path: string) => Promise<void> = async () => undefined
  onRemove: () => Promise<void> = async () => undefined

  constructor(folder: string) {
    this.#inner = folderPlace(folder)
  }

  write(path: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    return this.#inner.write(path, content)
  }

  size(path: string): Promise<number | null> {
    return this.#inner.size(path)
  }

  async *read(path: string): AsyncGenerator<Uint8Array, void, void> {
    await this.onRead(path)
    yield* this.#inner.read(path)
  }

  async remove(folder: string): Promise<void> {
    await this.onRemove()
    return this.#inner.remove(folder)
  }

  list(folder: string, after: string, limit: number): Promise<readonly string[]> {
    return this.#inner.list(folder, after, limit)
  }
}

describe('a backup', () => {
  it('has the artifacts of its jobs, and needs nothing of what it is a copy of', async () => {
    const folder = await temporaryFolder()
    const pawl = await opened(`${folder}/a`)
    const ids = Array.from({ length: 20 }, (_, i) => `job ${i}`)
    const refs = await written(pawl, ...ids)
    // Twenty files, and for each job one that says whose they are.
    expect(await pawl.backup(`${folder}/b`)).toMatchObject({ artifacts: 40 })
    await pawl.close()
    await rm(`${folder}/a`, { recursive: true })
    const copy = await opened(`${folder}/b`)
    expect(await texts(copy, refs)).toEqual(ids)
    const checks = await Promise.all(ids.map((id) => copy.artifacts.check(id)))
    expect(checks.flat().map(({ state }) => state)).toEqual(ids.map(() => 'valid'))
  })

  it('has them also if they are in a folder elsewhere: in its own', async () => {
    const folder = await temporaryFolder()
    const pawl = await opened(`${folder}/a`, { artifacts: `${folder}/large` })
    const refs = await written(pawl, 'one')
    await pawl.backup(`${folder}/b`)
    await pawl.close()
    await rm(`${folder}/large`, { recursive: true })
    const copy = await opened(`${folder}/b`)
    expect(await texts(copy, refs)).toEqual(['one'])
  })

  it('has none of other stores in the same folder', async () => {
    const folder = await temporaryFolder()
    const artifacts = `${folder}/shared`
    const pawl = await opened(`${folder}/a`, { artifacts })
    const other = await opened(`${folder}/other`, { artifacts })
    const [ref] = await written(pawl, 'one')
    await written(other, 'two')
    await pawl.backup(`${folder}/b`)
    expect(await filesIn(folderPlace(`${folder}/b/artifacts`))).toEqual([ref?.$artifact])
  })

  it('has none if that is asked for, and says so', async () => {
    const folder = await temporaryFolder()
    const pawl = await opened(`${folder}/a`)
    const [ref] = await written(pawl, 'one')
    const done = await pawl.backup(`${folder}/b`, { artifacts: false })
    expect(done.artifacts).toBe(0)
    await pawl.close()
    const copy = await opened(`${folder}/b`)
    await expect(copy.artifacts.open(ref as ArtifactRef)).rejects.toMatchObject({
      code: 'ArtifactMissing',
    })
  })

  it('leaves what is in a place of your own there, unless it is asked for', async () => {
    const folder = await temporaryFolder()
    const place = new OwnPlace(`${folder}/own`)
    const pawl = await opened(`${folder}/a`, { artifacts: place })
    const refs = await written(pawl, 'one')
    expect((await pawl.backup(`${folder}/b`)).artifacts).toBe(0)
    expect((await pawl.backup(`${folder}/c`, { artifacts: true })).artifacts).toBe(2)
    await pawl.close()
    expect(await texts(await opened(`${folder}/b`, { artifacts: place }), refs)).toEqual(['one'])
    expect(await texts(await opened(`${folder}/c`), refs)).toEqual(['one'])
  })

  it('that was cut short in the middle of the artifacts does not open', async () => {
    const folder = await temporaryFolder()
    const place = new OwnPlace(`${folder}/own`)
    const pawl = await opened(`${folder}/a`, { artifacts: place })
    await written(pawl, 'one')
    place.onRead = (path) =>
      path.endsWith('a.txt') ? Promise.reject(new Error('no')) : Promise.resolve()
    await expect(pawl.backup(`${folder}/b`, { artifacts: true })).rejects.toThrow('no')
    await expect(open(`${folder}/b`)).rejects.toMatchObject({ code: 'CorruptLog' })
  })
})

describe('while a backup is made', () => {
  it('no artifact is removed, though its job is forgotten', async () => {
    const folder = await temporaryFolder()
    const place = new OwnPlace(`${folder}/own`)
    const pawl = await opened(`${folder}/a`, { artifacts: place, retention: { count: 0 } })
    const refs = await written(pawl, 'one', 'two')
    const reading = deferred()
    const goOn = deferred()
    place.onRead = async (path) => {
      if (!path.endsWith('a.txt')) return
      reading.resolve()
      await goOn.promise
    }
    const backup = pawl.backup(`${folder}/b`, { artifacts: true })
    await reading.promise
    await forgotten(pawl, 'one', 'two')
    await pawl.upkeep()
    expect((await filesIn(place)).toSorted()).toEqual(refs.map((ref) => ref.$artifact).toSorted())
    goOn.resolve()
    expect((await backup).artifacts).toBe(4)
    await pawl.upkeep()
    expect(await filesIn(place)).toEqual([])
    await pawl.close()
    const copy = await opened(`${folder}/b`)
    expect(await texts(copy, refs)).toEqual(['one', 'two'])
  })

  it('a sweep that was under way has come to its end before', async () => {
    const folder = await temporaryFolder()
    const place = new OwnPlace(`${folder}/own`)
    const pawl = await opened(`${folder}/a`, { artifacts: place, retention: { count: 0 } })
    const removing = deferred()
    const goOn = deferred()
    // BEFORE there is anything to sweep: the engine sweeps by itself, too.
    place.onRemove = async () => {
      removing.resolve()
      await goOn.promise
    }
    await written(pawl, 'one')
    const sweeping = forgotten(pawl, 'one')
    await removing.promise
    let isMade = false
    const backup = pawl.backup(`${folder}/b`, { artifacts: true }).finally(() => (isMade = true))
    // One that waits for nothing takes as long.
    await pawl.backup(`${folder}/c`, { artifacts: false })
    await pawl.backup(`${folder}/d`, { artifacts: false })
    expect(isMade).toBe(false)
    goOn.resolve()
    await sweeping
    expect((await backup).artifacts).toBe(0)
  })
})

async function forgotten(pawl: Pawl, ...ids: string[]): Promise<void> {
  for (const id of ids) {
    while ((await pawl.get(id)) !== null) await pawl.upkeep()
  }
}
