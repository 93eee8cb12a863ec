/**
 * Runs one operation of Pawl with V8's call counts on, and prints as JSON which functions of
 * `src/` it called: { walk: { file: [function] } }. Each is done several times, so that what only
 * the first call does (opening files, preparing statements) is not counted.
 *
 *   program.ts <location> leave [schema]   leaves a lease behind
 *   program.ts <location> walk [schema]    waits for its expiry, then submits a job and works it off
 */
import { Session } from 'node:inspector/promises'
import { fileURLToPath } from 'node:url'
import { job, open, typed } from '../../../src/index.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const location = process.argv[2] as string
/** The process ends in the middle of a job, and leaves its lease to time. */
const isLeft = process.argv[3] === 'leave'

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

/** What was called since the last time this was asked. */
async function called(): Promise<Record<string, string[]>> {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const files: Record<string, string[]> = {}
  for (const { url, functions } of result) {
    const path = url.replace(/^file:\/\//, '').replace(/\?.*$/, '')
    if (!path.startsWith(`${ROOT}src/`)) continue
    const names = functions
      .filter(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0)
      .map(({ functionName }) => functionName)
    if (names.length > 0) files[path.slice(ROOT.length)] = [...new Set(names)]
  }
  return files
}

type Called = Record<string, string[]>

function fewest(one: Called, other?: Called): Called {
  return other !== undefined && Object.keys(other).length < Object.keys(one).length ? other : one
}

const greet = job('greet', { input: typed<string>(), run: ({ input }) => `Hello, ${input}` })
/** The first of them warms everything up. */
const ROUNDS = 5
/** Its first attempt ends with the process. */
const lost = job('lost', {
  input: typed<null>(),
  lease: '1s',
  retry: { max: 1, delay: 0 },
  run: () => (isLeft ? process.exit(0) : null),
})

const schema = process.argv[4]
// The lease that is left behind is to run out: presence would revoke it before.
const pawl = await open(location, { presence: false, ...(schema === undefined ? {} : { schema }) })
if (isLeft) {
  await pawl.submit(lost, null, { id: 'lost' })
  pawl.work([lost])
} else {
  const walks: Record<string, Record<string, string[]>> = {}
  await called()
  const ends = pawl.handle('lost').events()
  for await (const { entry } of ends) if (entry.type === 'LeaseExpired') break
  walks['expiry'] = await called()
  for (let round = 0; round < ROUNDS; round++) {
    await called()
    const handle = await pawl.submit(greet, 'Ada')
    // What timers of the engine do meanwhile is no part of a submit.
    walks['submit'] = fewest(await called(), walks['submit'])
    const worker = pawl.work([greet])
    await handle.result()
    walks['claim to commit'] = await called()
    await worker.stop()
  }
  await pawl.close()
  console.log(JSON.stringify(walks))
  process.exit(0)
}
