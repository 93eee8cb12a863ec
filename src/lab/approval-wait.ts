/**
 * The waits of these stories.
 */
import type { WaitSpec } from '../kernel/index.ts'

/** Without an end of its own. `schema`: what an approval must be. */
export function approval(schema: string | null = null, delayMs: number | null = null): WaitSpec {
  const nothing = { ask: null, dueAt: null, callee: null }
  return { name: 'approval', message: 'approval', schema, delayMs, ...nothing }
}
