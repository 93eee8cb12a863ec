/**
 * What is thrown when an artifact cannot be used. It is found BEFORE a byte of it is.
 */
import { PawlError } from '../../kernel/index.ts'

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
