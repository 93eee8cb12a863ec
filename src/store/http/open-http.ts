/**
 * Opens a store behind a server: asks which store it is, so that a wrong address or token shows at once.
 */
import { OPERATIONS } from '../../protocol/index.ts'
import type { HttpOptions } from './http-store.ts'
import { HttpStore } from './http-store.ts'
import { Transport } from './transport.ts'

/** Throws `ServerUnreachable`, and `ServerRefused` for a token that the server does not know. */
export async function openHttp(options: HttpOptions): Promise<HttpStore> {
  const transport = new Transport(options)
  try {
    const info = await transport.call(OPERATIONS['store.info'], {}, { isPatient: false })
    return new HttpStore(options, (info as { id: string | null }).id)
  } finally {
    transport.close()
  }
}
