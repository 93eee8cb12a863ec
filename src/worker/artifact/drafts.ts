/**
 * The artifacts of one attempt: its handler writes new ones, and takes over those of earlier attempts.
 *
 * Each one that was written is recorded as a step, with its size and SHA-256. So a later attempt
 * knows what it may rely on: a file without a record is one whose attempt died, and is not used.
 * A new input drops the steps, and with them what was made of the old one.
 */
import { createHash } from 'node:crypto'
import type {
  ArtifactContent,
  ArtifactDraft,
  ArtifactPlace,
  ArtifactRef,
} from '../../definition/index.ts'
import { fromJson, InvalidDefinition, isArtifactRef, toJson } from '../../definition/index.ts'
import type { Payload } from '../../kernel/index.ts'
import type { AbortHandle } from '../abort-handle.ts'
import type { TaskOnFile } from './paths.ts'
import { assertArtifactName, folderOf, MARKER, taskFolderOf, versionFolderOf } from './paths.ts'
import { ArtifactCorrupt, ArtifactMissing, openStored } from './stored-artifact.ts'

interface DraftsParts {
  readonly place: ArtifactPlace
  readonly task: TaskOnFile
  /** Recorded by earlier attempts, the newest last. */
  readonly steps: readonly { readonly name: string; readonly value: Payload }[]
  readonly record: (name: string, value: Payload) => Promise<Payload>
  readonly log: (line: string) => void
  /** The output is the one artifact, alone: no second one may be written. */
  readonly isOnlyOne: boolean
  readonly abortHandle: AbortHandle
}

const WRITTEN = 'artifact:'
const REUSED = 'artifact-reused:'

/** Steps that are not the handler's own. */
export function isArtifactStep(name: string): boolean {
  return name.startsWith(WRITTEN) || name.startsWith(REUSED)
}

export class Drafts {
  readonly #parts: DraftsParts
  readonly #written = new Set<string>()
  readonly #recorded: ArtifactRef[] = []

  constructor(parts: DraftsParts) {
    this.#parts = parts
  }

  draft(name: string): ArtifactDraft {
    assertArtifactName(name)
    return {
      reuse: () => this.#reuse(name),
      write: (content) => this.#write(name, content),
    }
  }

  /** The one that was written or taken over last, whatever its name: see `reuse` of a definition. */
  async reuseLast(): Promise<ArtifactRef | null> {
    const last = this.#parts.steps.findLast(({ name }) => isArtifactStep(name))
    return last === undefined ? null : this.#reuse(artifactOf(last.name))
  }

  /** Whether the reference is that of the artifact that this attempt wrote, or took over. */
  isOwn({ $artifact, sha256 }: ArtifactRef): boolean {
    return this.#recorded.some((ref) => ref.$artifact === $artifact && ref.sha256 === sha256)
  }

  async #reuse(name: string): Promise<ArtifactRef | null> {
    const { place, task, steps, log } = this.#parts
    const step = steps.findLast((one) => isOf(one.name, name))
    const ref = step === undefined ? null : fromJson(step.value)
    // Another version of the stage may write something else.
    if (!isArtifactRef(ref) || !ref.$artifact.startsWith(`${versionFolderOf(task)}/`)) return null
    try {
      await openStored(place, ref)
    } catch (error) {
      if (!(error instanceof ArtifactCorrupt || error instanceof ArtifactMissing)) throw error
      log(`Not used again: ${error.message}`)
      return null
    }
    return this.#record(`${REUSED}${name}:${task.attempt}`, ref)
  }

  async #write(name: string, content: ArtifactContent): Promise<ArtifactRef> {
    const { place, task, abortHandle } = this.#parts
    // Some systems take `A` and `a` for one name.
    const key = name.toLowerCase()
    if (this.#written.has(key)) {
      throw new InvalidDefinition(
        `Artifact '${name}' of job ${task.job} was written already in this attempt: give each its own name.`,
        { job: task.job, artifact: name },
      )
    }
    if (this.#parts.isOnlyOne && this.#written.size > 0) {
      throw new InvalidDefinition(
        `Artifact '${name}' of job ${task.job} would be the second: with \`reuse: 'valid'\` one artifact is the output. Write one, or leave out \`reuse\` and ask artifact(name).reuse() for each.`,
        { job: task.job, artifact: name },
      )
    }
    this.#written.add(key)
    listenTo(content)
    const hash = createHash('sha256')
    const count = { bytes: 0 }
    const path = `${taskFolderOf(task)}/${name}`
    try {
      await this.#writeMarker()
      await place.write(path, counted(content, hash, count, abortHandle))
    } catch (error) {
      // Nothing was written: the handler may try again, with another source.
      this.#written.delete(key)
      throw error
    }
    const ref = { $artifact: path, sha256: hash.digest('hex'), bytes: count.bytes }
    return this.#record(`${WRITTEN}${name}:${task.attempt}`, ref)
  }

  /** BEFORE the first file: the sweep must be able to tell whose it is. */
  async #writeMarker(): Promise<void> {
    const { place, task } = this.#parts
    const { store, job, submittedAt } = task
    const path = `${folderOf(task)}/${MARKER}`
    if ((await place.size(path)) !== null) return
    await place.write(path, bytesOf(JSON.stringify({ store, job, submittedAt })))
  }

  /** Throws if the attempt was told to stop: nothing more is recorded then. */
  async #record(name: string, ref: ArtifactRef): Promise<ArtifactRef> {
    await this.#parts.record(name, toJson(ref, `The artifact ${ref.$artifact}`, 'artifact'))
    this.#recorded.push(ref)
    return ref
  }
}

/** The name of the artifact that a step is about: names have no colon. */
function artifactOf(step: string): string {
  return step.split(':')[1] as string
}

function isOf(step: string, name: string): boolean {
  return step.startsWith(`${WRITTEN}${name}:`) || step.startsWith(`${REUSED}${name}:`)
}

/** A stream of Node may fail BEFORE it is read. Unheard, that would end the process. */
function listenTo(content: ArtifactContent): void {
  const { on } = content as { readonly on?: (event: string, listener: () => void) => unknown }
  if (typeof on === 'function') on.call(content, 'error', () => undefined)
}

async function* bytesOf(content: ArtifactContent): AsyncGenerator<Uint8Array, void, void> {
  if (typeof content === 'string') yield Buffer.from(content)
  else if (content instanceof Uint8Array) yield content
  else for await (const part of content) yield typeof part === 'string' ? Buffer.from(part) : part
}

async function* counted(
  content: ArtifactContent,
  hash: ReturnType<typeof createHash>,
  count: { bytes: number },
  abortHandle: AbortHandle,
): AsyncGenerator<Uint8Array, void, void> {
  for await (const part of bytesOf(content)) {
    abortHandle.throwIfStopped()
    if (!(part instanceof Uint8Array)) {
      throw new InvalidDefinition(
        'An artifact is written as text, as bytes, or as a stream of either.',
      )
    }
    hash.update(part)
    count.bytes += part.length
    yield part
  }
}
