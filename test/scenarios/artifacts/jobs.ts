/**
 * Jobs that write artifacts, for workers here and in children.
 */
import { effect, job, typed } from '../../../src/definition/index.ts'
import type { ArtifactRef } from '../../../src/definition/index.ts'

const CHUNK = Buffer.alloc(65_536, 'pawl')
export const CHUNKS = 32

/** Its first attempt stops in the middle of a file, and says so. */
export const large = job('large', {
  lease: '1s',
  retry: { max: 3, delay: 0 },
  run: async ({ artifact, job: { attempt } }) => {
    async function* content(): AsyncGenerator<Uint8Array, void, void> {
      for (let i = 0; i < CHUNKS; i++) {
        yield CHUNK
        if (attempt > 1 || i < CHUNKS / 2) continue
        console.log('half')
        await new Promise(() => undefined)
      }
    }
    return artifact('large.bin').write(content())
  },
})

export const small = job('small', {
  retry: { max: 1, delay: 0 },
  run: async ({ artifact, openArtifact, job: { attempt } }) => {
    const draft = artifact('small.txt')
    const ref = (await draft.reuse()) ?? (await draft.write(`by attempt ${attempt}`))
    if (attempt === 1) throw new Error('once more')
    const stored = await openArtifact(ref)
    return { ref, text: await stored.text() }
  },
})

const send = effect('send', {
  input: typed<ArtifactRef>(),
  retry: { max: 0 },
  run: async (ref, { openArtifact }) => {
    const text = await (await openArtifact(ref)).text()
    if (text !== 'for you') throw new Error(`Found ${text}.`)
  },
})

export const sent = job('sent', {
  effects: [send],
  run: async ({ artifact, commit }) => {
    const ref = await artifact('letter.txt').write('for you')
    return commit(ref, [send(ref)])
  },
})
