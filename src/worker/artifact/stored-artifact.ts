/**
 * Reads artifacts, and finds out BEFORE they are used whether they are those that were written.
 */
import { createHash } from 'node:crypto'
import type { ArtifactPlace, ArtifactRef, StoredArtifact } from '../../definition/index.ts'
import { InvalidDefinition, isArtifactRef } from '../../definition/index.ts'
import { PawlError } from '../../kernel/index.ts'

/** The place, if it can be reached from here. */
export function withinReach(place: ArtifactPlace | null, job: string): ArtifactPlace {
  if (place !== null) return place
  throw new InvalidDefinition(
    `The artifacts of job ${job} are out of reach: what runs in a thread or a process of its own needs them in a folder. Open a directory, give \`artifacts\` a path, or use isolation 'none'.`,
    { job },
  )
}

/** Reads all of it once. Throws `ArtifactMissing` or `ArtifactCorrupt`. */
export async function openStored(place: ArtifactPlace, ref: ArtifactRef): Promise<StoredArtifact> {
  assertRef(ref)
  const { $artifact: path, bytes } = ref
  const size = await place.size(path)
  if (size === null) throw new ArtifactMissing(path)
  // It costs nothing, and a file that was cut short need not be read.
  if (size !== bytes) throw wrongSize(ref, size)
  for await (const _ of checked(place, ref)) void _
  return new Opened(place, ref)
}

class Opened implements StoredArtifact {
  readonly ref: ArtifactRef
  readonly localPath: string | null
  readonly #place: ArtifactPlace

  constructor(place: ArtifactPlace, ref: ArtifactRef) {
    this.#place = place
    this.ref = ref
    this.localPath = place.localPath?.(ref.$artifact) ?? null
  }

  async bytes(): Promise<Uint8Array> {
    const parts: Uint8Array[] = []
    for await (const part of this.stream()) parts.push(part)
    return Buffer.concat(parts)
  }

  async text(): Promise<string> {
    return new TextDecoder().decode(await this.bytes())
  }

  stream(): AsyncIterable<Uint8Array> {
    return checked(this.#place, this.ref)
  }
}

/** Its bytes as they come, and in the end an error if they are not the right ones. */
async function* checked(
  place: ArtifactPlace,
  ref: ArtifactRef,
): AsyncGenerator<Uint8Array, void, void> {
  const { $artifact: path, sha256, bytes } = ref
  const hash = createHash('sha256')
  let size = 0
  for await (const part of place.read(path)) {
    hash.update(part)
    size += part.length
    yield part
  }
  if (size !== bytes) throw wrongSize(ref, size)
  const found = hash.digest('hex')
  if (found === sha256) return
  throw new ArtifactCorrupt(path, `its SHA-256 is ${found}, and was ${sha256}`, { sha256, found })
}

function wrongSize({ $artifact: path, bytes }: ArtifactRef, size: number): ArtifactCorrupt {
  return new ArtifactCorrupt(path, `it has ${size} bytes, and had ${bytes}`, { bytes, size })
}

function assertRef(ref: unknown): asserts ref is ArtifactRef {
  if (isArtifactRef(ref)) return
  throw new InvalidDefinition(
    'An artifact is opened by its reference, as `artifact(name).write(…)` gives it, and stages and clients find it in an output.',
  )
}

/** The reference is there, and the file is not. */
export class ArtifactMissing extends PawlError {
  constructor(path: string) {
    super(
      'ArtifactMissing',
      'corrupt',
      `Artifact ${path} is not there: it was removed, or its place is another one. Put it back, or run the stage that wrote it again.`,
      { path },
    )
  }
}

/** The file is not the one that was committed. */
export class ArtifactCorrupt extends PawlError {
  constructor(path: string, what: string, details: Readonly<Record<string, unknown>>) {
    super(
      'ArtifactCorrupt',
      'corrupt',
      `Artifact ${path} is not the one that was written: ${what}. Put the right one back, or run the stage that wrote it again.`,
      { path, ...details },
    )
  }
}
