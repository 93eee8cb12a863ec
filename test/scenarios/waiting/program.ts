/**
 * A process that submits a job, works on it, and sends it the message that it waits for; all of it can be done
 * again by another one. It kills itself where it is told to, and else says what the job resulted in.
 */
import { open } from '../../../src/index.ts'
import type { Command } from '../../../src/kernel/index.ts'
import { CommandBatcher } from '../../../src/store/command-batcher.ts'
import type { SharedPlace } from '../shared/places.ts'
import { approval, double, refund } from './jobs.ts'

export interface KillPoint {
  readonly command: Command['type']
  /** BEFORE it is sent, or AFTER it is answered. */
  readonly when: 'before' | 'after'
  /** The how manieth of its kind. */
  readonly nth: number
}

export interface WaitingTask extends SharedPlace {
  readonly kill: KillPoint | null
  /** The message is sent BEFORE the job begins. */
  readonly isEarly: boolean
}

const task = JSON.parse(process.argv[2] ?? '') as WaitingTask
const { location, options, kill, isEarly } = task
let seen = 0

function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => undefined)
}

async function around<T>(commands: readonly Command[], run: () => Promise<T>): Promise<T> {
  const isHit = commands.some(({ type }) => type === kill?.command) && (seen += 1) === kill?.nth
  if (isHit && kill?.when === 'before') return die()
  const answer = await run()
  return isHit ? die() : answer
}

// oxlint-disable-next-line typescript/unbound-method -- called with the batcher that it is of
const { send, sendAll } = CommandBatcher.prototype
CommandBatcher.prototype.send = function (command) {
  return around([command], () => send.call(this, command))
}
CommandBatcher.prototype.sendAll = function (commands) {
  return around(commands, () => sendAll.call(this, commands))
}

const pawl = await open(location, options)
const handle = await pawl.submit(refund, undefined, { id: 'job' })
const message = { id: 'm1', by: 'ada' }
const isOver = async (): Promise<boolean> => (await handle.state()) === 'SUCCEEDED'
if (isEarly && !(await isOver())) await pawl.send('job', approval, 21, message)
pawl.work([refund, double], { poll: 50 })
if (!isEarly) {
  while ((await handle.state()) !== 'SUSPENDED' && !(await isOver())) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  if (!(await isOver())) await pawl.send('job', approval, 21, message)
}
console.log(JSON.stringify(await handle.result()))
await pawl.close()
