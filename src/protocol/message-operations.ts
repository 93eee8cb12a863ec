/**
 * The operations by which people and programs speak to jobs: messages, and questions with their answers.
 */
import { LIMITS } from '../kernel/index.ts'
import { operation } from './operation.ts'
import {
  actor,
  choiceOfTask,
  date,
  done,
  EXAMPLE_DATE,
  EXAMPLE_JOB,
  job,
  limit,
  MOST_PER_PAGE,
  name,
} from './parts.ts'
import { about, anything, choice, list, nullable, object, open, text } from './schema.ts'

const JOB = { job: EXAMPLE_JOB }

export const MESSAGE_OPERATIONS = {
  'messages.send': operation({
    path: '/v1/jobs/{job}/messages',
    roles: ['submit', 'operate'],
    scope: 'job',
    command: {
      words: 'send',
      summary: 'Send a message to a job',
      positional: ['job', 'message', 'value'],
    },
    says: 'Sends a message to a job. It is kept, whether or not the job waits for it yet; the same id again does nothing.',
    changes: 'The message is there for the job, or ends a wait.',
    input: object(
      { job, message: name },
      {
        ...actor,
        value: about('Any JSON value. Default null.', anything()),
        id: name,
        stage: choiceOfTask.stage,
        segment: choiceOfTask.segment,
      },
    ),
    output: object({ id: name }),
    errors: ['UnknownJob', 'InvalidDefinition', 'InvalidValue', 'TaskFinal', 'JobEnding'],
    example: {
      input: { ...JOB, message: 'paid', value: { amount: 7 }, id: 'payment-7' },
      output: { id: 'payment-7' },
    },
  }),
  'inbox.list': operation({
    path: '/v1/inbox',
    roles: ['read', 'operate'],
    scope: 'filter',
    command: { words: 'inbox', summary: 'List questions that wait for people' },
    says: 'The questions that wait for people, oldest first.',
    input: object(
      {},
      {
        for: about('A person or a group.', name),
        type: name,
        job,
        after: about('`next` of the page before.', text(LIMITS.keyChars * 4)),
        limit,
      },
    ),
    output: object({
      questions: list(
        open({
          job,
          type: name,
          name,
          ask: text(LIMITS.errorChars),
          for: list(name, MOST_PER_PAGE),
          since: date,
        }),
        MOST_PER_PAGE,
      ),
      next: about(
        'Give it as `after` to go on; null: there is no more.',
        nullable(text(LIMITS.keyChars * 4)),
      ),
    }),
    example: {
      input: { for: 'finance' },
      output: {
        questions: [
          {
            ...JOB,
            type: 'refund',
            name: 'approve',
            ask: 'Refund 70?',
            for: ['finance'],
            since: EXAMPLE_DATE,
          },
        ],
        next: null,
      },
    },
  }),
  'inbox.show': operation({
    path: '/v1/jobs/{job}/questions/{name}',
    roles: ['read', 'operate'],
    scope: 'job',
    command: {
      none: 'It is for pages that a link leads to: `pawl inbox --job` shows what a job asks.',
    },
    says: 'One question, and whether it still waits for an answer. A link to a question may read it.',
    input: object(
      { job, name: about('Of the question.', name) },
      { stage: choiceOfTask.stage, segment: choiceOfTask.segment },
    ),
    output: object({
      job,
      type: name,
      name,
      state: about(
        'Whether it is asked, was answered, had its time, or is not asked: not yet, or no more.',
        choice('OPEN', 'ANSWERED', 'TIMED_OUT', 'NOT_ASKED'),
      ),
      endedAt: about('When the last answer came, or its time was over.', nullable(date)),
      answers: about('Who answered it.', list(object({ by: name, at: date }), MOST_PER_PAGE)),
      question: about(
        'As in the inbox; null: nothing is known of it.',
        nullable(open({ ask: text(LIMITS.errorChars), since: date })),
      ),
    }),
    errors: ['UnknownJob', 'InvalidDefinition'],
    example: {
      input: { ...JOB, name: 'approve' },
      output: {
        ...JOB,
        type: 'refund',
        name: 'approve',
        state: 'OPEN',
        endedAt: null,
        answers: [],
        question: { ask: 'Refund 70?', since: EXAMPLE_DATE },
      },
    },
  }),
  'inbox.answer': operation({
    path: '/v1/jobs/{job}/answers',
    roles: ['submit', 'operate'],
    scope: 'job',
    command: {
      words: 'answer',
      summary: 'Answer a question',
      positional: ['job', 'name', 'value'],
    },
    says: 'Answers a question. An answer that does not fit, or that comes too late, is refused.',
    changes: 'The job goes on, if no more answers are asked for.',
    input: object(
      { job, name: about('Of the question.', name), value: anything() },
      { ...actor, stage: choiceOfTask.stage, segment: choiceOfTask.segment },
    ),
    output: done,
    errors: ['UnknownJob', 'AnswerRefused', 'InvalidDefinition', 'InvalidValue'],
    example: { input: { ...JOB, name: 'approve', value: true, by: 'ada' }, output: {} },
  }),
}
