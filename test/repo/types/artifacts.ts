/**
 * Artifacts: what can be written, and references that keep their type from stage to stage.
 */
import { createReadStream } from 'node:fs'
import type { ArtifactRef, Pawl, StoredArtifact } from '../../../src/index.ts'
import { pipeline } from '../../../src/index.ts'
import type { Equal, Expect } from './equal.ts'

const film = pipeline('film')
  .stage('encode', {
    run: async ({ artifact }) => {
      await artifact('a').write('text')
      await artifact('b').write(Uint8Array.of(1))
      // @ts-expect-error -- no content
      await artifact('c').write(42)
      // @ts-expect-error -- a name is text
      artifact(1)
      return { ref: await artifact('d').write(createReadStream('x')) }
    },
  })
  .stage('show', {
    after: 'encode',
    run: async ({ outputs, openArtifact, artifact }) => {
      const opened = await openArtifact(outputs.encode.ref)
      const before = await artifact('e').reuse()
      // @ts-expect-error -- a path is no reference
      await openArtifact('a/b')
      const cases: [
        Expect<Equal<typeof outputs.encode.ref, ArtifactRef>>,
        Expect<Equal<typeof opened, StoredArtifact>>,
        Expect<Equal<typeof before, ArtifactRef | null>>,
      ] = [true, true, true]
      return { cases: cases.length, ref: outputs.encode.ref }
    },
  })

export async function artifacts(pawl: Pawl): Promise<string> {
  const { ref } = await (await pawl.submit(film, undefined)).result()
  return (await pawl.artifacts.open(ref)).text()
}
