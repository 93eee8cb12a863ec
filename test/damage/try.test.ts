import { it } from 'vitest'
import { SimDisk } from '../sim/sim-disk.ts'
import { openStore } from './setting.ts'
import { STORY, SHORT_STORY } from './story.ts'
import { referenceOf, tellOn, mustHold, mustGoOn } from './telling.ts'
it('x', async () => {
  for (const story of [STORY, SHORT_STORY]) {
  const ref = await referenceOf(new SimDisk(), openStore, story)
  console.log([...ref.answers], [...ref.counts.at(-1)!])
  const disk = new SimDisk({ tracing: true })
  const told = await tellOn(disk, openStore, story)
  console.log(told.errors, disk.trace.join('\n'), disk.paths(), disk.openFiles)
  const t = performance.now()
  for (let i = 0; i < 20; i++) await mustHold(ref, told, disk.clone(), openStore)
  console.log('hold', (performance.now() - t) / 20)
  for (let i = 0; i < 20; i++) await mustGoOn(ref, {answers:new Map(), errors:[], reached:0}, new SimDisk(), openStore)
  console.log('goon', (performance.now() - t) / 20)
  }
})
