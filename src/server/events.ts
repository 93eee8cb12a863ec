/**
 * Answers as server-sent events. A stream is read as quickly as its caller takes it: what waits to be sent is one event.
 * The id of an event is its position or offset, so that a caller that was cut goes on behind the last one that it saw.
 */
import type { EventsName, OperationEvent } from '../operations/index.ts'
import { followOperation } from '../operations/index.ts'
import { repeatEvery } from '../store/clock.ts'
import { RequestRefused, problemOf } from './errors.ts'
import type { CallContext } from './handlers.ts'
import { operationContext } from './handlers.ts'
import type { Permit } from './permit.ts'

/** A comment, so that proxies and callers see that the stream is alive. */
const ALIVE_MS = 10_000
const ALIVE = ': alive\n\n'

/** `lastEventId`: of the header, which says more than the query of a stream that is opened again. */
export async function eventsOf(
  name: EventsName,
  permit: Permit,
  context: CallContext,
  input: object,
  lastEventId: string | null,
  onEnd: () => void,
): Promise<ReadableStream<Uint8Array>> {
  const last = positionOf(lastEventId)
  const events = await followOperation(name, operationContext(context), input as never, last)
  return eventStream(permit.events(events), context.signal, onEnd)
}

function positionOf(lastEventId: string | null): number | null {
  if (lastEventId === null) return null
  if (/^\d{1,15}$/.test(lastEventId)) return Number(lastEventId)
  throw new RequestRefused(
    'InvalidInput',
    'Last-Event-ID is the id of an event, which is a number.',
  )
}

/** `onEnd` aborts the signal, by which whatever the events come from ends. */
function eventStream(
  events: AsyncIterable<OperationEvent>,
  signal: AbortSignal,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  const iterator = events[Symbol.asyncIterator]()
  const encoder = new TextEncoder()
  let end: () => void = onEnd
  let stop: (() => void) | null = null
  const aborted = new Promise<null>((resolve) => {
    stop = () => resolve(null)
  })
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        // The caller learns that it is there BEFORE the first entry comes.
        controller.enqueue(encoder.encode(ALIVE))
        const alive = repeatEvery(ALIVE_MS, () => {
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(ALIVE))
        })
        if (stop !== null) signal.addEventListener('abort', stop)
        end = () => {
          alive.stop()
          if (stop !== null) signal.removeEventListener('abort', stop)
          onEnd()
          // One that waits ends by the signal, and one that has just given an event by this.
          void iterator.return?.().catch(() => undefined)
        }
        if (signal.aborted) stop?.()
      },
      async pull(controller) {
        const text = await Promise.race([nextEvent(iterator), aborted])
        if (text !== null) return controller.enqueue(encoder.encode(text.event))
        end()
        controller.close()
      },
      cancel() {
        end()
      },
    },
    { highWaterMark: 1 },
  )
}

/** Null: there is no more. An error is the last event. */
async function nextEvent(
  iterator: AsyncIterator<OperationEvent>,
): Promise<{ readonly event: string } | null> {
  try {
    const { done, value } = await iterator.next()
    if (done === true) return null
    const id = value.id === null ? '' : `id: ${value.id}\n`
    return { event: `${id}data: ${JSON.stringify(value.data)}\n\n` }
  } catch (error) {
    await iterator.return?.()
    return { event: `event: problem\ndata: ${JSON.stringify(problemOf(error))}\n\n` }
  }
}
