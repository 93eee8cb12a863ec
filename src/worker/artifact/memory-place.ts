/**
 * Artifacts in memory, for engines in memory: they are lost with the process.
 */
import type { ArtifactPlace } from '../../definition/index.ts'
import { ArtifactMissing } from './errors.ts'

export function memoryPlace(): ArtifactPlace {
  return new MemoryPlace()
}

class MemoryPlace implements ArtifactPlace {
  readonly #files = new Map<string, Uint8Array>()

  async write(path: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    const parts: Uint8Array[] = []
    for await (const bytes of content) parts.push(Uint8Array.from(bytes))
    this.#files.set(path, Buffer.concat(parts))
  }

  async size(path: string): Promise<number | null> {
    return this.#files.get(path)?.length ?? null
  }

  async *read(path: string): AsyncGenerator<Uint8Array, void, void> {
    const bytes = this.#files.get(path)
    if (bytes === undefined) throw new ArtifactMissing(path)
    yield Uint8Array.from(bytes)
  }

  async remove(folder: string): Promise<void> {
    for (const path of this.#files.keys()) {
      if (path.startsWith(`${folder}/`)) this.#files.delete(path)
    }
  }

  async list(folder: string, after: string, limit: number): Promise<readonly string[]> {
    const head = folder === '' ? '' : `${folder}/`
    const names = new Set<string>()
    for (const path of this.#files.keys()) {
      if (!path.startsWith(head)) continue
      const [name = ''] = path.slice(head.length).split('/')
      if (name > after) names.add(name)
    }
    return [...names].toSorted().slice(0, limit)
  }
}
