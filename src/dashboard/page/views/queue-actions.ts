/**
 * What can be done with a queue, as the reader's token allows it.
 */
import type { Action } from '../action.ts'
import { RATE_FIELD, typedRate } from '../action.ts'
import type { AnswerOf } from '../api.ts'
import { goTo } from '../route.ts'
import { may } from '../session.ts'

export type ShownQueue = AnswerOf<'queues.list'>['queues'][number]

export function queueActions(
  queue: ShownQueue,
): readonly (readonly [label: string, action: Action])[] {
  const { name, pausedAt } = queue
  const all: readonly (readonly [string, Action])[] =
    pausedAt === null
      ? [
          ['Pause', pauseAction(name)],
          ['Drain', drainAction(queue)],
          ['Configure', configureAction(queue)],
        ]
      : [
          ['Resume', resumeAction(name)],
          ['Configure', configureAction(queue)],
        ]
  return all.filter(([, { operation }]) => may(operation))
}

function pauseAction(name: string): Action {
  return {
    title: `Pause queue ${name}`,
    says: 'Nothing more of the queue is handed out. What runs goes on.',
    operation: 'queues.pause',
    input: { queue: name },
  }
}

/** A pause, and a look at what still runs until nothing does. */
function drainAction({ name, states, segments }: ShownQueue): Action {
  const running = states.RUNNING + segments.running
  return {
    title: `Drain queue ${name}`,
    says: 'The queue is paused: nothing more of it is handed out, and no job is stopped. The page then shows how many still run, until none does. The queue stays paused until it is resumed.',
    operation: 'queues.pause',
    input: { queue: name },
    onDone: () => goTo('queues', { queue: name, drained: String(running) }),
  }
}

export function resumeAction(name: string): Action {
  return {
    title: `Resume queue ${name}`,
    says: 'Jobs of the queue are handed out again.',
    operation: 'queues.resume',
    input: { queue: name },
    onDone: () => goTo('queues', { queue: name }),
  }
}

function configureAction({ name, concurrency, rate, ageingMs }: ShownQueue): Action {
  return {
    title: `Configure queue ${name}`,
    says: 'This is all that bounds the queue from now on: what is empty has no bound.',
    operation: 'queues.configure',
    input: { queue: name },
    fields: [
      {
        name: 'concurrency',
        label: 'At once',
        kind: 'number',
        ...(concurrency === null ? {} : { value: String(concurrency) }),
        hint: 'How many jobs may run at the same time.',
      },
      {
        ...RATE_FIELD,
        ...(rate === null ? {} : { value: typedRate(rate) }),
        hint: 'How many may start in a period: 10/s, 100/1m.',
      },
      {
        name: 'ageing',
        label: 'Ageing',
        kind: 'text',
        ...(ageingMs === null ? {} : { value: `${ageingMs / 1_000}s` }),
        hint: 'After how long a job that waits becomes more urgent by one: 5m.',
      },
    ],
  }
}
