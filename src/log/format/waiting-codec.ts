/**
 * Waiting as bytes: the records of waits and messages, and the entries that change them.
 *
 * A task that never waited and was never sent a message has none of this, and takes no byte for it.
 */
import type {
  EntryOf,
  KeptMessage,
  Message,
  PendingWait,
  Wait,
  WaitEnd,
  Waiting,
} from '../../kernel/index.ts'
import type { ByteReader, ByteWriter } from './bytes.ts'
import type { Interning } from './interning.ts'
import { readSpec, writeSpec } from './spec-codec.ts'

const NEEDED = ['any', 'all'] as const
const ENDS = ['time', 'message', 'callee'] as const
const MESSAGE_STATES = ['KEPT', 'TAKEN', 'SKIPPED'] as const

function writeTexts(writer: ByteWriter, texts: readonly string[]): void {
  writer.count(texts.length)
  for (const text of texts) writer.text(text)
}

function readTexts(reader: ByteReader, interning: Interning): string[] {
  return reader.list(() => interning.read(reader))
}

const WAIT_MESSAGE = 1
const WAIT_SCHEMA = 2
const WAIT_ASK = 4
const WAIT_UNTIL = 8
const WAIT_CALLEE = 16
const WAIT_KNOWN = WAIT_MESSAGE | WAIT_SCHEMA | WAIT_ASK | WAIT_UNTIL | WAIT_CALLEE

function pendingMask({ message, schema, ask, until, callee }: PendingWait): number {
  let mask = 0
  if (callee !== null) mask |= WAIT_CALLEE
  if (message !== null) mask |= WAIT_MESSAGE
  if (schema !== null) mask |= WAIT_SCHEMA
  if (ask !== null) mask |= WAIT_ASK
  if (until !== null) mask |= WAIT_UNTIL
  return mask
}

function writePending(writer: ByteWriter, wait: PendingWait, at: number): void {
  const { message, schema, ask, until, callee } = wait
  writer.text(wait.name)
  if (message !== null) writer.text(message)
  if (schema !== null) writer.text(schema)
  if (ask !== null) writer.text(ask)
  if (until !== null) writer.timeFrom(at, until)
  if (callee !== null) writeSpec(writer, callee)
}

function readPending(
  reader: ByteReader,
  interning: Interning,
  mask: number,
  at: number,
): PendingWait {
  return {
    name: interning.read(reader),
    message: mask & WAIT_MESSAGE ? interning.read(reader) : null,
    // The same for every job of a type.
    schema: mask & WAIT_SCHEMA ? interning.read(reader) : null,
    ask: mask & WAIT_ASK ? reader.text() : null,
    until: mask & WAIT_UNTIL ? reader.timeFrom(at) : null,
    callee: mask & WAIT_CALLEE ? readSpec(reader, interning) : null,
  }
}

function writePendingWait(writer: ByteWriter, wait: PendingWait, at: number): void {
  writer.u8(pendingMask(wait))
  writePending(writer, wait, at)
}

function readPendingWait(reader: ByteReader, interning: Interning, at: number): PendingWait {
  const mask = reader.u8()
  if ((mask & ~WAIT_KNOWN) !== 0) throw reader.malformed('a wait has a field that is not known')
  return readPending(reader, interning, mask, at)
}

const WAIT_SUSPENDS = 32
const WAIT_ENDED = 64
const WAIT_VALUE = 128
const WAIT_RECORD = WAIT_KNOWN | WAIT_SUSPENDS | WAIT_ENDED | WAIT_VALUE

function writeWait(writer: ByteWriter, wait: Wait, created: number): void {
  const { since, endedAt, endedBy, value } = wait
  let mask = pendingMask(wait)
  if (wait.suspends) mask |= WAIT_SUSPENDS
  if (endedAt !== null) mask |= WAIT_ENDED
  if (value !== null) mask |= WAIT_VALUE
  writer.u8(mask)
  writer.timeFrom(created, since)
  writePending(writer, wait, since)
  writer.count(wait.lease)
  if (endedAt !== null) {
    writer.timeFrom(since, endedAt)
    writer.choice(ENDS, endedBy as WaitEnd)
  }
  if (value !== null) writer.text(value)
}

function readWait(reader: ByteReader, interning: Interning, created: number): Wait {
  const mask = reader.u8()
  if ((mask & ~WAIT_RECORD) !== 0) throw reader.malformed('a wait has a field that is not known')
  const since = reader.timeFrom(created)
  const pending = readPending(reader, interning, mask, since)
  const { name, message, schema, ask, until, callee } = pending
  return {
    name,
    message,
    schema,
    ask,
    until,
    callee,
    since,
    lease: reader.count(),
    suspends: (mask & WAIT_SUSPENDS) !== 0,
    endedAt: mask & WAIT_ENDED ? reader.timeFrom(since) : null,
    endedBy: mask & WAIT_ENDED ? reader.choice(ENDS) : null,
    value: mask & WAIT_VALUE ? reader.text() : null,
  }
}

/** The lowest two bits of a message's mask. */
const MESSAGE_STATE = 3
const MESSAGE_VALUE = 4
const MESSAGE_KNOWN = MESSAGE_STATE | MESSAGE_VALUE

function writeMessage(writer: ByteWriter, message: Message, created: number): void {
  const { value } = message
  let mask = MESSAGE_STATES.indexOf(message.state)
  if (value !== null) mask |= MESSAGE_VALUE
  writer.u8(mask)
  writer.text(message.id)
  writer.text(message.name)
  if (value !== null) writer.text(value)
  writer.timeFrom(created, message.at)
  writer.text(message.by)
  writer.text(message.reason)
}

function readMessage(reader: ByteReader, interning: Interning, created: number): Message {
  const mask = reader.u8()
  const state = MESSAGE_STATES[mask & MESSAGE_STATE]
  if (state === undefined || (mask & ~MESSAGE_KNOWN) !== 0) {
    throw reader.malformed('there is no such state of a message')
  }
  return {
    id: reader.text(),
    name: interning.read(reader),
    value: mask & MESSAGE_VALUE ? reader.text() : null,
    at: reader.timeFrom(created),
    by: interning.read(reader),
    reason: interning.read(reader),
    state,
  }
}

/** The lowest two bits of the mask of what a task waits for. */
const SUSPENDED = 3
const SUSPENSIONS = [null, 'any', 'all'] as const
const WAITING_DUE = 4
const WAITING_KNOWN = SUSPENDED | WAITING_DUE

export function writeWaiting(writer: ByteWriter, waiting: Waiting, created: number): void {
  const { firstDueAt, waits, messages } = waiting
  let mask = SUSPENSIONS.indexOf(waiting.suspended)
  if (firstDueAt !== null) mask |= WAITING_DUE
  writer.u8(mask)
  if (firstDueAt !== null) writer.timeFrom(created, firstDueAt)
  writer.count(waits.length)
  for (const wait of waits) writeWait(writer, wait, created)
  writer.count(messages.length)
  for (const message of messages) writeMessage(writer, message, created)
}

export function readWaiting(reader: ByteReader, interning: Interning, created: number): Waiting {
  const mask = reader.u8()
  const suspended = SUSPENSIONS[mask & SUSPENDED]
  if (suspended === undefined || (mask & ~WAITING_KNOWN) !== 0) {
    throw reader.malformed('a task waits in a way that is not known')
  }
  return {
    suspended,
    firstDueAt: mask & WAITING_DUE ? reader.timeFrom(created) : null,
    // Lists of their own: they grow in place.
    waits: [...reader.list(() => readWait(reader, interning, created))],
    messages: [...reader.list(() => readMessage(reader, interning, created))],
  }
}

export function writeKeptMessages(writer: ByteWriter, messages: readonly KeptMessage[]): void {
  writer.count(messages.length)
  for (const message of messages) writeKeptMessage(writer, message)
}

export function readKeptMessages(reader: ByteReader, interning: Interning): KeptMessage[] {
  return reader.list(() => readKeptMessage(reader, interning))
}

function writeKeptMessage(writer: ByteWriter, message: KeptMessage): void {
  writer.count(message.stage)
  writer.count(message.segment)
  writer.text(message.id)
  writer.text(message.name)
  writer.text(message.value)
  writer.time(message.at)
  writer.text(message.by)
  writer.text(message.reason)
}

function readKeptMessage(reader: ByteReader, interning: Interning): KeptMessage {
  return {
    stage: reader.count(),
    segment: reader.count(),
    id: reader.text(),
    name: interning.read(reader),
    value: reader.text(),
    at: reader.time(),
    by: interning.read(reader),
    reason: interning.read(reader),
  }
}

function writeHead(
  writer: ByteWriter,
  entry: EntryOf<'MessageSent' | 'WaitEnded' | 'ExecutionSuspended' | 'ExecutionContinued'>,
): void {
  writer.time(entry.at)
  writer.count(entry.version)
  writer.text(entry.job)
  writer.count(entry.stage)
  writer.count(entry.segment)
}

export function writeWaitEnded(writer: ByteWriter, entry: EntryOf<'WaitEnded'>): void {
  writeHead(writer, entry)
  writer.count(entry.lease)
  writePendingWait(writer, entry.wait, entry.at)
  writer.flag(entry.message !== null)
  if (entry.message !== null) writer.text(entry.message)
  writer.flag(entry.answer !== null)
  if (entry.answer !== null) writer.text(entry.answer)
  writeTexts(writer, entry.unfit)
  writer.count(entry.definitionVersion)
}

export function readWaitEnded(reader: ByteReader, interning: Interning): EntryOf<'WaitEnded'> {
  const at = reader.time()
  return {
    type: 'WaitEnded',
    at,
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    lease: reader.count(),
    wait: readPendingWait(reader, interning, at),
    message: reader.flag() ? reader.text() : null,
    answer: reader.flag() ? reader.text() : null,
    unfit: readTexts(reader, interning),
    definitionVersion: reader.count(),
  }
}

export function writeExecutionSuspended(
  writer: ByteWriter,
  entry: EntryOf<'ExecutionSuspended'>,
): void {
  writeHead(writer, entry)
  writer.count(entry.lease)
  writer.choice(NEEDED, entry.needs)
  writer.count(entry.waits.length)
  for (const wait of entry.waits) writePendingWait(writer, wait, entry.at)
  writeTexts(writer, entry.unfit)
  writer.timeFrom(entry.at, entry.dueAt)
  writer.count(entry.budget)
  writer.count(entry.definitionVersion)
}

export function readExecutionSuspended(
  reader: ByteReader,
  interning: Interning,
): EntryOf<'ExecutionSuspended'> {
  const at = reader.time()
  return {
    type: 'ExecutionSuspended',
    at,
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    lease: reader.count(),
    needs: reader.choice(NEEDED),
    waits: reader.list(() => readPendingWait(reader, interning, at)),
    unfit: readTexts(reader, interning),
    dueAt: reader.timeFrom(at),
    budget: reader.count(),
    definitionVersion: reader.count(),
  }
}

export function writeExecutionContinued(
  writer: ByteWriter,
  entry: EntryOf<'ExecutionContinued'>,
): void {
  writeHead(writer, entry)
  writer.count(entry.lease)
  writer.text(entry.input)
  writer.count(entry.budget)
  writer.count(entry.definitionVersion)
}

export function readExecutionContinued(reader: ByteReader): EntryOf<'ExecutionContinued'> {
  return {
    type: 'ExecutionContinued',
    at: reader.time(),
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    lease: reader.count(),
    input: reader.text(),
    budget: reader.count(),
    definitionVersion: reader.count(),
  }
}

export function writeMessageSent(writer: ByteWriter, entry: EntryOf<'MessageSent'>): void {
  writeHead(writer, entry)
  writer.text(entry.id)
  writer.text(entry.name)
  writer.text(entry.value)
  writer.flag(entry.wait !== null)
  if (entry.wait !== null) writer.text(entry.wait)
  writer.timeFrom(entry.at, entry.dueAt)
  writer.text(entry.by)
  writer.text(entry.reason)
}

export function readMessageSent(reader: ByteReader, interning: Interning): EntryOf<'MessageSent'> {
  const at = reader.time()
  return {
    type: 'MessageSent',
    at,
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    id: reader.text(),
    name: interning.read(reader),
    value: reader.text(),
    wait: reader.flag() ? interning.read(reader) : null,
    dueAt: reader.timeFrom(at),
    by: interning.read(reader),
    reason: interning.read(reader),
  }
}

export function writeMessageKept(writer: ByteWriter, entry: EntryOf<'MessageKept'>): void {
  writer.time(entry.at)
  writer.count(entry.version)
  writer.text(entry.job)
  writeKeptMessage(writer, entry.message)
}

export function readMessageKept(reader: ByteReader, interning: Interning): EntryOf<'MessageKept'> {
  return {
    type: 'MessageKept',
    at: reader.time(),
    version: reader.count(),
    job: reader.text(),
    message: readKeptMessage(reader, interning),
  }
}
