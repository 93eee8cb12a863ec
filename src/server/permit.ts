/**
 * What a token lets its caller do at one request, beyond its roles: only within its scope, without payloads, or the one thing
 * that it was made for. The input passes it BEFORE the operation, the answer AFTER it.
 */
import { isDeepStrictEqual } from 'node:util'
import type { OperationEvent } from '../operations/index.ts'
import type { Operation } from '../protocol/index.ts'
import { RequestRefused } from './errors.ts'
import type { ServerParts } from './handlers.ts'
import type { MessageLink } from './message-links.ts'
import { assertHasView, eventWithoutPayloads, withoutPayloads } from './redaction.ts'
import type { HeldInput, RunOperation } from './scopes.ts'
import { ScopeGuard } from './scopes.ts'
import type { Caller } from './tokens.ts'

export class Permit {
  readonly #operation: Operation
  readonly #caller: Caller
  readonly #guard: ScopeGuard | null

  constructor({ access, terms }: ServerParts, caller: Caller, operation: Operation) {
    this.#operation = operation
    this.#caller = caller
    const { definitions } = terms
    const definitionOf = (type: string) => definitions.get(type) ?? access.definitionOf(type)
    this.#guard =
      caller.scope === null
        ? null
        : new ScopeGuard(caller.scope, { store: access.store, definitionOf })
  }

  async admit(input: HeldInput): Promise<HeldInput> {
    const { link, seesPayloads } = this.#caller
    if (!seesPayloads) assertHasView(this.#operation)
    if (link !== null) return linkedInput(link, this.#operation, input)
    return this.#guard === null ? input : this.#guard.admit(this.#operation, input)
  }

  /** `run`: the operation. It is run again where little of what it answers is for the caller. */
  async answer(input: HeldInput, run: RunOperation): Promise<unknown> {
    const guard = this.#guard
    const held = await (guard === null ? run(input) : guard.answer(this.#operation, input, run))
    return this.#caller.seesPayloads ? held : withoutPayloads(held)
  }

  async *events(events: AsyncIterable<OperationEvent>): AsyncGenerator<OperationEvent, void> {
    const held = this.#guard === null ? events : this.#guard.events(this.#operation, events)
    for await (const { id, data } of held) {
      yield { id, data: this.#caller.seesPayloads ? data : eventWithoutPayloads(data) }
    }
  }
}

/** As the link says, whatever its holder says; what its holder says must not be something else. */
function linkedInput(link: MessageLink, operation: Operation, input: HeldInput): HeldInput {
  const { job, name, by, id, stage, segment } = link
  const isMessage = operation.name === 'messages.send'
  const said = { by, ...('value' in link ? { value: link.value } : {}) }
  const fixed = {
    job,
    ...(isMessage ? { message: name, id } : { name }),
    stage,
    segment,
    ...(operation.changes === null ? {} : said),
  }
  for (const [property, value] of Object.entries(fixed)) {
    const given = input[property]
    if (given === undefined || isDeepStrictEqual(given, value)) continue
    throw new RequestRefused(
      'Forbidden',
      `\`${property}\` is not what this token is for: it is for one message to one job. Leave it out.`,
    )
  }
  const known = Object.entries(fixed).filter(([, value]) => value !== undefined)
  return { ...input, ...Object.fromEntries(known) }
}
