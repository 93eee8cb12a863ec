/** A job that was erased and forgotten: until the directory is compacted its log has it, and no reader shows it. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Bench } from '../../../test/support/directory-bench.ts'
import { temporaryFolder } from '../../../test/support/engines.ts'
import { onRecord, pipeline, plain, stage } from '../../../test/support/specs.ts'
import type { Command, JobSpec } from '../../kernel/index.ts'
import { listCheckpoints } from '../../log/index.ts'
import type { DirectoryOptions } from '../index.ts'
import { copyStore, stateAt } from '../index.ts'

const OPTIONS: Partial<DirectoryOptions> = { historyMs: Infinity }

const KINDS: Readonly<Record<string, (input: string) => JobSpec>> = {
  'a plain job': (input) => plain({ input: JSON.stringify(input) }),
  'a pipeline': (input) => pipeline([stage('one')], { input: JSON.stringify(input) }),
}

/** A job that ends; its reason quotes what it was given. */
function ended(spec: JobSpec, text: string): Command[] {
  return [
    { type: 'SubmitJob', job: 'a', spec },
    { type: 'CancelJob', job: 'a', by: 'ops', reason: `because of ${text}` },
  ]
}

const forget = (endedBefore: number): Command => ({ type: 'ForgetJob', job: 'a', endedBefore })

/** Three jobs with one id, of which the second is erased, step by step. */
function steps(spec: (input: string) => JobSpec): ((now: number) => Command[])[] {
  return [
    () => ended(spec('the-first'), 'the-first'),
    (now) => [forget(now)],
    () => ended(spec('a-secret'), 'a-secret'),
    () => [{ type: 'EraseJob', job: 'a', ...onRecord }],
    (now) => [forget(now)],
    () => ended(spec('the-third'), 'the-third'),
  ]
}

/** All entries, as text. */
async function watched({ store }: Bench): Promise<string> {
  await store.execute([{ type: 'PauseQueue', queue: 'the-end', ...onRecord }])
  const seen: unknown[] = []
  for await (const one of store.watch(0)) {
    seen.push(one)
    if (one.entry.type === 'QueuePaused') return JSON.stringify(seen)
  }
  throw new Error('The watch ended.')
}

/** The job and the list of a moment, as text. */
async function shownAt({ store }: Bench, position: number): Promise<string> {
  const past = await store.at({ position })
  const shown: unknown[] = [await past.job('a')]
  for await (const one of past.jobs({})) shown.push(one)
  return JSON.stringify(shown)
}

const OFFLINE = { own: async () => ({ release: async () => undefined }) }

describe.each(Object.keys(KINDS))('%s that was erased and forgotten', (name) => {
  const all = steps(KINDS[name] as (input: string) => JobSpec)
  // With a checkpoint after one of the steps, after none, and after each.
  const made = ['none', ...[...all.keys()].map(String), [...all.keys()].join(' and ')]

  it.each(made)(
    'is shown by no reader, and other jobs of its id are (checkpoints after step %s)',
    async (checkpoints) => {
      const bench = await new Bench().open(OPTIONS)
      const moments: number[] = []
      for (const [step, commandsAt] of all.entries()) {
        bench.now += 1_000
        const commands = commandsAt(bench.now)
        const answers = await bench.store.execute(commands)
        expect(answers.map(({ verdict }) => verdict)).toEqual(commands.map(() => 'committed'))
        const history = await bench.store.query({ kind: 'history', job: 'a', limit: 9 })
        moments.push(history.at(-1)?.position ?? 0)
        if (checkpoints.includes(String(step))) await bench.store.checkpoint()
      }
      const [first, , erased, , , third] = moments as [number, 0, number, number, 0, number]
      const check = async (opened: Bench): Promise<void> => {
        const entries = await watched(opened)
        expect(entries).not.toContain('a-secret')
        expect(entries).toContain('because of the-first')
        expect(entries).toContain('the-third')
        const then = await shownAt(opened, erased)
        expect(then).not.toContain('a-secret')
        expect(then).toContain('"state":"FAILED"')
        expect(await shownAt(opened, first)).toContain('the-first')
        expect(await shownAt(opened, third)).toContain('the-third')
      }
      await check(bench)
      await bench.store.close()
      const offline = { ...OFFLINE, disk: bench.disk }
      for (const [position, input] of [
        [first, '"the-first"'],
        [erased, 'null'],
        [third, '"the-third"'],
      ] as const) {
        const { world } = await stateAt('/store', { position }, offline)
        expect(JSON.stringify([...world.jobs, ...world.tasks])).not.toContain('a-secret')
        expect(world.jobs.get('a')?.spec.input).toBe(input)
      }
      const file = join(await temporaryFolder(), 'jobs.db')
      await copyStore('/store', `sqlite:${file}`, { from: offline })
      const copied = await readFile(file, 'latin1')
      expect(copied).not.toContain('a-secret')
      expect(copied).toContain('the-first')
      await check(await new Bench(bench.disk.clone()).open(OPTIONS))
    },
  )

  it('is not remembered once the directory is compacted', async () => {
    const bench = await new Bench().open(OPTIONS)
    for (const commandsAt of all) {
      bench.now += 1_000
      await bench.store.execute(commandsAt(bench.now))
    }
    await bench.store.compact()
    const files = bench.disk.paths().filter((path) => bench.disk.bytesOf(path).includes('a-secret'))
    expect(files).toEqual([])
    await bench.store.close()
    const { manifests } = await listCheckpoints(bench.disk, '/store')
    expect(manifests[0]?.erased).toEqual([])
  })
})
