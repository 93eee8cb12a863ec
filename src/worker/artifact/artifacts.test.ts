import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { recorded } from '../../../test/support/history.ts'
import { deferred, ENGINES, EVERY_ENGINE, temporaryFolder } from '../../../test/support/engines.ts'
import { hookedEngine } from '../../../test/support/hooked-store.ts'
import type { ArtifactRef, Pawl, RunContext } from '../../index.ts'
import { batchJob, child, effect, job, open, pipeline, typed } from '../../index.ts'
import { MARKER } from './paths.ts'
import { openStored } from './stored-artifact.ts'
import { memoryPlace } from './places.ts'

const RETRY = { max: 5, delay: 0 } as const
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

async function* slowly(...texts: readonly string[]): AsyncGenerator<string, void, void> {
  for (const text of texts) yield text
}

async function textOf(pawl: Pawl, ref: ArtifactRef): Promise<string> {
  return (await pawl.artifacts.open(ref)).text()
}

/** On a directory, where files can be damaged. */
async function onDisk(): Promise<{ pawl: Pawl; folder: string }> {
  const folder = await temporaryFolder()
  const pawl = await open(folder)
  onTestFinished(() => pawl.close())
  return { pawl, folder }
}

function fileOf(folder: string, { $artifact }: ArtifactRef): string {
  return join(folder, 'artifacts', $artifact)
}

/** Writes once and fails once; what it did, attempt by attempt. */
function encoding(harm: (ref: ArtifactRef) => Promise<void> = async () => undefined) {
  const did: string[] = []
  const encode = job('encode', {
    input: typed<string>(),
    retry: RETRY,
    quarantine: 'always',
    run: async ({ input, artifact, job: { attempt } }) => {
      const film = artifact('film.mp4')
      const before = await film.reuse()
      did.push(before === null ? 'worked' : 'reused')
      const ref = before ?? (await film.write(`film of ${input}`))
      if (attempt === 1) {
        await harm(ref)
        throw new Error('later')
      }
      return { ref }
    },
  })
  return { did, encode }
}

describe.each(ENGINES)('an artifact %s', (_, openEngine) => {
  it('is written as text, as bytes and as a stream, and is read by a client', async () => {
    const pawl = await openEngine()
    const write = job('write', {
      run: async ({ artifact }) => ({
        text: await artifact('text.txt').write('grüße'),
        many: [await artifact('bytes.bin').write(Uint8Array.of(0, 255))],
        stream: await artifact('stream.txt').write(slowly('one ', 'two')),
        empty: await artifact('empty').write(''),
      }),
    })
    pawl.work([write])
    const handle = await pawl.submit(write)
    const { text, many, stream, empty } = await handle.result()
    expect(text).toMatchObject({ sha256: sha256('grüße'), bytes: 7 })
    expect(await textOf(pawl, text)).toBe('grüße')
    expect(await textOf(pawl, stream)).toBe('one two')
    expect(await textOf(pawl, empty)).toBe('')
    const opened = await pawl.artifacts.open(many[0] as ArtifactRef)
    expect([...(await opened.bytes())]).toEqual([0, 255])
    const parts: number[] = []
    for await (const part of opened.stream()) parts.push(...part)
    expect(parts).toEqual([0, 255])
  })

  it('stands in the commit with its path, size and SHA-256', async () => {
    const pawl = await openEngine()
    const write = job('write', { run: ({ artifact }) => artifact('a.txt').write('abc') })
    pawl.work([write])
    const handle = await pawl.submit(write, undefined, { id: 'Job/1' })
    const ref = await handle.result()
    expect(ref.$artifact).toMatch(/^[0-9a-f]{2}\/job-1~[0-9a-f]{32}\/job\/v1\/0\/1\/a\.txt$/)
    const history = recorded(await pawl.history(handle.id))
    const commit = history.find(({ entry }) => entry.type === 'ExecutionCommitted')
    expect(commit?.entry).toMatchObject({ output: JSON.stringify(ref) })
    expect(await pawl.artifacts.check(handle.id)).toEqual([
      { ref, stage: null, segment: 0, state: 'valid' },
    ])
  })

  it('of each segment is read by a later stage', async () => {
    const pawl = await openEngine()
    const film = pipeline('film', { input: typed<string[]>() })
      .stage('encode', {
        each: 'input',
        run: ({ segment, artifact }) => artifact('part').write(segment.toUpperCase()),
      })
      .stage('join', {
        after: 'encode',
        version: 3,
        run: async ({ outputs, openArtifact, artifact }) => {
          let all = ''
          for (const ref of await outputs.encode.toArray())
            all += await (await openArtifact(ref)).text()
          return artifact('whole').write(all)
        },
      })
    pawl.work([film])
    const handle = await pawl.submit(film, ['a', 'b', 'c'])
    const ref = await handle.result()
    expect(await textOf(pawl, ref)).toBe('ABC')
    expect(ref.$artifact).toContain('/stage-join/v3/0/1/whole')
    const checks = await pawl.artifacts.check(handle.id)
    expect(checks.map(({ stage, segment, state }) => `${stage} ${segment} ${state}`)).toEqual([
      'encode 0 valid',
      'encode 1 valid',
      'encode 2 valid',
      'join 0 valid',
    ])
    await expect(pawl.artifacts.check('nobody')).rejects.toMatchObject({ code: 'UnknownJob' })
  })

  it('is opened by an effect, and found damaged before it is used', async () => {
    const pawl = await openEngine()
    const found: string[] = []
    const print = effect('print', {
      input: typed<ArtifactRef>(),
      retry: { max: 1, delay: 0 },
      run: async (ref, { openArtifact }) => {
        if (found.length === 0) await openArtifact({ ...ref, bytes: 4 }).catch(note)
        found.push(await (await openArtifact(ref)).text())
      },
    })
    const note = (error: { readonly code: string }): unknown => found.push(error.code)
    const write = job('write', {
      effects: [print],
      run: async ({ artifact, commit }) => {
        const ref = await artifact('a').write('abc')
        return commit(ref, [print(ref)])
      },
    })
    pawl.work([write])
    await (await pawl.submit(write)).result()
    expect(found).toEqual(['ArtifactCorrupt', 'abc'])
  })

  it('of an earlier attempt saves the work, and the history says so', async () => {
    const pawl = await openEngine()
    const { did, encode } = encoding()
    pawl.work([encode])
    const handle = await pawl.submit(encode, 'x')
    const { ref } = await handle.result()
    expect(did).toEqual(['worked', 'reused'])
    expect(await textOf(pawl, ref)).toBe('film of x')
    expect((await handle.info()).steps).toEqual([
      'artifact:film.mp4:1',
      'artifact-reused:film.mp4:2',
    ])
  })

  it('that was made of another input is not used again', async () => {
    const pawl = await openEngine()
    const { did, encode } = encoding()
    const impatient = {
      ...encode,
      policy: { ...encode.policy, retry: { ...encode.policy.retry, max: 0 } },
    }
    pawl.work([impatient])
    const handle = await pawl.submit(impatient, 'old')
    await expect(handle.result()).rejects.toMatchObject({ code: 'JobQuarantined' })
    await pawl.retry(handle.id, { input: 'new' })
    const { ref } = await handle.result()
    expect(did).toEqual(['worked', 'worked'])
    expect(await textOf(pawl, ref)).toBe('film of new')
  })

  it('that another version of the code wrote is not used again', async () => {
    const pawl = await openEngine()
    const did: string[] = []
    const versioned = (version: number) =>
      job('encode', {
        version,
        upgrades: { 1: () => undefined },
        retry: { max: 0 },
        run: async ({ artifact, job: { attempt } }) => {
          const before = await artifact('part').reuse()
          did.push(`${version} ${before === null ? 'worked' : 'reused'}`)
          const ref = before ?? (await artifact('part').write(`by ${version}`))
          if (attempt < 3) throw new Error('later')
          return ref
        },
      })
    const handle = await pawl.submit(versioned(1))
    for (const version of [1, 2, 2]) {
      const worker = pawl.work([versioned(version)], { signals: [] })
      const ended = await handle.result().catch(() => null)
      await worker.stop()
      if (ended === null) await pawl.retry(handle.id)
    }
    expect(did).toEqual(['1 worked', '2 worked', '2 reused'])
    expect(await textOf(pawl, await handle.result())).toBe('by 2')
  })

  it("is the output of each segment whose stage says reuse: 'valid', and only of those that wrote one", async () => {
    const pawl = await openEngine()
    const runs: string[] = []
    const film = pipeline('film', { input: typed<string[]>() })
      .stage('encode', {
        each: 'input',
        retry: RETRY,
        reuse: 'valid',
        run: async ({ segment, artifact, job: { attempt } }) => {
          runs.push(`${segment} ${attempt}`)
          if (segment === 'early' && attempt === 1) throw new Error('before the write')
          const ref = await artifact('part').write(segment.toUpperCase())
          if (segment === 'late' && attempt === 1) throw new Error('after the write')
          return ref
        },
      })
      .stage('join', {
        after: 'encode',
        run: async ({ outputs, openArtifact }) => {
          const refs = await outputs.encode.toArray()
          const parts = await Promise.all(refs.map(async (ref) => (await openArtifact(ref)).text()))
          return parts.join()
        },
      })
    pawl.work([film])
    const handle = await pawl.submit(film, ['early', 'late'])
    expect(await handle.result()).toBe('EARLY,LATE')
    expect(runs.toSorted()).toEqual(['early 1', 'early 2', 'late 1'])
  })

  it("that was made of another input is not the output, though the job says reuse: 'valid'", async () => {
    const pawl = await openEngine()
    const runs: string[] = []
    const encode = job('encode', {
      input: typed<string>(),
      retry: { max: 0 },
      reuse: 'valid',
      run: async ({ input, artifact }) => {
        runs.push(input)
        const ref = await artifact('film').write(`film of ${input}`)
        if (input === 'old') throw new Error('later')
        return ref
      },
    })
    pawl.work([encode])
    const handle = await pawl.submit(encode, 'old')
    await expect(handle.result()).rejects.toMatchObject({ code: 'JobQuarantined' })
    await pawl.retry(handle.id, { input: 'new' })
    expect(await textOf(pawl, await handle.result())).toBe('film of new')
    expect(runs).toEqual(['old', 'new'])
  })

  it.each<[string, (context: RunContext<undefined, []>) => unknown, string]>([
    [
      'is beside others',
      async ({ artifact }) => ({ ref: await artifact('a').write('x') }),
      'alone',
    ],
    ['is none', () => 'text', 'alone'],
    [
      'was not written by it',
      async ({ artifact }) => ({ ...(await artifact('a').write('x')), $artifact: 'elsewhere' }),
      'alone',
    ],
    [
      'comes with a child',
      async ({ artifact, commit }) =>
        commit(await artifact('a').write('x'), [], [child(job('other', { run: () => null }))]),
      'alone',
    ],
    [
      'is one of two',
      async ({ artifact }) => {
        await artifact('a').write('x')
        return artifact('b').write('y')
      },
      'would be the second',
    ],
  ])(
    "that %s is refused as the output, where the job says reuse: 'valid'",
    async (_what, run, why) => {
      const pawl = await openEngine()
      const wrong = job('wrong', { reuse: 'valid', retry: { max: 0 }, quarantine: 'never', run })
      pawl.work([wrong])
      const handle = await pawl.submit(wrong)
      const error = await handle.result().catch((thrown: Error) => thrown)
      expect(error).toMatchObject({ code: 'JobFailed' })
      expect((error as Error).message).toContain(why)
      expect((error as Error).message).toContain(`reuse: 'valid'`)
    },
  )

  it('that an attempt without a lease still writes does not touch the one that was committed', async () => {
    const pawl = await openEngine()
    const [begun, goOn, late] = [deferred(), deferred(), deferred<unknown>()]
    const write = job('write', {
      run: async ({ artifact, job: { attempt } }) => {
        if (attempt > 1) return artifact('a.txt').write('second')
        const first = (async function* () {
          yield 'first'
          begun.resolve()
          await goOn.promise
        })()
        const writing = artifact('a.txt').write(first)
        writing.then(late.resolve, late.resolve)
        return writing
      },
    })
    pawl.work([write], { signals: [] })
    const handle = await pawl.submit(write)
    await begun.promise
    await pawl.force(handle.id, { to: 'QUEUED' })
    const ref = await handle.result()
    goOn.resolve()
    expect(await late.promise).toMatchObject({ code: 'Aborted' })
    expect(await textOf(pawl, ref)).toBe('second')
  })

  it('is not written by a handler that was told to stop', async () => {
    const place = memoryPlace()
    const pawl = await openEngine({ artifacts: place })
    const [begun, ended] = [deferred(), deferred<unknown>()]
    const write = job('write', {
      run: async ({ artifact, signal }) => {
        const content = (async function* () {
          yield 'one'
          begun.resolve()
          await once(signal, 'abort')
          yield 'two'
        })()
        await artifact('a.txt').write(content).catch(ended.resolve)
      },
    })
    pawl.work([write])
    const handle = await pawl.submit(write)
    await begun.promise
    await handle.cancel()
    expect(await ended.promise).toMatchObject({ code: 'Aborted' })
    const [shard = ''] = await place.list('', '', 9)
    const [folder = ''] = await place.list(shard, '', 9)
    expect(await place.list(`${shard}/${folder}`, '', 9)).toEqual([MARKER])
  })

  it('is refused if its name is none, if it is written twice, is no bytes, or is opened by something else', async () => {
    const pawl = await openEngine()
    const errors: string[] = []
    const told = async (call: () => Promise<unknown>): Promise<void> => {
      await call().catch((error: Error) => errors.push(error.message))
    }
    const bad = job('bad', {
      run: async ({ artifact, openArtifact, step }) => {
        for (const name of ['../x', '', '.hidden', 'a/b', 'x'.repeat(129), undefined as never]) {
          await told(async () => artifact(name))
        }
        await artifact('a').write('x')
        await told(() => artifact('A').write('y'))
        await told(() => artifact('b').write([7] as never))
        await told(() => artifact('c').write(slowly(5 as never)))
        await told(() => openArtifact({ $artifact: 'x' } as never))
        await told(() => step('artifact:a:1', () => 1))
        await told(() => step('artifact-reused:a:1', () => 1))
      },
    })
    pawl.work([bad])
    await (await pawl.submit(bad)).result()
    expect(errors).toEqual([
      ...Array.from({ length: 6 }, () => expect.stringContaining('An artifact needs a name')),
      expect.stringContaining("Artifact 'A' of job"),
      expect.stringContaining('as text, as bytes, or as a stream'),
      expect.stringContaining('as text, as bytes, or as a stream'),
      expect.stringContaining('is opened by its reference'),
      expect.stringContaining("begin with 'artifact:'"),
      expect.stringContaining("begin with 'artifact:'"),
    ])
  })
})

describe.each(EVERY_ENGINE)('a valid artifact of an earlier attempt %s', (_, openEngine) => {
  it("is the output without another run, where the job says reuse: 'valid'", async () => {
    const pawl = await openEngine()
    const runs: number[] = []
    const encode = job('encode', {
      input: typed<string>(),
      retry: RETRY,
      reuse: 'valid',
      run: async ({ input, artifact, job: { attempt } }) => {
        runs.push(attempt)
        const ref = await artifact('film.mp4').write(`film of ${input}`)
        if (attempt === 1) throw new Error('after the write')
        return ref
      },
    })
    pawl.work([encode])
    const handle = await pawl.submit(encode, 'x')
    const ref = await handle.result()
    expect(runs).toEqual([1])
    expect(await textOf(pawl, ref)).toBe('film of x')
    expect(ref.$artifact).toContain('/1/film.mp4')
    expect((await handle.info()).steps).toEqual([
      'artifact:film.mp4:1',
      'artifact-reused:film.mp4:2',
    ])
    expect(await pawl.artifacts.check(handle.id)).toMatchObject([{ ref, state: 'valid' }])
  })
})

describe('a file that is', () => {
  const HARMS: [string, string, (path: string) => Promise<void>][] = [
    ['missing', 'ArtifactMissing', (path) => rm(path)],
    ['cut short', 'ArtifactCorrupt', (path) => writeFile(path, 'film')],
    ['changed', 'ArtifactCorrupt', (path) => writeFile(path, 'FILM OF X')],
  ]

  it.each(HARMS)('%s is not used again: the work is done anew', async (_, code, harm) => {
    const { pawl, folder } = await onDisk()
    const { did, encode } = encoding((ref) => harm(fileOf(folder, ref)))
    pawl.work([encode])
    const handle = await pawl.submit(encode, 'x')
    const { ref } = await handle.result()
    expect(did).toEqual(['worked', 'worked'])
    expect(await textOf(pawl, ref)).toBe('film of x')
    const { lines, steps } = await handle.info()
    expect(lines.join()).toContain('Not used again: Artifact')
    expect(steps).toEqual(['artifact:film.mp4:1', 'artifact:film.mp4:2'])
    expect(code).toMatch(/^Artifact/)
  })

  it.each(HARMS)(
    "%s is not the output, though the job says reuse: 'valid'",
    async (_, code, harm) => {
      const { pawl, folder } = await onDisk()
      const runs: number[] = []
      const encode = job('encode', {
        retry: RETRY,
        reuse: 'valid',
        run: async ({ artifact, job: { attempt } }) => {
          runs.push(attempt)
          const ref = await artifact('film.mp4').write('film of x')
          if (attempt > 1) return ref
          await harm(fileOf(folder, ref))
          throw new Error('later')
        },
      })
      pawl.work([encode])
      const handle = await pawl.submit(encode)
      expect(await textOf(pawl, await handle.result())).toBe('film of x')
      expect(runs).toEqual([1, 2])
      expect((await handle.info()).lines.join()).toContain('Not used again: Artifact')
      expect(code).toMatch(/^Artifact/)
    },
  )

  it.each(HARMS)('%s is found before a later stage uses it', async (what, code, harm) => {
    const { pawl, folder } = await onDisk()
    const used: string[] = []
    const film = pipeline('film')
      .stage('encode', { run: ({ artifact }) => artifact('part').write('film of x') })
      .stage('spoil', {
        after: 'encode',
        run: ({ outputs }) => harm(fileOf(folder, outputs.encode)),
      })
      .stage('show', {
        after: ['encode', 'spoil'],
        retry: { max: 0 },
        quarantine: 'never',
        run: async ({ outputs, openArtifact }) => {
          for await (const part of (await openArtifact(outputs.encode)).stream()) {
            used.push(Buffer.from(part).toString())
          }
        },
      })
    pawl.work([film])
    const handle = await pawl.submit(film, undefined)
    await expect(handle.result()).rejects.toMatchObject({ failure: { code } })
    expect(used).toEqual([])
    const [check] = await pawl.artifacts.check(handle.id)
    expect(check?.state).toBe(what === 'missing' ? 'missing' : 'corrupt')
  })

  it('changed while it is read is found at its end', async () => {
    const { pawl, folder } = await onDisk()
    const write = job('write', { run: ({ artifact }) => artifact('a').write('before') })
    pawl.work([write])
    const ref = await (await pawl.submit(write)).result()
    const opened = await pawl.artifacts.open(ref)
    expect(opened.localPath).toBe(fileOf(folder, ref))
    await writeFile(fileOf(folder, ref), 'beyond')
    await expect(opened.bytes()).rejects.toMatchObject({ code: 'ArtifactCorrupt' })
    await writeFile(fileOf(folder, ref), 'longer than before')
    await expect(opened.text()).rejects.toThrow('it has 18 bytes, and had 6')
  })
})

const run = (): never => undefined as never

it('a definition cannot say reuse with effects, in a batch, or otherwise', () => {
  const ping = effect('ping', { run: () => null })
  expect(() => job('a', { reuse: 'valid', effects: [ping], run })).toThrow(
    'does not go with `effects`',
  )
  expect(() => job('a', { reuse: true as never, run })).toThrow("is 'valid', or left out, not true")
  expect(() => pipeline('p').stage('s', { reuse: 'all' as never, run })).toThrow("stage 's'")
  const batch = { max: 2, reuse: 'valid', run: () => [] } as never
  expect(() => batchJob('b', batch)).toThrow('takes no `reuse`')
})

it('a source that fails before it is read fails the write, and not the process', async () => {
  const { pawl, folder } = await onDisk()
  const uncaught: Error[] = []
  const hear = (error: Error): unknown => uncaught.push(error)
  process.on('uncaughtException', hear)
  onTestFinished(() => void process.off('uncaughtException', hear))
  const missing = join(folder, 'nothing')
  const copy = job('copy', {
    retry: RETRY,
    run: async ({ artifact }) => {
      const source = createReadStream(missing)
      const closed = once(source, 'close').catch(() => undefined)
      const error = await artifact('a')
        .write(source)
        .catch((thrown: Error) => thrown.message)
      await closed
      // Nothing was written, so the name is free.
      return { error, ref: await artifact('a').write('another source') }
    },
  })
  pawl.work([copy])
  const { error, ref } = await (await pawl.submit(copy)).result()
  expect(error).toContain('ENOENT')
  expect(await textOf(pawl, ref)).toBe('another source')
  expect(uncaught).toEqual([])
})

it('a file of the wrong size is not even read', async () => {
  const place = memoryPlace()
  await place.write('a/b', Readable.from([Buffer.from('abc')]))
  place.read = () => {
    throw new Error('read')
  }
  const ref = { $artifact: 'a/b', sha256: sha256('abcd'), bytes: 4 }
  await expect(openStored(place, ref)).rejects.toThrow('it has 3 bytes, and had 4')
})

it('a file whose attempt died before it was recorded is not used again', async () => {
  const { pawl, store } = hookedEngine()
  onTestFinished(() => pawl.close())
  store.beforeExecute = (commands) => {
    if (!commands.some(({ type }) => type === 'RecordStep')) return
    store.beforeExecute = () => undefined
    throw new Error('the disk is full')
  }
  const did: string[] = []
  const encode = job('encode', {
    retry: RETRY,
    run: async ({ artifact }) => {
      const before = await artifact('film').reuse()
      did.push(before === null ? 'worked' : 'reused')
      return before ?? artifact('film').write('x')
    },
  })
  pawl.work([encode])
  await (await pawl.submit(encode)).result()
  expect(did).toEqual(['worked', 'worked'])
})

describe('artifacts are kept', () => {
  const write = job('write', { run: ({ artifact }) => artifact('a').write('x') })

  async function written(pawl: Pawl): Promise<ArtifactRef> {
    onTestFinished(() => pawl.close())
    pawl.work([write])
    return (await pawl.submit(write)).result()
  }

  it('in the folder `artifacts` of the directory, if nothing else is said', async () => {
    const folder = await temporaryFolder()
    const ref = await written(await open(folder))
    expect(await readdir(join(folder, 'artifacts'))).toEqual(
      [ref.$artifact.slice(0, 2), 'tmp'].toSorted(),
    )
  })

  it('in another folder, or in a place of your own', async () => {
    const [folder, other] = [await temporaryFolder(), await temporaryFolder()]
    const ref = await written(await open(folder, { artifacts: other }))
    expect(await readdir(other)).toContain(ref.$artifact.slice(0, 2))
    const place = memoryPlace()
    const mine = await written(await open('memory:', { artifacts: place }))
    expect(await place.size(mine.$artifact)).toBe(1)
  })
})
