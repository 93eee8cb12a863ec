/**
 * What a child process says: one JSON value a line. What it was saying when it was killed does
 * not count.
 */
import type { Readable } from 'node:stream'
import { createInterface } from 'node:readline'

export async function eachLine(output: Readable, hear: (line: unknown) => void): Promise<void> {
  for await (const line of createInterface({ input: output })) {
    const value = parsed(line)
    if (value !== undefined) hear(value)
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
