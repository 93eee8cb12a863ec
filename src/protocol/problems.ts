/**
 * What the server answers when it does not do what it was asked: problem details (RFC 9457), with a code of its own or of
 * the error that was thrown, and the status that goes with it.
 */
import type { ErrorKind } from '../kernel/index.ts'

/** The body of such an answer. */
export interface ProblemDetails {
  readonly type: string
  readonly title: string
  readonly status: number
  /** What was given, where, and what to write instead. */
  readonly detail: string
  readonly code: string
  readonly kind: ErrorKind
  readonly details: Readonly<Record<string, unknown>>
}

export const PROBLEM_TYPE = 'application/problem+json'

interface ProblemTerms {
  readonly status: number
  readonly kind: ErrorKind
  readonly says: string
}

function refusal(status: number, says: string): ProblemTerms {
  return { status, kind: 'rejected', says }
}

/** Codes that only a server has. Nothing changed when one of them is the answer. */
export const SERVER_PROBLEMS = {
  MalformedRequest: refusal(400, 'What came is no HTTP request, or one that contradicts itself.'),
  MalformedJson: refusal(400, 'The body is no JSON.'),
  InvalidInput: refusal(400, 'The input has not the form that the operation asks for.'),
  UnknownField: refusal(400, 'A command has a field that commands of its type do not have.'),
  Unauthorized: refusal(401, 'There is no token, or not a known one.'),
  Forbidden: refusal(403, 'The token has not the role that this needs.'),
  HostNotAllowed: refusal(403, 'The Host header names no host of this server.'),
  OriginNotAllowed: refusal(403, 'A page of another origin asks.'),
  NoSuchRoute: refusal(404, 'There is no operation at this path.'),
  MethodNotAllowed: refusal(405, 'The operation at this path has another method.'),
  RequestTimeout: { status: 408, kind: 'retryable', says: 'The request did not arrive in time.' },
  BodyTooLarge: refusal(413, 'The body is larger than the server takes.'),
  UnsupportedMediaType: refusal(415, 'The body is not called application/json.'),
  TooManyOpen: { status: 429, kind: 'retryable', says: 'Too many polls or streams are open.' },
  HeadersTooLarge: refusal(431, 'The headers are larger than the server takes.'),
  BodyTaken: refusal(
    500,
    'The program that mounts the server has read the body before the server could.',
  ),
  NotReady: { status: 503, kind: 'retryable', says: 'The store does not answer.' },
  InternalError: { status: 500, kind: 'bug', says: 'The server failed: its log says why.' },
} as const satisfies Readonly<Record<string, ProblemTerms>>

export type ServerProblem = keyof typeof SERVER_PROBLEMS

/** Of errors that the engine throws; what is not here goes by its kind. */
const STATUS_OF_CODE: Readonly<Record<string, number>> = {
  BadRequest: 400,
  InvalidDefinition: 400,
  InvalidValue: 400,
  UnserializableValue: 400,
  UnknownJob: 404,
  UnknownSchedule: 404,
  UnknownWorker: 404,
  UnknownTask: 404,
  NoSuchPosition: 404,
  BeforeHistory: 404,
  JobWasErased: 409,
  QueueFull: 429,
  StoreClosed: 503,
}

const STATUS_OF_KIND: Readonly<Record<ErrorKind, number>> = {
  rejected: 409,
  retryable: 503,
  unknown_outcome: 503,
  corrupt: 500,
  bug: 500,
}

export function statusOf(code: string, kind: ErrorKind): number {
  if (Object.hasOwn(SERVER_PROBLEMS, code)) return SERVER_PROBLEMS[code as ServerProblem].status
  return STATUS_OF_CODE[code] ?? STATUS_OF_KIND[kind]
}

/** Every status that the server answers with. */
export const STATUSES: readonly number[] = [
  ...new Set([
    200,
    ...Object.values(SERVER_PROBLEMS).map(({ status }) => status),
    ...Object.values(STATUS_OF_CODE),
    ...Object.values(STATUS_OF_KIND),
  ]),
].toSorted((a, b) => a - b)

export function problemDetails(
  code: string,
  kind: ErrorKind,
  detail: string,
  details: Readonly<Record<string, unknown>> = {},
): ProblemDetails {
  const status = statusOf(code, kind)
  const type = `https://github.com/pawl-jobs/pawl/blob/main/docs/http.md#${code.toLowerCase()}`
  return { type, title: code, status, detail, code, kind, details }
}

/** What every operation may answer. */
export const PROBLEMS_OF_ALL: readonly ServerProblem[] = [
  'MalformedRequest',
  'MalformedJson',
  'InvalidInput',
  'Unauthorized',
  'Forbidden',
  'HostNotAllowed',
  'OriginNotAllowed',
  'NoSuchRoute',
  'MethodNotAllowed',
  'RequestTimeout',
  'BodyTooLarge',
  'UnsupportedMediaType',
  'HeadersTooLarge',
  'InternalError',
]
