/**
 * The actions on a job, or on a segment of it, as the dialog shows them. Which of them are accepted is for the server to say;
 * whether the reader may do them is for the view.
 */
import type { OperationName } from '../../../protocol/index.ts'
import type { Action, ActionField, Filled } from '../action.ts'
import type { AnswerOf } from '../api.ts'

export type ShownJob = AnswerOf<'jobs.show'>
export type ShownStage = ShownJob['stages'][number]
export type Accepted = AnswerOf<'jobs.actions'>
type AcceptedOne = Accepted['actions'][number]
type ActionNamed<N extends AcceptedOne['action']> = Extract<AcceptedOne, { readonly action: N }>

export interface OfferedAction {
  readonly label: string
  readonly action: Action
}

/** Where it is done: the job, and of a pipeline the segment, at the attempt that the reader has seen. */
interface ActionPlace {
  readonly job: string
  readonly stage?: string
  readonly segment?: number
  readonly attempt?: number
}

/** In the order in which the buttons stand. */
const ORDER: readonly AcceptedOne['action'][] = [
  'release',
  'retry',
  'rerun',
  'resolve',
  'revoke',
  'reschedule',
  'discard',
  'cancel',
  'force',
  'erase',
]

interface OfferedJob {
  /** What the job was given, as it is shown; null: the reader does not see it, and is not asked for another one. */
  readonly input: string | null
  /** As JSON text, by the names of steps, as far as they are known. */
  readonly steps: ReadonlyMap<string, string>
}

/** `effects`: the names of those that the commit promised, by their places. */
export function offeredActions(
  accepted: Accepted,
  effects: readonly string[],
  { input, steps }: OfferedJob = { input: '', steps: new Map() },
): readonly OfferedAction[] {
  const all = accepted.actions.toSorted((a, b) => ORDER.indexOf(a.action) - ORDER.indexOf(b.action))
  const given = editable(input)
  return all.flatMap((one) => offersOf(one, placeOf(accepted), effects, given, steps))
}

/** Above this, nobody edits it in a small field. */
const MOST_EDITED = 20_000

function editable(input: string | null): string | null {
  return input !== null && input.length > MOST_EDITED ? '' : input
}

function placeOf({ job, stage, segment, attempt }: Accepted): ActionPlace {
  return {
    job,
    ...(stage === null ? {} : { stage }),
    ...(stage === null || segment === null ? {} : { segment }),
    ...(attempt === null ? {} : { attempt }),
  }
}

function offersOf(
  one: AcceptedOne,
  place: ActionPlace,
  effects: readonly string[],
  input: string | null,
  steps: ReadonlyMap<string, string>,
): readonly OfferedAction[] {
  const isSegment = place.stage !== undefined
  switch (one.action) {
    case 'force':
      return [force(place, one)]
    case 'rerun':
      return [rerun(place, one, input, steps)]
    case 'resolve':
      return one.effects.map(({ effect, start }) => {
        return resolve(place, { effect, start, ...namedAt(effects, effect) })
      })
    case 'retry':
      return [retry(place, isSegment, input)]
    default:
      return [plain(one.action, place)]
  }
}

interface ActionWords {
  readonly label: string
  readonly title: string
  readonly says: string
  readonly operation: OperationName
  readonly isGrave?: true
  readonly fields?: readonly ActionField[]
  /** It is for the job, whatever its attempt. */
  readonly isAtAnyAttempt?: true
}

const WORDS: Readonly<
  Record<Exclude<AcceptedOne['action'], 'force' | 'rerun' | 'resolve' | 'retry'>, ActionWords>
> = {
  release: {
    label: 'Release',
    title: 'Release the job',
    says: 'It was submitted on hold. Workers may take it from now on.',
    operation: 'jobs.release',
    isAtAnyAttempt: true,
  },
  revoke: {
    label: 'Take from its worker',
    title: 'Take it from its worker',
    says: 'Its lease ends, its handler is told, and it is tried again.',
    operation: 'jobs.revoke',
    isGrave: true,
  },
  reschedule: {
    label: 'Reschedule',
    title: 'Reschedule it',
    says: 'It is due then, or stands in that queue, or has that priority. What is empty stays as it is.',
    operation: 'jobs.reschedule',
    fields: [
      { name: 'delay', label: 'Due in', kind: 'text', hint: 'Such as 0s, 5m, 2h.' },
      { name: 'queue', label: 'Queue', kind: 'text' },
      { name: 'priority', label: 'Priority', kind: 'number', hint: 'Higher is sooner.' },
    ],
  },
  discard: {
    label: 'Discard',
    title: 'Discard it',
    says: 'It is given up for good: it FAILED.',
    operation: 'jobs.discard',
    isGrave: true,
  },
  cancel: {
    label: 'Cancel',
    title: 'Cancel the job',
    says: 'It ends as FAILED; a handler that runs is told to stop.',
    operation: 'jobs.cancel',
    isGrave: true,
    isAtAnyAttempt: true,
  },
  erase: {
    label: 'Erase',
    title: 'Erase what the job was given and made',
    says: 'Inputs, outputs, steps, errors and artifacts are gone. That it ran stays. This cannot be taken back.',
    operation: 'jobs.erase',
    fields: [
      {
        name: 'copies',
        label: 'Jobs that hold copies of the same data',
        kind: ['erase', 'keep'],
        hint: 'Empty: if there are any, nothing is erased.',
      },
    ],
    isGrave: true,
    isAtAnyAttempt: true,
  },
}

function plain(action: keyof typeof WORDS, place: ActionPlace): OfferedAction {
  const { label, isAtAnyAttempt = false, ...words } = WORDS[action]
  return { label, action: { ...words, input: isAtAnyAttempt ? { job: place.job } : { ...place } } }
}

/** Of an input that is edited. */
export const KEPT_OR_NEW =
  'JSON. Left as it is, it stays, with the steps that are recorded. Another one drops them.'

/** Of a pipeline as a whole, each task gets a budget, and keeps its element. */
function retry(place: ActionPlace, isSegment: boolean, input: string | null): OfferedAction {
  const takesInput = place.attempt !== undefined && input !== null
  return {
    label: 'Retry',
    action: {
      title: isSegment ? 'Retry the segment' : 'Retry the job',
      says: 'It gets a fresh budget of retries, and is tried again.',
      operation: 'jobs.retry',
      input: { ...place },
      fields: takesInput
        ? [
            {
              name: 'input',
              label: isSegment ? 'Another element' : 'Another input',
              kind: 'json',
              ...editedFrom(isSegment ? '' : input),
              hint: KEPT_OR_NEW,
            },
          ]
        : [],
    },
  }
}

function force(place: ActionPlace, { to }: ActionNamed<'force'>): OfferedAction {
  const output: ActionField = {
    name: 'output',
    label: 'Output',
    kind: 'json',
    hint: 'JSON. Of SUCCEEDED only.',
  }
  return {
    label: 'Force',
    action: {
      title: 'Force the state',
      says: 'It has that state, whatever its workers report.',
      operation: 'jobs.force',
      input: { ...place },
      fields: [
        {
          name: 'to',
          label: 'State',
          kind: to,
          value: to.includes('FAILED') ? 'FAILED' : (to[0] ?? ''),
        },
        ...(to.includes('SUCCEEDED') ? [output] : []),
      ],
      isGrave: true,
    },
  }
}

function editedFrom(input: string): Pick<ActionField, 'value' | 'isEdited'> {
  return input === '' ? {} : { value: input, isEdited: true }
}

/** Of the steps that are kept, so many nearest to the one that it runs from have fields. */
const MOST_STEP_FIELDS = 20

function rerun(
  { job }: ActionPlace,
  { isWhole, from, effects }: ActionNamed<'rerun'>,
  given: string | null,
  values: ReadonlyMap<string, string>,
): OfferedAction {
  const first = isWhole ? '' : (from[0] ?? '')
  // Effects of the first run were made: whether to make them again is for a person to say.
  const again: ActionField = {
    name: 'effects',
    label: `Effects (${effects.slice(0, 5).join(', ')})`,
    kind: ['again'],
    hint: 'Again: they happen once more. Without it, nothing is run.',
  }
  const fields = (filled: Filled): readonly ActionField[] => {
    const chosen = filled['from'] ?? first
    const kept = from.slice(0, Math.max(0, from.indexOf(chosen)))
    const edited = stepFields(kept, values)
    const step: ActionField = {
      name: 'from',
      label: 'From this step on',
      kind: from,
      value: first,
      hint: stepHint(chosen, kept.length, edited.length, isWhole),
    }
    const input: ActionField = {
      name: 'input',
      label: 'Another input',
      kind: 'json',
      ...editedFrom(given ?? ''),
      hint:
        kept.length === 0
          ? 'JSON. Left as it is, it stays.'
          : 'JSON. Left as it is, it stays. With another one, too, the steps before keep the values that were made of this one.',
    }
    return [
      ...(from.length === 0 ? [] : [step]),
      ...(given !== null && (isWhole || chosen !== '') ? [input] : []),
      ...edited,
      ...(effects.length === 0 ? [] : [again]),
    ]
  }
  return {
    label: 'Run again',
    action: {
      title: 'Run the job again',
      says: 'A new job runs, which points to this one.',
      operation: 'jobs.rerun',
      input: { job },
      fields,
    },
  }
}

function stepHint(from: string, kept: number, shown: number, isWhole: boolean): string {
  if (from === '') return isWhole ? 'Empty: from the beginning.' : ''
  if (kept === 0) return 'There are none before it to keep.'
  if (shown === kept) return 'Steps before it keep their values, or those that you write.'
  return `Steps before it keep their values. ${shown} of ${kept} can be changed here: the others are not in the history that is shown, are too long, or are no values.`
}

/** A file that was written has a record, which no value stands in for. */
const OF_FILES = /^artifact(?:-reused)?:/

function stepFields(
  kept: readonly string[],
  values: ReadonlyMap<string, string>,
): readonly ActionField[] {
  const known = kept.filter((name) => !OF_FILES.test(name) && isEditable(values.get(name)))
  return known.slice(-MOST_STEP_FIELDS).map((name) => ({
    name: `step ${name}`,
    label: `Value of step ${name}`,
    kind: 'json',
    value: values.get(name) ?? '',
    isEdited: true,
    within: { object: 'steps', name },
  }))
}

function isEditable(value: string | undefined): boolean {
  return value !== undefined && value.length <= MOST_EDITED
}

/** Of a commit, by its place there, as the reader has seen it: no later start of it is meant. */
interface EffectOf {
  readonly effect: number
  readonly start: number
  readonly name: string
  /** Of several with this name, which, from 1; null: it is the only one. */
  readonly nth: number | null
}

function namedAt(names: readonly string[], effect: number): Pick<EffectOf, 'name' | 'nth'> {
  const name = names[effect] ?? String(effect)
  const alike = [...names.keys()].filter((i) => names[i] === name)
  return { name, nth: alike.length > 1 ? alike.indexOf(effect) + 1 : null }
}

/** Behind a name that several effects have. */
export function nthText(nth: number | null): string {
  return nth === null ? '' : ` (no. ${nth})`
}

function resolve(given: ActionPlace, of: EffectOf): OfferedAction {
  // It names the start of the effect that it is about, and no attempt.
  const { attempt: _, ...place } = given
  return {
    label: `Say what became of ${of.name.slice(0, 40)}${nthText(of.nth)}`,
    action: resolveAction(place, of),
  }
}

const LOOK_OUTSIDE = 'Look outside first: it may have happened, or not.'
const OUTCOMES = {
  happened: { title: 'happened', says: 'It counts as done.' },
  again: { title: 'is to run again', says: 'It runs again: if it did happen, it happens twice.' },
} as const

/** Without an outcome, the dialog asks for it. */
export function resolveAction(
  place: Omit<ActionPlace, 'attempt'>,
  { effect, start, name, nth }: EffectOf,
  outcome?: keyof typeof OUTCOMES,
): Action {
  const common = { operation: 'jobs.resolve', isGrave: true } as const
  const which = `${name}${nthText(nth)}`
  if (outcome === undefined) {
    return {
      ...common,
      title: `Say what became of effect ${which}`,
      says: `${LOOK_OUTSIDE} Happened: it counts as done. Again: it runs again.`,
      input: { ...place, effect, start },
      fields: [{ name: 'outcome', label: 'Outcome', kind: ['happened', 'again'] }],
    }
  }
  const { title, says } = OUTCOMES[outcome]
  return {
    ...common,
    title: `Say that effect ${which} ${title}`,
    says: `${LOOK_OUTSIDE} ${says}`,
    input: { ...place, effect, outcome, start },
  }
}
