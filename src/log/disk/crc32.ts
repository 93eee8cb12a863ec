/**
 * CRC-32 of zlib, which Node.js has from 20.15 and from 22.2 on. With an older one, importing it by name would
 * be a SyntaxError that names neither Pawl nor what to do.
 */
import zlib from 'node:zlib'

type Crc32 = typeof zlib.crc32

/** `found`: what Node has under that name. `version`: of Node, such as 'v20.14.0'. */
export function crc32Of(found: Crc32 | undefined, version: string): Crc32 {
  if (found !== undefined) return found
  throw new Error(
    `Pawl needs Node.js 20.15 or later of 20, or 22.2 or later, and this is ${version}: install a newer one.`,
  )
}

export const crc32 = crc32Of(zlib.crc32, process.version)
