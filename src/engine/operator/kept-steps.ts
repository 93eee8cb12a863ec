/**
 * The steps that a job which is run again begins with: those before a recorded step, by value, as they are or as the caller
 * says, and what goes on record about it.
 *
 * It refuses values of steps that are not before that step, and of those that are not the handler's own.
 */
import { InvalidDefinition, toJson } from '../../definition/index.ts'
import type { Asked, Job, KeptStep } from '../../kernel/index.ts'
import { sameText } from '../../kernel/equal.ts'
import { NONE } from '../../kernel/index.ts'
import { isArtifactStep } from '../../worker/artifact/drafts.ts'
import type { Actor } from '../actor.ts'
import { actorOfRun, actorOrDefault } from '../actor.ts'

interface KeptSteps {
  /** In the order in which they were recorded. */
  readonly steps: readonly KeptStep[]
  /** The names of those that have another value now. */
  readonly changed: readonly string[]
}

/** `from`: undefined: none is kept. `given`: other values, by the names of steps. */
export function keptSteps(
  job: Job,
  from: string | undefined,
  given: Readonly<Record<string, unknown>> | undefined,
): KeptSteps {
  const values = given === undefined ? new Map() : givenValues(job, given)
  if (from === undefined) {
    if (values.size === 0) return { steps: NONE, changed: NONE }
    throw new InvalidDefinition(
      `Job ${job.id} is run again from its beginning: it keeps no steps that \`steps\` could have other values of. Say \`from\` which step on.`,
      { job: job.id },
    )
  }
  const before = stepsBefore(job, from)
  assertKept(job, from, before, values)
  const changed: string[] = []
  const steps = before.map(({ name, value }) => {
    const other = values.get(name) ?? value
    // A worker in another language may have written the same value in another way.
    if (sameText(other, value)) return { name, value }
    changed.push(name)
    return { name, value: other }
  })
  return { steps, changed }
}

/** As JSON text, by the names of steps. */
function givenValues(job: Job, given: unknown): ReadonlyMap<string, string> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new InvalidDefinition(
      `The \`steps\` of job ${job.id} are an object: the names of steps with their other values.`,
      { job: job.id },
    )
  }
  const entries = Object.entries(given).map(
    ([name, value]) => [name, toJson(value, `Step '${name}' of job ${job.id}`, name)] as const,
  )
  return new Map(entries)
}

function stepsBefore({ id, task }: Job, from: string): readonly KeptStep[] {
  if (task === null) {
    throw new InvalidDefinition(
      `Job ${id} is a pipeline: it is run again as a whole, without \`from\`.`,
      { job: id, from },
    )
  }
  const index = task.steps.findIndex(({ name }) => name === from)
  if (index === -1) {
    throw new InvalidDefinition(
      `Job ${id} has recorded no step '${from}': ${task.steps.length === 0 ? 'it has none' : `its steps are ${namesOf(task.steps)}`}.`,
      { job: id, from },
    )
  }
  return task.steps.slice(0, index)
}

function assertKept(
  { id }: Job,
  from: string,
  before: readonly KeptStep[],
  values: ReadonlyMap<string, string>,
): void {
  const known = before.filter(({ name }) => !isArtifactStep(name))
  const names = new Set(known.map(({ name }) => name))
  const stranger = [...values.keys()].find((name) => !names.has(name))
  if (stranger === undefined) return
  const there = names.size === 0 ? 'there is none' : `those are ${namesOf(known)}`
  const why = isArtifactStep(stranger)
    ? `'${stranger}' is the record of a file, which has no other value`
    : `'${stranger}' is no step before '${from}'`
  throw new InvalidDefinition(
    `Job ${id} is run again from '${from}', and ${why}: \`steps\` has values of those that are kept, and ${there}.`,
    { job: id, from, step: stranger },
  )
}

function namesOf(steps: readonly { readonly name: string }[]): string {
  return steps.map(({ name }) => `'${name}'`).join(', ')
}

/** Of those that have another value, so many are named in a reason. */
const MOST_NAMED = 5

/** Who asked for it and why; and that it keeps steps which this input, or these values, did not make. */
export function askedFor(
  actor: Actor,
  from: string | undefined,
  { hasNewInput, changed }: { readonly hasNewInput: boolean; readonly changed: readonly string[] },
): Asked {
  if (from === undefined) return actorOrDefault(actor, 'Run again')
  const news = [
    ...(hasNewInput ? ['another input'] : []),
    ...(changed.length > 0 ? [`other values of ${someOf(changed)}`] : []),
  ]
  if (news.length === 0) return actorOrDefault(actor, `Run again from '${from}'`)
  return actorOfRun(actor, `again from '${from}' with ${news.join(' and ')}`)
}

function someOf(names: readonly string[]): string {
  const named = names.slice(0, MOST_NAMED).map((name) => `'${name}'`)
  const more = names.length - named.length
  return more > 0 ? `${named.join(', ')} and ${more} more` : named.join(', ')
}
