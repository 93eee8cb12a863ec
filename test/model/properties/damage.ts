/** Commands that are slightly wrong: another number or name, a field that is garbage or double. */
import type { Command, StageSpec } from '../../../src/kernel/index.ts'
import type { Dice } from './dice.ts'
import { JOBS, WORKERS } from './random-specs.ts'

type Fields = Record<string, unknown>

const NUMBERS = [
  'stage',
  'segment',
  'lease',
  'extension',
  'effect',
  'start',
  'attempt',
  'tick',
  'endedBefore',
  'request',
  'definitionVersion',
  'offset',
  'delayMs',
]

const GARBAGE: readonly unknown[] = [
  undefined,
  null,
  '',
  'x'.repeat(300),
  -1,
  1.5,
  Number.NaN,
  2 ** 53,
  true,
  [],
  {},
  [null],
]

/** One number or name is another one; still well formed. */
export function mutated(dice: Dice, command: Command): Command {
  const fields = command as unknown as Fields
  const numbers = NUMBERS.filter((name) => typeof fields[name] === 'number')
  if ('worker' in command && dice.chance(25)) return { ...command, worker: dice.pick(WORKERS) }
  if (numbers.length > 0 && dice.chance(80)) {
    const name = dice.pick(numbers)
    const value = (fields[name] as number) + dice.pick([-2, -1, -1, 1, 1, 2])
    return {
      ...fields,
      [name]: Math.max(name === 'extension' ? 1 : 0, value),
    } as unknown as Command
  }
  return 'job' in command ? { ...command, job: dice.pick(JOBS) } : command
}

/** One field, anywhere in the command, is garbage or gone. */
export function damaged(dice: Dice, command: Command): Command {
  if (dice.chance(5)) return dice.pick<unknown>([null, 7, {}, { type: 'Nonsense' }]) as Command
  const stages = command.type === 'SubmitJob' ? command.spec.stages : null
  if (command.type === 'SubmitJob' && stages !== null && dice.chance(40)) {
    return { ...command, spec: { ...command.spec, stages: misshapen(dice, stages) } }
  }
  return damagedObject(dice, command as unknown as Fields) as unknown as Command
}

/** Stages of the right kind that make no pipeline: a bad name, a cycle, something dangling. */
function misshapen(dice: Dice, stages: readonly StageSpec[]): StageSpec[] {
  const [first, ...others] = stages as [StageSpec, ...StageSpec[]]
  const final = (stages.at(-1) as StageSpec).name
  switch (dice.below(6)) {
    case 0:
      return [{ ...first, name: dice.pick(['', 'input', 'a.b', final]) }, ...others, first]
    case 1:
      return [{ ...first, after: [dice.pick([first.name, final, 'nowhere'])] }, ...others]
    case 2:
      return [{ ...first, each: dice.pick([first.name, final, 'nowhere', '']) }, ...others]
    case 3:
      return [{ ...first, onFailure: true }, ...others]
    case 4:
      return [...others, { ...first, name: 'late', after: ['rescue'] }]
    default:
      return []
  }
}

function damagedObject(dice: Dice, object: Fields): Fields {
  const name = dice.chance(8) ? 'stranger' : dice.pick(Object.keys(object))
  return { ...object, [name]: damagedValue(dice, object[name]) }
}

function damagedValue(dice: Dice, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || dice.chance(15)) return dice.pick(GARBAGE)
  if (!Array.isArray(value)) {
    return Object.keys(value).length === 0
      ? dice.pick(GARBAGE)
      : damagedObject(dice, value as Fields)
  }
  if (value.length === 0) return dice.pick(GARBAGE)
  const index = dice.below(value.length)
  if (dice.chance(15)) return [...value, value[index]] as unknown[]
  return value.map((one: unknown, i) => (i === index ? damagedValue(dice, one) : one))
}
