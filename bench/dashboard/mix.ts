/**
 * The jobs that the dashboard bench looks at: of several types, in several queues, with tags. Most succeeded. The others
 * wait, run, are retried, ask a person, failed, or are in quarantine. There are pipelines with 10,000 segments.
 */
import type { JobDefinition, Pawl } from '../../src/index.ts'
import { job, message, pipeline, TerminalError, typed } from '../../src/index.ts'

const BATCH = 1_000
const AT_ONCE = 50
const LOOK_MS = 100
const SEGMENTS = 10_000
/** What is delayed, sleeps, or is tried again stays so while the bench runs. */
const LONG = '30d' as const

type Numbered = JobDefinition<string, number>

function succeeds(name: string, queue: string): Numbered {
  return job(name, { input: typed<number>(), queue, run: () => ({ ok: true }) })
}

const mail = succeeds('mail', 'mail')
const resize = succeeds('resize', 'media')
const charge = succeeds('charge', 'billing')
const search = succeeds('index', 'search')
const reports = Array.from({ length: 16 }, (_, i) => succeeds(`report-${i}`, 'reports'))
const letter = succeeds('letter', 'letters')

const imports = job('import', {
  input: typed<number>(),
  queue: 'imports',
  run: ({ input }) => {
    throw new TerminalError('The file has a line that is none', { code: `Line${input % 8}` })
  },
})

const HOSTS = ['ada', 'bob', 'cyd', 'dan', 'eve', 'fay', 'gus', 'hal', 'ivy', 'jon', 'kim', 'lea']

const webhook = job('webhook', {
  input: typed<number>(),
  queue: 'webhooks',
  retry: { max: 0 },
  run: ({ input }) => {
    throw new Error(`${HOSTS[input % HOSTS.length]}.example does not answer`)
  },
})

const poll = job('poll', {
  input: typed<number>(),
  queue: 'polls',
  retry: { max: 5, delay: LONG },
  run: () => {
    throw new Error('the other side is busy')
  },
})

/** Its history is long. */
const restless = job('restless', {
  input: typed<number>(),
  queue: 'polls',
  retry: { max: 400, delay: 0 },
  run: () => {
    throw new Error('not yet')
  },
})

const decision = message('decision', { input: typed<boolean>() })

const refund = job('refund', {
  input: typed<number>(),
  queue: 'billing',
  messages: [decision],
  run: ({ input, waitFor }) =>
    waitFor(decision, { ask: `Refund order ${input}?`, for: ['finance'] }),
})

const nap = job('nap', {
  input: typed<number>(),
  queue: 'polls',
  run: async ({ sleep }) => {
    await sleep('nap', LONG)
  },
})

/** Runs until its worker stops. */
export const watch = job('watch', {
  input: typed<number>(),
  queue: 'watches',
  run: ({ signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true })
    }),
})

interface FilmInput {
  readonly parts: readonly number[]
  readonly isBad: boolean
}

const film = pipeline('film', { input: typed<FilmInput>() })
  .stage('survey', { queue: 'films', run: () => 'surveyed' })
  .stage('render', {
    each: 'input.parts',
    after: 'survey',
    queue: 'films',
    retry: { max: 0 },
    run: ({ index, input }) => {
      if (input.isBad && index % 100 === 7) throw new Error('a frame is torn')
      return index
    },
  })
  .stage('grade', { each: 'input.parts', after: 'render', queue: 'grading', run: () => 'graded' })
  .stage('join', { after: 'grade', queue: 'films', run: () => 'joined' })

/** By which the bench finds those jobs again whose pages it asks for. */
export const KEYS = [
  'a job that succeeded',
  'a job that failed',
  'a job in quarantine',
  'a job that is retried',
  'a job that asks',
  'a job that waits',
  'a job that runs',
  'a job with 401 attempts',
  'a pipeline of 20,002 segments that succeeded',
  'a pipeline with 10,000 segments that wait',
  'a pipeline with 100 segments in quarantine',
] as const
type Key = (typeof KEYS)[number]

/** How many watch: they run while the store is served. */
export const WATCHES = 200

/** About so many jobs. A load that was broken off goes on where it was. */
export async function load(pawl: Pawl, jobs: number, say: (line: string) => void): Promise<void> {
  const share = (of: number): number => Math.ceil(jobs * of)
  // The first of those that no worker is to take.
  if ((await pawl.counts({ type: letter.name })).total === 0) await loadWorked(pawl, share, say)
  await pawl.pause('letters', { by: 'ada', reason: 'the printer is out of paper' })
  await submitUpTo(pawl, letter, 100)
  await submitUpTo(pawl, mail, share(0.36), 'a job that waits')
  await submitUpTo(pawl, resize, share(0.27))
  await submitUpTo(pawl, charge, share(0.16))
  await submitUpTo(pawl, mail, share(0.37), null, { delay: LONG })
  await submitUpTo(pawl, watch, WATCHES, 'a job that runs')
  await pawl.schedule('nightly', { cron: '30 3 * * 1-5', job: letter, input: 1 })
}

/** Those that workers take, until nothing is left for them to do. */
async function loadWorked(
  pawl: Pawl,
  share: (of: number) => number,
  say: (line: string) => void,
): Promise<void> {
  const worker = pawl.work(
    [mail, resize, charge, search, ...reports, imports, webhook, poll, restless, refund, nap, film],
    { concurrency: AT_ONCE, signals: [] },
  )
  await submitUpTo(pawl, imports, share(0.02), 'a job that failed')
  await submitUpTo(pawl, webhook, share(0.01), 'a job in quarantine')
  await submitUpTo(pawl, poll, share(0.003), 'a job that is retried')
  await submitUpTo(pawl, restless, 1, 'a job with 401 attempts')
  await submitUpTo(pawl, refund, 400, 'a job that asks')
  await submitUpTo(pawl, nap, 50)
  await begin(pawl, SEGMENTS, 'a pipeline of 20,002 segments that succeeded')
  await begin(pawl, SEGMENTS, 'a pipeline with 100 segments in quarantine')
  await submitUpTo(pawl, mail, share(0.3), 'a job that succeeded')
  await submitUpTo(pawl, resize, share(0.25))
  await submitUpTo(pawl, charge, share(0.15))
  await submitUpTo(pawl, search, share(0.1))
  for (const report of reports) await submitUpTo(pawl, report, share(0.005))
  say('submitted; the workers go on …')
  await untilIdle(pawl)
  await worker.stop()
  const renders = pawl.work([film], { queues: ['films'], signals: [] })
  const waiting = await begin(pawl, SEGMENTS, 'a pipeline with 10,000 segments that wait')
  await until(async () => (await pawl.get(waiting))?.stages[1]?.state === 'DONE')
  await renders.stop()
}

/** Every fifth has the tag of a tenant, every hundredth one that few have. */
function tagsOf(i: number): readonly string[] {
  if (i % 5 !== 0) return []
  return i % 100 === 0 ? [`tenant-${i % 40}`, 'urgent'] : [`tenant-${i % 40}`]
}

/** Until there are so many of the type. `key`: of the first that is submitted. */
async function submitUpTo(
  pawl: Pawl,
  definition: Numbered,
  count: number,
  key: Key | null = null,
  options: { readonly delay?: typeof LONG } = {},
): Promise<void> {
  const there = (await pawl.counts({ type: definition.name })).total
  for (let first = there; first < count; first += BATCH) {
    const items = Array.from({ length: Math.min(BATCH, count - first) }, (_, i) => {
      const own = first + i === there && key !== null ? { key } : {}
      return { input: first + i, options: { ...options, ...own, tags: tagsOf(first + i) } }
    })
    await pawl.submitMany(definition, items)
  }
}

/** With the same key again, it is the same pipeline. */
async function begin(pawl: Pawl, segments: number, key: Key): Promise<string> {
  const parts = Array.from({ length: segments }, (_, i) => i)
  const isBad = key === 'a pipeline with 100 segments in quarantine'
  const { id } = await pawl.submit(film, { parts, isBad }, { key })
  return id
}

/** Nothing waits for a worker, and nothing runs. */
async function untilIdle(pawl: Pawl): Promise<void> {
  await until(async () => {
    const [{ states }, queues] = await Promise.all([pawl.counts(), pawl.queues()])
    const segments = queues.reduce((sum, one) => sum + one.segments.ready + one.segments.running, 0)
    return states.CREATED + states.QUEUED + states.RUNNING + segments === 0
  })
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
}
