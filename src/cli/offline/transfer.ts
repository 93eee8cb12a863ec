/**
 * `export` and `import`: jobs as lines of JSON. What `export` writes, and any line that `submit` would take, `import`
 * hands in. A line with an id or a key can be handed in twice: it is the same job.
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Writable } from 'node:stream'
import { readExactly, writeExactly } from '../../definition/exact-json.ts'
import { contract, inexactFault, jsonWith, typed } from '../../definition/index.ts'
import type { AnyJob } from '../../definition/index.ts'
import type { JobInfo, Pawl, SubmitOptions } from '../../engine/index.ts'
import { inexactNumber, isFinal, PawlError } from '../../kernel/index.ts'
import type { JobState } from '../../kernel/index.ts'
import { misfit, OPERATIONS } from '../../protocol/index.ts'
import type { CliCommand } from '../command.ts'
import type { CommandCall } from '../command-call.ts'
import { argument, hasFlag, textOption } from '../command-call.ts'
import { WrongUsage } from '../failure.ts'
import { Progress } from '../progress.ts'
import { withStore } from '../store-session.ts'

const PAGE = 500

/** As `submit` takes it, with how it stood. */
function lineOf(job: JobInfo): string {
  const { id, type, version, input, queue, priority, key, group, tags, metadata, state } = job
  const { output, error, submittedAt, completedAt, attempt, stages, exact = {} } = job
  const line = {
    id,
    type,
    version,
    input: input ?? null,
    ...(queue === null ? {} : { queue }),
    ...(priority === 0 ? {} : { priority }),
    ...(key === null ? {} : { key }),
    ...(group === null ? {} : { group }),
    ...(tags.length === 0 ? {} : { tags }),
    ...(metadata === undefined ? {} : { metadata }),
    was: null,
  }
  const was = {
    state,
    attempt,
    submittedAt,
    completedAt,
    ...(output === undefined ? {} : { output }),
    ...(error === null ? {} : { error: error.message }),
    ...(stages.length === 0 ? {} : { stages: stages.map(({ name }) => name) }),
    ...(job.erased === null ? {} : { isErased: true }),
  }
  const { input: givenText, metadata: metadataText, output: outputText } = exact
  const texts = { input: givenText, metadata: metadataText }
  const oneLine = jsonWith(line, { ...texts, was: jsonWith(was, { output: outputText }) })
  // A text that another program recorded may have line ends between its values, and has none within them.
  return oneLine.replaceAll(/[\r\n]+/g, ' ')
}

function written(sink: Writable, text: string): Promise<void> | undefined {
  return sink.write(text) ? undefined : new Promise((resolve) => sink.once('drain', resolve))
}

async function exportJobs(pawl: Pawl, sink: Writable, filter: object): Promise<number> {
  const progress = new Progress('exporting')
  let count = 0
  let after: number | null = 0
  while (after !== null) {
    const page = await pawl.list({ ...filter, after, limit: PAGE })
    const infos = await Promise.all(page.jobs.map(({ id }) => pawl.get(id)))
    for (const info of infos) {
      // It was forgotten meanwhile.
      if (info === null) continue
      await written(sink, `${lineOf(info)}\n`)
      count += 1
    }
    progress.update(count)
    after = page.next
  }
  progress.end()
  return count
}

export const EXPORT: CliCommand = {
  name: 'export',
  group: 'store',
  says: 'Writes jobs as lines of JSON, each as `import` takes it, with how it stood',
  details:
    'To stdout, or to a file. For a copy of a store with all of its history, use `copy` or `backup`.',
  arguments: [{ name: 'file', says: 'Where to; stdout, if it is left out', isRequired: false }],
  options: [
    { flags: '--type <type>', says: 'Only jobs of this type' },
    { flags: '--state <state>', says: 'Only jobs in this state' },
    { flags: '--queue <queue>', says: 'Only jobs of this queue' },
    { flags: '--tag <tag>', says: 'Only jobs with this tag' },
  ],
  examples: ['export jobs.jsonl --state QUEUED', "export | jq 'select(.was.attempt > 3)'"],
  run: (call) =>
    withStore(call, async (pawl) => {
      const { file } = call.given
      const names = ['type', 'state', 'queue', 'tag']
      const filter = Object.fromEntries(
        names.map((name) => [name, textOption(call, name)]).filter(([, one]) => one !== undefined),
      ) as object
      if (file === undefined) {
        await exportJobs(pawl, process.stdout, filter)
        return
      }
      const sink = createWriteStream(file, { flags: 'wx', mode: 0o600 })
      await new Promise<void>((resolve, reject) => {
        sink.once('open', () => resolve())
        sink.once('error', (error) =>
          reject(new WrongUsage(`${file} cannot be written: ${error.message}`)),
        )
      })
      const count = await exportJobs(pawl, sink, filter)
      await new Promise<void>((resolve) => sink.end(() => resolve()))
      return {
        report: { value: { file, jobs: count }, text: () => `Wrote ${count} jobs to ${file}.` },
      }
    }),
}

interface Imported {
  readonly submitted: number
  /** Lines of jobs that are over, or that a worker or a person has: they would run twice. */
  readonly skipped: number
  readonly refused: readonly { readonly line: number; readonly why: string }[]
}

/** A job that has begun elsewhere is not begun again here, unless that is asked for. */
const NOT_BEGUN: ReadonlySet<JobState> = new Set(['CREATED', 'QUEUED', 'RETRYING'])

interface ImportLine {
  readonly number: number
  readonly definition: AnyJob
  readonly input: unknown
  readonly options: SubmitOptions
}

/** Null: it is passed over. Throws what is wrong with it. */
function readLine(text: string, number: number, isAll: boolean): ImportLine | null {
  const given = parsed(text, number)
  const { was, ...rest } = given
  const state = (was as { state?: JobState } | undefined)?.state
  if (state !== undefined && !isAll && !NOT_BEGUN.has(state)) return null
  if ((was as { stages?: unknown } | undefined)?.stages !== undefined) {
    throw new WrongUsage(`Line ${number} is a pipeline: only a definition can submit one.`)
  }
  if (state !== undefined && isFinal(state)) delete rest['key']
  const inexact = inexactFault(submittedPart(text), `Line ${number}`)
  if (inexact !== null) throw new WrongUsage(inexact)
  const fault = misfit(OPERATIONS['jobs.submit'].input, rest)
  if (fault !== null) throw new WrongUsage(`Line ${number}: ${fault}`)
  const { type, input = null, version, lease, timeout, retry, ...options } = rest
  const policy = Object.entries({ version, lease, timeout, retry }).filter(
    ([, value]) => value !== undefined,
  )
  return {
    number,
    definition: contract(type as string, {
      input: typed<unknown>(),
      ...Object.fromEntries(policy),
    }) as AnyJob,
    input,
    options,
  }
}

/** Of a line, without how the job stood: that is not submitted. */
function submittedPart(text: string): string {
  if (inexactNumber(text) === null) return text
  const { was: _, ...rest } = readExactly(text) as Record<string, unknown>
  return writeExactly(rest)
}

function parsed(text: string, number: number): Record<string, unknown> {
  try {
    const given: unknown = JSON.parse(text)
    if (typeof given === 'object' && given !== null && !Array.isArray(given)) {
      return given as Record<string, unknown>
    }
  } catch (error) {
    throw new WrongUsage(`Line ${number} is no JSON: ${(error as Error).message}`)
  }
  throw new WrongUsage(`Line ${number} is no object, such as { "type": "mail", "input": 7 }.`)
}

const MOST_REFUSED = 100

/** Lines are submitted some hundred at once; one that is refused does not stop the others. */
class Importer {
  readonly #pawl: Pawl
  readonly #progress = new Progress('importing')
  readonly #refused: { line: number; why: string }[] = []
  #refusals = 0
  #submitted = 0
  #skipped = 0
  #batch: ImportLine[] = []

  constructor(pawl: Pawl) {
    this.#pawl = pawl
  }

  async add(text: string, number: number, isAll: boolean): Promise<void> {
    try {
      const line = readLine(text, number, isAll)
      if (line === null) this.#skipped += 1
      else this.#batch.push(line)
    } catch (error) {
      this.#refuse(number, error)
    }
    if (this.#batch.length >= PAGE) await this.flush()
  }

  async flush(): Promise<void> {
    const batch = this.#batch
    this.#batch = []
    const submitted = await Promise.allSettled(
      batch.map(({ definition, input, options }) => this.#pawl.submit(definition, input, options)),
    )
    submitted.forEach((one, i) => {
      if (one.status === 'fulfilled') this.#submitted += 1
      else this.#refuse((batch[i] as ImportLine).number, one.reason)
    })
    this.#progress.update(this.#submitted)
  }

  end(): Imported & { readonly refusals: number } {
    this.#progress.end()
    const [submitted, skipped] = [this.#submitted, this.#skipped]
    return { submitted, skipped, refusals: this.#refusals, refused: this.#refused }
  }

  /** What is no fault of the line ends the whole. */
  #refuse(line: number, error: unknown): void {
    const isOfLine =
      error instanceof WrongUsage || (error instanceof PawlError && error.kind === 'rejected')
    if (!isOfLine) throw error
    this.#refusals += 1
    if (this.#refused.length < MOST_REFUSED) this.#refused.push({ line, why: error.message })
  }
}

export const IMPORT: CliCommand = {
  name: 'import',
  group: 'store',
  says: 'Submits jobs from lines of JSON: { "type", "input", "id", … }, as `export` writes them',
  details:
    'Jobs that began where they were exported, or are over, are passed over: they would run twice. A line with an id or a key can be imported again. Exit code 1: lines were refused.',
  arguments: [{ name: 'file', says: 'Lines of JSON; - for stdin' }],
  options: [
    { flags: '--all', says: 'Also jobs that began or are over: they run again. Asks first' },
  ],
  examples: ['import jobs.jsonl --store sqlite:jobs.db', 'import - < jobs.jsonl'],
  run: async (call) => {
    const isAll = hasFlag(call, 'all')
    if (isAll) await call.ask('Jobs that have begun, or are over, will run again.')
    const imported = await withStore(call, (pawl) => importFrom(call, pawl, isAll), {
      isMade: true,
    })
    const { submitted, skipped, refusals, refused } = imported
    return {
      exitCode: refusals === 0 ? 'done' : 'no',
      report: {
        value: imported,
        text: (styles) =>
          [
            `Submitted ${submitted}, passed over ${skipped}, refused ${refusals}.`,
            ...refused.map(({ line, why }) => `${styles.red('-')} ${line}: ${why}`),
          ].join('\n'),
      },
    }
  },
}

async function importFrom(
  call: CommandCall,
  pawl: Pawl,
  isAll: boolean,
): Promise<ReturnType<Importer['end']>> {
  const file = argument(call, 'file')
  const source = file === '-' ? process.stdin : createReadStream(file)
  const importer = new Importer(pawl)
  let number = 0
  try {
    for await (const text of createInterface({ input: source, crlfDelay: Infinity })) {
      number += 1
      if (text.trim() !== '') await importer.add(text, number, isAll)
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === undefined || !/^E[A-Z]+$/.test(code)) throw error
    throw new WrongUsage(`${file} cannot be read: ${message}`)
  }
  await importer.flush()
  return importer.end()
}
