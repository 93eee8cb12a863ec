/**
 * Runs a golden trace: a story that a person wrote as commands and comments, told again with
 * what the kernel made of it written beneath each command.
 *
 * Lines that are indented are output. They are dropped when a trace is read and written anew
 * when it is run, so a trace is right when running it gives the same text.
 */
import type { Decision } from '../../../src/kernel/index.ts'
import { findTask } from '../../../src/kernel/index.ts'
import { Authority } from '../../support/authority.ts'
import { describeAnswer, describeEntry, describeTask } from './describe.ts'
import { Line, readable } from './line.ts'
import type { States } from './states.ts'
import { changes, Names, statesOf } from './states.ts'
import { Scene, VERBS } from './vocabulary.ts'

export interface Told {
  readonly text: string
  readonly authority: Authority
}

export interface Telling {
  /** Send every command this many times; only what the first one gets is written down. */
  readonly times: number
  /** Told of every further answer to the same command. */
  readonly onRepeat: (line: string, first: Decision, again: Decision) => void
}

const ONCE: Telling = { times: 1, onRepeat: () => {} }

export function tell(text: string, telling: Telling = ONCE): Told {
  const authority = new Authority()
  const teller = new Teller(new Scene(authority), telling)
  const lines = text.split('\n').filter((line) => !line.startsWith('  '))
  const told = lines.flatMap((line) => [line].concat(teller.play(line).map((out) => `  ${out}`)))
  return { text: told.join('\n'), authority }
}

/** The first line of a trace is the rule that it shows. */
export function titleOf(text: string): string {
  return /^# (.*)/.exec(text)?.[1] ?? ''
}

class Teller {
  readonly #scene: Scene
  readonly #telling: Telling
  #states: States = new Map()

  constructor(scene: Scene, telling: Telling) {
    this.#scene = scene
    this.#telling = telling
  }

  /** What happened, line by line. */
  play(text: string): string[] {
    if (text === '' || text.startsWith('#')) return []
    const line = new Line(text)
    if (this.#scene.define(line)) return []
    if (line.verb === 'wait') return this.#wait(line)
    if (line.verb === 'show') return this.#show(line)
    return this.#send(line, text)
  }

  #wait(line: Line): string[] {
    this.#scene.authority.advance(line.milliseconds(line.word('duration')))
    line.end()
    return [`now     ${readable(this.#scene.authority.now)}`, ...this.#changes()]
  }

  #show(line: Line): string[] {
    const { job, stage, segment } = this.#scene.address(line.word('task'))
    line.end()
    const task = findTask(this.#scene.authority.world, job, stage, segment)
    return [`task    ${task === undefined ? 'none' : describeTask(task)}`]
  }

  #send(line: Line, text: string): string[] {
    const { authority } = this.#scene
    const command = VERBS[line.verb]?.(line, this.#scene) ?? line.fail('has no known verb')
    line.end()
    const decision = authority.send(command)
    for (let time = 1; time < this.#telling.times; time++) {
      this.#telling.onRepeat(text, decision, authority.send(command))
    }
    const entry = decision.entry
    const changed = this.#changes()
    return [
      ...(entry === null ? [] : [`entry   ${describeEntry(entry, new Names(authority.world))}`]),
      `answer  ${describeAnswer(decision)}`,
      ...(changed.length === 0 ? ['state   unchanged'] : changed),
    ]
  }

  #changes(): string[] {
    const before = this.#states
    this.#states = statesOf(this.#scene.authority)
    return changes(before, this.#states)
  }
}
