/**
 * Operations that a server carries out itself, where the command line is given its address: those that are answered once.
 * So the definitions of the server have a say in what is submitted, a token needs no more rights than the operation, and a
 * command is one request.
 */
import { newJobId } from '../../engine/random.ts'
import type { Operation } from '../../protocol/index.ts'
import { Transport } from '../../store/http/transport.ts'
import { assertServerAnswers } from '../server-check.ts'
import type { Settings } from '../settings.ts'
import { isServer } from '../settings.ts'

export function isForServer({ kind }: Operation, { store }: Settings): boolean {
  return isServer(store) && (kind === 'call' || kind === 'poll')
}

/** What makes something new: a request whose answer was lost is sent again, so its id is from here. */
const MAKING: ReadonlySet<string> = new Set([
  'jobs.submit',
  'jobs.rerun',
  'schedules.run',
  'messages.send',
])

export async function callServer(
  operation: Operation,
  { store, token }: Settings,
  input: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> {
  await assertServerAnswers(store)
  const transport = new Transport({ url: store, token })
  const isNew = MAKING.has(operation.name) && input['id'] === undefined
  const heldMs = Number(input['waitMs'] ?? 0)
  try {
    const given = isNew ? { ...input, id: newJobId() } : input
    return (await transport.call(operation, given, { heldMs })) as Record<string, unknown>
  } finally {
    transport.close()
  }
}
