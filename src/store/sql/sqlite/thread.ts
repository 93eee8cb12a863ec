/**
 * A thread that has a SQLite file open, or none. It answers each request, but for closing a file that is not
 * let go of while the thread lives: then it ends. It blocks here, and not in the calling thread,
 * while another connection writes to the file.
 */
import { parentPort } from 'node:worker_threads'
import { releasesFileOnClose, sqliteExtendedCode } from '../../../log/disk/sqlite-driver.ts'
import type { StatementResult } from '../connection.ts'
import { isLetGo } from './file-release.ts'
import type { OfStatement } from './sqlite-file.ts'
import { SqliteFile } from './sqlite-file.ts'
import { reasonOf } from './failures.ts'
import type { ThreadReply, ThreadRequest } from './messages.ts'
import { buffersOf, flatAnswers } from './messages.ts'
import { StallTimer } from './stall-timer.ts'

let file: SqliteFile | null = null
let stallTimer = new StallTimer(() => file?.rollBack())

let path = ''

function perform(request: ThreadRequest): readonly StatementResult[] {
  if (request.do === 'run') {
    stallTimer.receive(request.statements[0]?.sql)
    return file?.run(request.statements) ?? []
  }
  stallTimer.stop()
  stallTimer = new StallTimer(() => file?.rollBack())
  if (request.do === 'open') {
    path = request.opening.path
    file = new SqliteFile(request.opening)
    return []
  }
  // Another thread of this process may have closed it, and still have it open.
  if (!releasesFileOnClose()) file?.checkpoint()
  file?.close()
  file = null
  return []
}

const NOTHING: ThreadReply = { answers: flatAnswers([]) }

/** It is closed, and an answer follows if nothing has it open any more. */
async function answerOnceLetGo(): Promise<void> {
  if (await isLetGo(path)) parentPort?.postMessage(NOTHING, [])
  else parentPort?.close()
}

function failure(error: Error & OfStatement): ThreadReply {
  const { message, sql = null } = error
  return { reason: reasonOf(error), message, errcode: sqliteExtendedCode(error), sql }
}

parentPort?.on('message', (request: ThreadRequest) => {
  let reply: ThreadReply
  let transfer: readonly ArrayBuffer[] = []
  try {
    const answers = perform(request)
    if (request.do === 'close' && !releasesFileOnClose()) {
      void answerOnceLetGo()
      return
    }
    const flat = flatAnswers(answers)
    reply = { answers: flat }
    transfer = buffersOf(flat)
  } catch (error) {
    // BEFORE the answer: the next request may be on its way already.
    file?.rollBack()
    reply = failure(error as Error)
  }
  if (file?.isInTransaction === true) stallTimer.start()
  parentPort?.postMessage(reply, transfer)
})
