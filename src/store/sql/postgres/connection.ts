/**
 * A connection to PostgreSQL.
 *
 * - open: what is sent goes out at once, also while answers are outstanding, and is answered in
 *   order. While none is outstanding it keeps no process alive.
 * - closing: what was sent is still answered; nothing more is accepted.
 * - lost: the server or the network ended it, or the server was silent for too long (see `SilenceWatch`).
 *   Everything is refused at once. It does not come back: the pool opens another.
 */
import type { Query as PgQuery } from 'pg'
import type { StatementResult, Statement, ClientConnection } from '../connection.ts'
import type { DatabaseDamaged, SqlFailed } from '../failures.ts'
import { connectionFailed, sqlFailed } from '../failures.ts'
import type { Wire } from './statement-batch.ts'
import { StatementBatch, bind, PreparedStatements, UNNAMED } from './statement-batch.ts'
import type { PostgresAddress } from './address.ts'
import { ANSWER_MS, nameOf, SILENT_MS } from './address.ts'
import type { Connected, ConnectedClient } from './client.ts'
import { connect, isAtWork, within } from './client.ts'
import { reasonOf } from './failures.ts'
import { partsOf } from './many-rows.ts'
import { settingStatement, TransactionSettings } from './session-settings.ts'
import { SilenceWatch } from './silence-watch.ts'

/** Throws `SqlFailed`. */
export async function openConnection(address: PostgresAddress): Promise<ClientConnection> {
  const connected = await connect(address)
  const connection = new PostgresConnection(connected, address)
  const setting = settingStatement(address, false)
  if (connected.isPooled || setting === null) return connection
  try {
    await connection.run([setting])
  } catch (error) {
    await connection.close().catch(() => undefined)
    throw error
  }
  return connection
}

/** Where the user has set a `query_timeout`, pg puts something here that ends its timer. */
interface TimedQuery {
  callback?: () => void
}

class PostgresConnection implements ClientConnection {
  readonly #client: ConnectedClient
  readonly #Query: Connected['Query']
  readonly #where: string
  readonly #prepared: Pick<PreparedStatements, 'of'>
  /** Null: they are those of the session. */
  readonly #settings: TransactionSettings | null
  readonly #mayMove: boolean
  readonly #silence: SilenceWatch
  readonly #answerMs: number
  #outstanding = 0
  #end: SqlFailed | null = null
  #closing: Promise<void> | null = null
  #drained = (): void => undefined

  constructor(connected: Connected, address: PostgresAddress) {
    const { client, Query, url, isPooled } = connected
    const { silentMs = SILENT_MS, answerMs = ANSWER_MS } = address
    const setting = isPooled ? settingStatement(address, true) : null
    this.#client = client
    this.#Query = Query
    this.#where = nameOf({ ...address, url })
    this.#prepared = isPooled ? UNNAMED : new PreparedStatements()
    this.#settings = setting === null ? null : new TransactionSettings(setting)
    this.#mayMove = address.servers?.areMany ?? false
    this.#answerMs = answerMs
    const { stream } = client.connection
    this.#silence = new SilenceWatch({
      silentMs,
      traffic: () => `${stream.bytesRead}/${stream.writableLength}`,
      isAtWork: () => isAtWork(address, connected, answerMs),
      onOver: () => stream.destroy(new Error('The server does not answer any more')),
    })
    client.on('error', (error) => this.#lose(error))
    client.on('end', () => this.#lose(new Error('The connection has ended')))
    this.#client.unref()
  }

  get client(): object {
    return this.#client
  }

  run(statements: readonly Statement[]): Promise<readonly StatementResult[]> {
    return new Promise((resolve, reject) => {
      if (this.#end !== null) throw this.#end
      const { sent, at } = this.#settings?.within(statements) ?? { sent: statements, at: -1 }
      const bound = this.#bind(sent)
      const batch = new StatementBatch(sent.length, bound, {
        answered: (answers) => {
          this.#finish(query)
          resolve(at < 0 ? answers : answers.toSpliced(at, 1))
        },
        failed: (error, sql) => {
          this.#finish(query)
          reject(this.#failure(error, sql))
        },
      })
      const query = this.#asQuery(batch)
      if (this.#outstanding++ === 0) {
        this.#client.ref()
        this.#silence.begin()
      }
      if (bound.length === 0) batch.handleReadyForQuery()
      else this.#client.query(query)
    })
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#end ??= sqlFailed('lost', this.#where, new Error('It was closed here'))
    // The caller waits for the end, so the process must not end before.
    this.#client.ref()
    const drained = new Promise<void>((resolve) => (this.#drained = resolve))
    if (this.#outstanding === 0) this.#drained()
    const ended = this.#client.end()
    await drained
    // A server that does not end it in time is not waited for.
    await within(this.#client, this.#answerMs, () => ended)
  }

  #bind(statements: readonly Statement[]): ReturnType<typeof bind> {
    try {
      return bind(statements, this.#prepared, partsOf)
    } catch (error) {
      throw this.#failure(error as Error, null)
    }
  }

  /** pg pipelines only instances of its own `Query`: this is one, with the methods of the batch. */
  #asQuery(batch: StatementBatch): PgQuery & TimedQuery {
    return Object.assign(new this.#Query(''), {
      submit: (wire: unknown) => batch.submit(wire as Wire),
      handleRowDescription: batch.handleRowDescription.bind(batch),
      handleDataRow: batch.handleDataRow.bind(batch),
      handleCommandComplete: batch.handleCommandComplete.bind(batch),
      handleCopyInResponse: batch.handleCopyInResponse.bind(batch),
      handleEmptyQuery: batch.handleEmptyQuery.bind(batch),
      handleReadyForQuery: batch.handleReadyForQuery.bind(batch),
      handleError: batch.handleError.bind(batch),
    })
  }

  #finish(query: TimedQuery): void {
    query.callback?.()
    if (--this.#outstanding > 0) return
    this.#silence.end()
    this.#drained()
    if (this.#closing === null) this.#client.unref()
  }

  #failure(error: Error, sql: string | null): SqlFailed | DatabaseDamaged {
    const reason = reasonOf(error)
    // What was the primary is a standby now, and another host takes writes.
    const isLost = reason === 'lost' || (reason === 'read-only' && this.#mayMove)
    return isLost ? this.#lose(error) : connectionFailed(reason, this.#where, error, sql)
  }

  /** The caller is told the first reason. */
  #lose(error: Error): SqlFailed {
    if (this.#end === null) {
      this.#end = sqlFailed('lost', this.#where, error)
      // The server closes its side by itself; this side must be closed, too.
      this.#client.end(() => undefined)
    }
    return this.#closing === null ? this.#end : sqlFailed('lost', this.#where, error)
  }
}
