/**
 * What a pushed job is signed by: HMAC-SHA256 over the time and the body, with a key that both ends know. A signature that was
 * made long ago is not taken, so that a request that was overheard is of no use later.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

export const SIGNATURE_HEADER = 'pawl-signature'
const FORM = /^t=(\d{1,15}),v1=([\da-f]{64})$/

export function signatureOf(key: string, timeMs: number, body: string): string {
  return `t=${timeMs},v1=${hmacOf(key, timeMs, body)}`
}

/** Whether one of the keys made it, at a time that is not further from now than the tolerance. */
export function isSigned(
  signature: string | null,
  body: string,
  keys: readonly string[],
  nowMs: number,
  toleranceMs: number,
): boolean {
  const [, time, given] = FORM.exec(signature ?? '') ?? []
  if (time === undefined || given === undefined) return false
  let isOfOne = false
  for (const key of keys) {
    const own = Buffer.from(hmacOf(key, Number(time), body), 'hex')
    if (timingSafeEqual(own, Buffer.from(given, 'hex'))) isOfOne = true
  }
  return isOfOne && Math.abs(nowMs - Number(time)) <= toleranceMs
}

function hmacOf(key: string, timeMs: number, body: string): string {
  return createHmac('sha256', key).update(`${timeMs}.${body}`).digest('hex')
}
