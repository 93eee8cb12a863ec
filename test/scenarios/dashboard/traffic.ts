/**
 * Jobs that come and go, for pages that show how they move: some succeed, some fail and are tried again, some sleep, some are given up,
 * and some are segments.
 */
import { setInterval } from 'node:timers/promises'
import type { Pawl } from '../../../src/index.ts'
import { job, pipeline, typed } from '../../../src/index.ts'

const EACH_MS = 100

const thumbnail = job('thumbnail', { input: typed<number>(), run: () => 'small' })

const delivery = job('delivery', {
  input: typed<number>(),
  queue: 'outbound',
  retry: { max: 2, delay: '1s' },
  run: ({ input, job: { attempt } }) => {
    if (attempt === 1 || input % 40 === 0) throw new Error('the other side hung up')
  },
})

const reminder = job('reminder', {
  input: typed<number>(),
  queue: 'outbound',
  run: ({ sleep }) => sleep('pause', '1s'),
})

const clip = pipeline('clip', { input: typed<{ parts: number[] }>() })
  .stage('cut', { each: 'input.parts', queue: 'gpu-2', run: ({ index }) => index })
  .stage('join', { after: 'cut', run: () => 'joined' })

/** Ends with what is returned. */
export function startTraffic(pawl: Pawl): () => Promise<void> {
  const ended = new AbortController()
  const worker = pawl.work([thumbnail, delivery, reminder, clip], {
    concurrency: 8,
    name: 'traffic-1',
  })
  const submits = submitAll(pawl, ended.signal)
  return async () => {
    ended.abort()
    await submits
    await worker.stop()
  }
}

async function submitAll(pawl: Pawl, signal: AbortSignal): Promise<void> {
  let count = 0
  try {
    for await (const _ of setInterval(EACH_MS, null, { signal })) {
      count += 1
      await pawl.submit(thumbnail, count)
      if (count % 4 === 0) await pawl.submit(delivery, count)
      if (count % 8 === 0) await pawl.submit(reminder, count)
      if (count % 16 === 0) await pawl.submit(clip, { parts: [1, 2, 3] })
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
