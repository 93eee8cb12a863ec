/**
 * The terms of a schedule: what its job takes, and one of cron and every.
 */
import type {
  Pawl,
  ScheduleHandle,
  ScheduleInfo,
  UnreadableScheduleInfo,
} from '../../../src/index.ts'
import { job, typed } from '../../../src/index.ts'
import type { Equal, Expect } from './equal.ts'

const plain = job('plain', { run: () => 1 })
const report = job('report', { input: typed<{ day: string }>(), run: () => 1 })

export async function schedules(pawl: Pawl): Promise<unknown> {
  const handle = await pawl.schedule('a', { job: plain, cron: '0 3 * * *', timezone: 'UTC' })
  await pawl.schedule('a', { job: report, input: { day: 'x' }, every: '1h', missed: 'all' })
  await pawl.schedule('a', { job: plain, every: 5_000, start: new Date(0), end: 5, queue: 'q' })
  // @ts-expect-error -- its job needs an input
  await pawl.schedule('a', { job: report, every: '1h' })
  // @ts-expect-error -- of this kind
  await pawl.schedule('a', { job: report, input: { day: 1 }, every: '1h' })
  // @ts-expect-error -- its job takes none
  await pawl.schedule('a', { job: plain, input: 'x', every: '1h' })
  // @ts-expect-error -- when?
  await pawl.schedule('a', { job: plain })
  // @ts-expect-error -- one of both
  await pawl.schedule('a', { job: plain, every: '1h', cron: '0 3 * * *' })
  // @ts-expect-error -- an interval has no zone
  await pawl.schedule('a', { job: plain, every: '1h', timezone: 'UTC' })
  // @ts-expect-error -- no duration
  await pawl.schedule('a', { job: plain, every: 'hour' })
  // @ts-expect-error -- skip, once or all
  await pawl.schedule('a', { job: plain, every: '1h', missed: 'twice' })
  // @ts-expect-error -- it is due at its time
  await pawl.schedule('a', { job: plain, every: '1h', delay: '1m' })
  // @ts-expect-error -- no such option
  await pawl.schedule('a', { job: plain, every: '1h', catchUp: true })
  const list = await pawl.schedules()
  const { type } = list.find((one) => one.unreadable === null)!
  const times = await handle.nextTimes(3)
  const cases: [
    Expect<Equal<typeof handle, ScheduleHandle>>,
    Expect<Equal<typeof list, (ScheduleInfo | UnreadableScheduleInfo)[]>>,
    Expect<Equal<typeof type, string>>,
    Expect<Equal<typeof times, Date[]>>,
  ] = [true, true, true, true]
  return cases
}
