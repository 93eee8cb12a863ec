/**
 * What processes say to whoever started them: one JSON value a line. What one was saying when it
 * was killed does not count.
 */
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

export function say(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`)
}

export async function eachLine(output: Readable, hear: (value: unknown) => void): Promise<void> {
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
