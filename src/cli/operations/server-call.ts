/**
 * Operations that the definitions of a server have a say in: how a job is tried, which inputs and messages it takes. They
 * are the server's to carry out; a client that knows jobs by name alone would leave the definitions out.
 */
import { newJobId } from '../../engine/random.ts'
import type { Operation, OperationName } from '../../protocol/index.ts'
import { Transport } from '../../store/http/transport.ts'
import type { Settings } from '../settings.ts'
import { isServer } from '../settings.ts'

const BY_DEFINITION: ReadonlySet<string> = new Set<OperationName>([
  'jobs.submit',
  'schedules.set',
  'messages.send',
])

export function isForServer({ name }: Operation, { store }: Settings): boolean {
  return isServer(store) && BY_DEFINITION.has(name)
}

/** A request whose answer was lost is sent again: what it makes has its id from here. */
export async function callServer(
  operation: Operation,
  { store, token }: Settings,
  input: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> {
  const transport = new Transport({ url: store, token })
  const isNew = operation.name !== 'schedules.set' && input['id'] === undefined
  try {
    const given = isNew ? { ...input, id: newJobId() } : input
    return (await transport.call(operation, given)) as Record<string, unknown>
  } finally {
    transport.close()
  }
}
