/**
 * Sends messages to jobs: checked here by the definition of the message, and by what the wait asks for that
 * it ends; kept by the store, whether or not the job waits for it yet.
 */
import type { AnyJob, AnyMessage } from '../../definition/index.ts'
import {
  assertFits,
  InvalidDefinition,
  isMessage,
  isPipeline,
  nameOf,
  runnableFor,
  shown,
  toJson,
  validated,
} from '../../definition/index.ts'
import type { Job, Payload, TaskAddress } from '../../kernel/index.ts'
import { stageIndex, stagesOf } from '../../kernel/index.ts'
import type { CommandBatcher } from '../../store/command-batcher.ts'
import type { Answer, Store } from '../../store/index.ts'
import type { Actor } from '../actor.ts'
import { actorOrDefault } from '../actor.ts'
import { Refused, UnknownJob } from '../errors.ts'
import type { DefinitionOf } from '../operator/operator.ts'
import type { TaskChoice } from '../operator/operator-commands.ts'
import { newJobId } from '../random.ts'
import { Inbox } from './inbox.ts'

export interface SendOptions extends Actor, TaskChoice {
  /** The same id is the same message: sending it again does nothing. Default: a random one. */
  readonly id?: string
}

export interface SentMessage {
  readonly id: string
}

/** What the wait asks for may change between a look and a send; not without end. */
const MOST_CHECKS = 5

export class Messages {
  /** What waits for people. */
  readonly inbox: Inbox
  readonly #store: Store
  readonly #batcher: CommandBatcher
  readonly #definitionOf: DefinitionOf

  constructor(store: Store, batcher: CommandBatcher, definitionOf: DefinitionOf) {
    this.#store = store
    this.#batcher = batcher
    this.#definitionOf = definitionOf
    this.inbox = new Inbox(store, batcher, definitionOf)
  }

  async send(
    id: string,
    given: AnyMessage | string,
    value: unknown,
    options: SendOptions,
  ): Promise<SentMessage> {
    const view = await this.#store.query({ kind: 'overview', job: id })
    if (view === null) throw new UnknownJob(id)
    const { job } = view
    const definition = this.#definitionOf(job.spec.type)
    const to = receiverOf(job, definition, nameIn(given), options)
    const message = messageOf(job, definition, to, given)
    const text = await checkedValue(message, value)
    const sent = { id: options.id ?? newJobId(), name: message.messageName, value: text }
    await this.#sendChecked(to, sent, message.jsonSchema, options)
    return { id: sent.id }
  }

  /** By what the wait asks for, if that is something else: another version of the definition may wait. */
  async #sendChecked(
    to: TaskAddress,
    sent: { readonly id: string; readonly name: string; readonly value: Payload },
    schema: Payload | null,
    actor: Actor,
  ): Promise<void> {
    let checked = schema
    for (let round = 0; ; round++) {
      const { rejection }: Answer = await this.#batcher.send({
        type: 'SendMessage',
        job: to.job,
        stage: to.stage,
        segment: to.segment,
        ...sent,
        checked,
        ...actorOrDefault(actor, 'Sent'),
      })
      if (rejection === null) return
      const asked = rejection.details?.['schema']
      if (
        rejection.code !== 'MessageNotChecked' ||
        typeof asked !== 'string' ||
        round >= MOST_CHECKS
      ) {
        throw new Refused(`Sending message '${sent.name}' to job ${to.job}`, rejection)
      }
      assertFits(asked, sent)
      checked = asked
    }
  }
}

function nameIn(given: AnyMessage | string): string {
  if (typeof given === 'string') return given
  if (isMessage(given)) return given.messageName
  throw new InvalidDefinition(
    `send() takes what message('…', { input: … }) gives, or its name, not ${shown(given)}.`,
  )
}

async function checkedValue(message: AnyMessage, value: unknown): Promise<Payload> {
  const what = `What message '${message.messageName}' says`
  await validated(message.schema, value, what)
  return toJson(value, what, 'value')
}

/** The task that the message is for: of a pipeline, of the one stage that takes it, unless one is named. */
function receiverOf(
  job: Job,
  definition: AnyJob | null,
  message: string,
  { stage, segment = 0 }: SendOptions,
): TaskAddress {
  const { id } = job
  if (job.spec.stages === null) {
    if (stage === undefined && segment === 0) return { job: id, stage: 0, segment }
    throw new InvalidDefinition(`Job ${id} is a plain job: it has neither stages nor segments.`)
  }
  const names = stagesOf(job).map(({ name }) => name)
  const taking = stage === undefined ? stagesTaking(definition, message) : [stage]
  const [only] = taking
  const at = only === undefined ? -1 : stageIndex(job, only)
  if (taking.length === 1 && at >= 0) return { job: id, stage: at, segment }
  throw new InvalidDefinition(
    stage === undefined
      ? `Which stage of job ${id} is message '${message}' for? Give a \`stage\`: ${names.join(', ')}.`
      : `Job ${id} has no stage '${stage}': its stages are ${names.join(', ')}.`,
    { job: id, stage },
  )
}

function stagesTaking(definition: AnyJob | null, message: string): readonly string[] {
  if (definition === null || !isPipeline(definition)) return []
  return definition.stages.flatMap(({ stage, messages }) => (messages.has(message) ? [stage] : []))
}

/** By the definition of the job, if this engine has it: a message that the job does not take is refused. */
function messageOf(
  { spec }: Job,
  definition: AnyJob | null,
  { stage }: TaskAddress,
  given: AnyMessage | string,
): AnyMessage {
  const name = nameIn(given)
  const runnable =
    definition === null ? null : runnableFor(definition, spec.stages?.[stage]?.name ?? null)
  if (runnable === null) {
    if (typeof given !== 'string') return given
    throw new InvalidDefinition(
      `This engine has not seen the definition of job '${spec.type}', so '${name}' says nothing to it: give what message('${name}', …) gives.`,
      { message: name },
    )
  }
  const known = runnable.messages.get(name)
  if (known !== undefined) return typeof given === 'string' ? known : given
  const listed = [...runnable.messages.keys()].map((one) => `'${one}'`).join(', ')
  throw new InvalidDefinition(
    `There is no message '${name}' of ${nameOf(runnable)}: ${listed === '' ? 'it takes none' : `it takes ${listed}`}.`,
    { message: name },
  )
}
