/**
 * The errors of the simulated disk: those of the system, shaped as Node shapes them, and the one
 * that only a simulation can throw.
 */
const MEANINGS = {
  EBADF: [-9, 'bad file descriptor'],
  EEXIST: [-17, 'file already exists'],
  EINVAL: [-22, 'invalid argument'],
  EIO: [-5, 'i/o error'],
  EISDIR: [-21, 'illegal operation on a directory'],
  EMFILE: [-24, 'too many open files'],
  ENOENT: [-2, 'no such file or directory'],
  ENOSPC: [-28, 'no space left on device'],
  ENOTDIR: [-20, 'not a directory'],
  // Node's own: what `rm` says of a folder.
  ERR_FS_EISDIR: [21, 'Path is a directory'],
} as const

export type ErrorCode = keyof typeof MEANINGS

export function systemError(code: ErrorCode, call: string, about: string): NodeJS.ErrnoException {
  const [errno, meaning] = MEANINGS[code]
  const error: NodeJS.ErrnoException = new Error(`${code}: ${meaning}, ${call} '${about}'`)
  error.code = code
  error.errno = errno
  error.syscall = call
  error.path = about
  return error
}

/** The power went: this call did not return, and no later one on the same disk does. */
export class PowerLost extends Error {
  override readonly name = 'PowerLost'
}
