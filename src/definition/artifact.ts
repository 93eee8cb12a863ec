/**
 * Artifacts: files that a handler writes, and that later stages and clients read.
 *
 * What stands in the log is a reference: a plain value in the output, with the path, the size
 * and the SHA-256. The bytes are elsewhere, in a place.
 */

/** Stands in an output for a file. Plain JSON; `$artifact` marks it, so that it can be found. */
export interface ArtifactRef {
  /** Its path in the place. */
  readonly $artifact: string
  readonly sha256: string
  readonly bytes: number
}

/** What can be written: text, bytes, or bytes as they come, such as a stream of Node. */
export type ArtifactContent = string | Uint8Array | AsyncIterable<string | Uint8Array>

/** A file that a handler may write, or take over from an earlier attempt. */
export interface ArtifactDraft {
  /**
   * The one that an earlier attempt of the same task wrote, if it is whole and unchanged: the
   * work need not be done again. The history says so. Null: there is none that can be used.
   */
  reuse(this: void): Promise<ArtifactRef | null>
  /** Whole or not at all. To be returned, alone or somewhere in the output. */
  write(this: void, content: ArtifactContent): Promise<ArtifactRef>
}

/** A file that was checked: its size and SHA-256 are those of the reference. */
export interface StoredArtifact {
  readonly ref: ArtifactRef
  /** Where programs of this machine find it; null: nowhere. */
  readonly localPath: string | null
  /** All of it. Checked once more. */
  bytes(): Promise<Uint8Array>
  text(): Promise<string>
  /** As it comes. It ends with an error if the bytes are not those that were checked. */
  stream(): AsyncIterable<Uint8Array>
}

/**
 * Where artifacts are kept. Paths have `/` between their parts, which are letters, digits and
 * `._~-`.
 */
export interface ArtifactPlace {
  /** All of it under this path, durable when it returns, or nothing: never a part of it. */
  write(path: string, content: AsyncIterable<Uint8Array>): Promise<void>
  /** Null: there is none. */
  size(path: string): Promise<number | null>
  read(path: string): AsyncIterable<Uint8Array>
  /** Everything beneath a folder, `owner.json` last, or all at once. Twice is fine. */
  remove(folder: string): Promise<void>
  /** The names right beneath a folder, in order, that come after one; at most so many. */
  list(folder: string, after: string, limit: number): Promise<readonly string[]>
  /** Where programs of this machine find it. Left out: nowhere. */
  localPath?(path: string): string
  /** Removes what is left of writes that were cut short before this time. */
  tidy?(before: number): Promise<void>
}

/** Every reference in a value, wherever it stands. */
export function artifactsIn(value: unknown): ArtifactRef[] {
  const found: ArtifactRef[] = []
  const waiting = [value]
  while (waiting.length > 0) {
    const one = waiting.pop()
    if (typeof one !== 'object' || one === null) continue
    if (isArtifactRef(one)) found.push(one)
    else for (const part of (Object.values(one) as unknown[]).toReversed()) waiting.push(part)
  }
  return found
}

export function isArtifactRef(value: unknown): value is ArtifactRef {
  const { $artifact, sha256, bytes } = (value ?? {}) as Partial<ArtifactRef>
  return (
    typeof $artifact === 'string' &&
    typeof sha256 === 'string' &&
    /^[0-9a-f]{64}$/.test(sha256) &&
    typeof bytes === 'number' &&
    Number.isSafeInteger(bytes) &&
    bytes >= 0
  )
}
