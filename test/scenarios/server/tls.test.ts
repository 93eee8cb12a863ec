/**
 * TLS by files: a real certificate, read again when it changes.
 */
import { writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { get } from 'node:https'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { open } from '../../../src/index.ts'
import { serve } from '../../../src/server/index.ts'
import { CERTIFICATE, KEY } from '../../support/certificate.ts'
import { temporaryFolder } from '../../support/engines.ts'
import { serverInFront } from '../../support/server-calls.ts'

const TOKEN = 'token-that-may-read-over-tls'

function statusOf(url: string): Promise<number | string> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${TOKEN}`, connection: 'close' }
    const request = get(
      `${url}/v1/jobs`,
      { ca: CERTIFICATE, headers },
      (response: IncomingMessage) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      },
    )
    request.on('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)))
  })
}

describe('a server with a certificate', () => {
  it('speaks HTTPS and nothing else, and keeps what it has if the files are damaged', async () => {
    const folder = await temporaryFolder()
    const tls = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
    await writeFile(tls.cert, CERTIFICATE)
    await writeFile(tls.key, KEY)
    const errors: Error[] = []
    const onError = (error: Error): void => void errors.push(error)
    const tokens = [{ token: TOKEN, roles: ['read'] as const }]
    const { server } = await serverInFront({ tls, tokens, onError })
    expect(server.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
    expect(await statusOf(server.url)).toBe(200)
    const plain = server.url.replace('https:', 'http:')
    await expect(fetch(`${plain}/healthz`)).rejects.toThrow()
    await writeFile(tls.cert, 'no certificate')
    await expect.poll(() => errors.length).toBe(1)
    expect(await statusOf(server.url)).toBe(200)
    await writeFile(tls.cert, `${CERTIFICATE}\n`)
    const old = connect({
      port: server.port,
      host: '127.0.0.1',
      ca: CERTIFICATE,
      maxVersion: 'TLSv1.1',
    })
    await new Promise<void>((resolve) => old.on('error', () => resolve()))
    expect(await statusOf(server.url)).toBe(200)
    expect(errors).toHaveLength(1)
  })

  it('does not start without its files', async () => {
    const pawl = await open('memory:')
    const tls = { cert: '/nowhere/cert.pem', key: '/nowhere/key.pem' }
    await expect(serve(pawl, { port: 0, tls })).rejects.toThrow(/ENOENT.*cert\.pem/)
    await expect(serve(pawl, { port: 0, tls: { cert: '', key: '' } })).rejects.toThrow(/two files/)
    await pawl.close()
  })
})
