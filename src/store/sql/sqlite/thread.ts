/**
 * A thread that has a SQLite file open, or none. It answers each task, but for closing a file where
 * only the end of the thread lets go of it: then it ends. A file that somebody else is writing to
 * makes it wait here, and nobody else.
 */
import { parentPort } from 'node:worker_threads'
import { letsGoAtClose, sqliteShadeOf } from '../../../log/disk/sqlite-driver.ts'
import type { StatementResult } from '../connection.ts'
import type { OfStatement } from './sqlite-file.ts'
import { SqliteFile } from './sqlite-file.ts'
import { troubleOf } from './failures.ts'
import { FileHold } from './file-hold.ts'
import type { ThreadReply, ThreadRequest } from './messages.ts'
import { buffersOf, flatAnswers } from './messages.ts'

let file: SqliteFile | null = null
let hold = new FileHold(() => file?.rollBack())

/** Null: there is nothing to say, because it ends. */
function perform(task: ThreadRequest): readonly StatementResult[] | null {
  if (task.do === 'run') {
    hold.goOn(task.asks[0]?.sql)
    return file?.run(task.asks) ?? []
  }
  hold.end()
  hold = new FileHold(() => file?.rollBack())
  if (task.do === 'open') {
    file = new SqliteFile(task.opening)
    return []
  }
  const isLetGo = letsGoAtClose()
  // Another thread of this process may have closed it, and still have it open.
  if (!isLetGo) file?.settle()
  file?.close()
  file = null
  return isLetGo ? [] : null
}

function failure(error: Error & OfStatement): ThreadReply {
  const { message, sql = null } = error
  return { trouble: troubleOf(error), message, errcode: sqliteShadeOf(error), sql }
}

parentPort?.on('message', (task: ThreadRequest) => {
  let reply: ThreadReply
  let transfer: readonly ArrayBuffer[] = []
  try {
    const answers = perform(task)
    if (answers === null) {
      parentPort?.close()
      return
    }
    const flat = flatAnswers(answers)
    reply = { answers: flat }
    transfer = buffersOf(flat)
  } catch (error) {
    // What comes next may be on its way already.
    file?.rollBack()
    reply = failure(error as Error)
  }
  hold.rest(file?.isHeld ?? false)
  parentPort?.postMessage(reply, transfer)
})
