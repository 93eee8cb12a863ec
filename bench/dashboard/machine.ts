/**
 * The process of the engine, as the bench sees it.
 */
import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { FromMachine, LoadName, ToMachine } from './order.ts'
import type { StoreAddress } from './stores.ts'

const PROGRAM = fileURLToPath(new URL('machine-process.js', import.meta.url))
const NODE_OPTIONS = ['--max-old-space-size=8192']

type Said<Is extends FromMachine['is']> = Extract<FromMachine, { readonly is: Is }>

export class Machine {
  readonly #child: ChildProcess
  /** How long it took to open the store. */
  readonly openedMs: number

  private constructor(child: ChildProcess, openedMs: number) {
    this.#child = child
    this.openedMs = openedMs
  }

  static async open(address: StoreAddress): Promise<Machine> {
    const child = fork(PROGRAM, [JSON.stringify(address)], { execArgv: NODE_OPTIONS })
    const end = (): void => void child.kill('SIGKILL')
    process.once('exit', end)
    child.once('exit', () => process.off('exit', end))
    const { ms } = await heard(child, 'open')
    return new Machine(child, ms)
  }

  load(jobs: number, say: (line: string) => void): Promise<unknown> {
    this.#child.on('message', (said: FromMachine) => {
      if (said.is === 'line') say(said.line)
    })
    return this.#ask({ do: 'load', jobs }, 'loaded')
  }

  /** The address of the page. */
  async serve(): Promise<string> {
    return (await this.#ask({ do: 'serve' }, 'served')).url
  }

  /** As a server does that notes figures over time. */
  look(count: number): Promise<Said<'worked'>> {
    return this.#ask({ do: 'look', count }, 'worked')
  }

  work(load: LoadName, ms: number): Promise<Said<'worked'>> {
    return this.#ask({ do: 'work', load, ms }, 'worked')
  }

  rest(ms: number): Promise<Said<'worked'>> {
    return this.#ask({ do: 'rest', ms }, 'worked')
  }

  async close(): Promise<void> {
    const ended = once(this.#child, 'exit')
    this.#tell({ do: 'close' })
    await ended
  }

  #tell(order: ToMachine): void {
    this.#child.send(order)
  }

  #ask<Is extends FromMachine['is']>(order: ToMachine, is: Is): Promise<Said<Is>> {
    this.#tell(order)
    return heard(this.#child, is)
  }
}

function heard<Is extends FromMachine['is']>(child: ChildProcess, is: Is): Promise<Said<Is>> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null): void => {
      reject(new Error(`The process of the engine ended with ${code}.`))
    }
    const listen = (said: FromMachine): void => {
      if (said.is !== is) return
      child.off('message', listen)
      child.off('exit', ended)
      resolve(said as Said<Is>)
    }
    child.on('message', listen)
    child.once('exit', ended)
  })
}
