/**
 * Submits that are alike are decided and written together: what is in the log and in memory then is what each would have
 * made by itself.
 */
import { describe, expect, it } from 'vitest'
import { Bench } from '../../../test/support/directory-bench.ts'
import { plain, policy } from '../../../test/support/specs.ts'
import type { JobSpec, SubmitJob } from '../../kernel/index.ts'
import { freezePolicy } from '../../kernel/index.ts'
import type { Store } from '../index.ts'
import { bytesFor, bytesForAlike } from './size-estimate.ts'

const COUNT = 40
const SHARED = freezePolicy(policy())

function submits(name: string, changes: Partial<JobSpec> = {}, count = COUNT): SubmitJob[] {
  return Array.from({ length: count }, (_, i) => {
    const input = JSON.stringify({ of: `${name} ${i} é \ud83d` })
    const spec = plain({ input, policy: SHARED, ...changes })
    return { type: 'SubmitJob', job: `${name}-${i}`, spec }
  })
}

async function entriesOf(store: Store, count: number): Promise<unknown[]> {
  const entries: unknown[] = []
  for await (const { entry } of store.watch(0)) {
    if (entries.push(entry) === count) break
  }
  return entries
}

async function verdicts(store: Store, commands: readonly SubmitJob[]): Promise<string[]> {
  const answers = await store.execute(commands)
  return answers.map(({ verdict, rejection }) => rejection?.code ?? verdict)
}

describe('submits that are alike', () => {
  it('make the entries, the counts and the bytes that each would make by itself', async () => {
    const [together, singly] = [await new Bench().open(), await new Bench().open()]
    const answers = await together.store.execute(submits('one'))
    const alone = []
    for (const command of submits('one')) alone.push(...(await singly.store.execute([command])))
    expect(answers).toEqual(alone)
    const entries = await entriesOf(together.store, COUNT)
    expect(entries).toEqual(await entriesOf(singly.store, COUNT))
    for (const kind of ['counts', 'metrics'] as const) {
      const asked = kind === 'counts' ? ({ kind, by: 'type', limit: 9 } as const) : { kind }
      const [one, other] = [await together.store.query(asked), await singly.store.query(asked)]
      expect(withoutTimes(one)).toEqual(withoutTimes(other))
    }
    // What follows from the log alone is the same.
    const again = await new Bench(together.disk.crash('everything')).open()
    expect(await entriesOf(again.store, COUNT)).toEqual(entries)
    const jobs = await again.store.query({ kind: 'jobs', limit: COUNT })
    expect(jobs).toEqual(await together.store.query({ kind: 'jobs', limit: COUNT }))
    expect(await again.finish(COUNT)).toEqual(submits('one').map(({ job }) => job))
  })

  it('are answered as the first time when they come again, and refused with other content', async () => {
    const { store } = await new Bench().open()
    await store.execute(submits('one'))
    const again = [...submits('new', {}, 10), ...submits('one'), ...submits('newer', {}, 10)]
    expect(new Set(await verdicts(store, again))).toEqual(new Set(['committed']))
    const other = await verdicts(store, submits('one', { input: '"other"' }))
    expect(new Set(other)).toEqual(new Set(['IdReused']))
    const { entries } = await store.query({ kind: 'metrics' })
    expect(entries.JobSubmitted).toBe(COUNT + 20)
  })

  it('are told apart where one has the id of a job that is over, also behind a checkpoint', async () => {
    const bench = await new Bench().open()
    const { store } = bench
    const [first, ...others] = submits('one') as [SubmitJob, ...SubmitJob[]]
    await store.execute([first])
    await bench.finish(1)
    const twin = { ...first, spec: { ...first.spec, input: '"other"' } }
    expect(await verdicts(store, [twin, ...others.slice(0, 9)])).toEqual([
      'IdReused',
      ...Array.from({ length: 9 }, () => 'committed'),
    ])
    await store.checkpoint()
    expect((await verdicts(store, [...others, twin])).at(-1)).toBe('IdReused')
  })

  it('ask for as much room as each by itself', () => {
    const commands = submits('one')
    const alone = commands.reduce((sum, command) => sum + bytesFor(command), 0)
    expect(bytesForAlike(commands)).toBe(alone)
    expect(bytesForAlike([])).toBe(0)
  })
})

/** How long something took is not the same twice. */
function withoutTimes(answer: object): object {
  const { durableUs: _, ...others } = answer as { durableUs?: unknown }
  return others
}
