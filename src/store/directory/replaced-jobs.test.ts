/** What jobs were replaced with leaves memory once a checkpoint has it, and is read when it is asked for. */
import { expect, it } from 'vitest'
import { Bench } from '../../../test/support/directory-bench.ts'
import { onRecord, plain } from '../../../test/support/specs.ts'
import type { Command, Entry, Job } from '../../kernel/index.ts'
import type { Manifest } from '../../log/index.ts'
import { loadDirectory } from './load-directory.ts'
import { hasStoredInput } from '../state/job-with-stored-spec.ts'

function replace(job: string, replacement: string, input: string): Command {
  const terms = { replacement, input: JSON.stringify(input), delayMs: 0, dueAt: null }
  return {
    type: 'ReplaceJob',
    job,
    definitionVersion: 1,
    ...terms,
    by: 'client',
    reason: '',
  }
}

async function inputOf({ store }: Bench, job: string): Promise<string | undefined> {
  return (await store.query({ kind: 'job', job }))?.job.replaced?.input
}

it('is read from the newest checkpoint, until the job is replaced again', async () => {
  const bench = await new Bench().open()
  const spec = plain({ input: '"first"' })
  await bench.store.execute([{ type: 'SubmitJob', job: 'a', spec }])
  const send = async (...commands: Command[]): Promise<void> => {
    for (const { verdict, rejection } of await bench.store.execute(commands)) {
      expect(verdict, rejection?.message).toBe('committed')
    }
  }
  await bench.store.checkpoint()
  await send(replace('a', 'r1', 'second'))
  expect(await inputOf(bench, 'a')).toBe('"second"')
  bench.reads()
  expect(await inputOf(bench, 'a')).toBe('"second"')
  expect([...bench.reads()]).toEqual([])
  await bench.store.checkpoint()
  bench.reads()
  expect(await inputOf(bench, 'a')).toBe('"second"')
  expect([...bench.reads()]).toEqual(['live'])
  await send(replace('a', 'r2', 'third'))
  expect(await inputOf(bench, 'a')).toBe('"third"')
  for (let i = 0; i < 2; i++) await bench.store.checkpoint()
  expect(await inputOf(bench, 'a')).toBe('"third"')
  await bench.store.close()

  const { state, manifests } = await loadDirectory(bench.disk, '/store', () => undefined)
  const { ledger, live, specs } = state
  const job = ledger.inMemory('a') as Job
  expect(hasStoredInput(job)).toBe(true)
  const { version, dueAt } = job
  const terms = { replacement: 'r3', input: '"fourth"', definitionVersion: 1, ...onRecord }
  const entry: Entry = {
    type: 'JobReplaced',
    at: 2_000,
    version: version + 1,
    job: 'a',
    dueAt,
    ...terms,
  }
  // Behind the checkpoint it stays in memory; once one has it, it leaves.
  const { position } = manifests[0] as Manifest
  for (const [at, isStored] of [
    [position + 8, false],
    [position - 8, true],
  ] as const) {
    job.version = version
    state.replayEntry(entry, at)
    expect(job.replaced?.input).toBe('"fourth"')
    await specs.unloadSpecs(ledger, live, 0)
    expect(hasStoredInput(job)).toBe(isStored)
  }
  await state.close()

  const again = await new Bench(bench.disk.clone()).open()
  expect(await inputOf(again, 'a')).toBe('"third"')
  expect(await again.finish(1)).toEqual(['a'])
  await again.store.checkpoint()
  expect(await inputOf(again, 'a')).toBe('"third"')
})
