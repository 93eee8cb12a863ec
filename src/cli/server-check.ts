/**
 * Looks whether anything listens where a command is to go. A store over HTTP is patient, as a worker wants it; a person at a
 * terminal is told at once, and knows that nothing was done.
 */
import { connect } from 'node:net'
import { afterMs } from '../store/clock.ts'
import { WrongUsage } from './failure.ts'

const ANSWER_MS = 5_000
const USUAL_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

/** Throws `WrongUsage`. */
export async function assertServerAnswers(store: string): Promise<void> {
  const { protocol, hostname, port } = new URL(store)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const why = await refusal(host, Number(port) || (USUAL_PORTS[protocol] ?? 0))
  if (why === null) return
  const address = `${protocol}//${hostname}${port === '' ? '' : `:${port}`}`
  throw new WrongUsage(
    `No server answers at ${address}: ${why}. Start one with \`pawl serve\`, or name another with --store.`,
  )
}

/** Null: it takes connections. */
function refusal(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ host, port })
    const end = (why: string | null): void => {
      stop()
      socket.destroy()
      resolve(why)
    }
    const stop = afterMs(ANSWER_MS, () => end(`it took no connection for ${ANSWER_MS} ms`))
    socket.on('connect', () => end(null))
    socket.on('error', (error) => end(error.message))
  })
}
