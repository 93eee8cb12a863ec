import { it } from 'vitest'
import { SimDisk } from '../sim/sim-disk.ts'
import { openStore } from './setting.ts'
import { STORY, SHORT_STORY } from './story.ts'
import { stateOf, stateFrom } from './state.ts'
import { referenceOf, tellOn, mustHold, mustGoOn } from './telling.ts'
it('x', async () => {
  for (const story of [STORY, SHORT_STORY]) {
  const ref = await referenceOf(new SimDisk(), openStore, story)
  const disk = new SimDisk({ tracing: true })
  const told = await tellOn(disk, openStore, story)
  const time = async (what: string, f: () => Promise<unknown>) => {
    for (let i = 0; i < 50; i++) await f()
  const t = performance.now()
    for (let i = 0; i < 50; i++) await f()
  console.log(what, (performance.now() - t) / 50)
  }
  await time('open', async () => (await openStore(disk.clone())).close())
  await time('hold',()=> mustHold(ref, told, disk.clone(), openStore))
  const s = await openStore(disk.clone())
  await time('state',()=> stateOf(s))
  await time('tell',()=>  tellOn(new SimDisk(), openStore, story))
  await time('goon',()=> mustGoOn(ref, {answers:new Map(), errors:[], reached:0}, new SimDisk(), openStore))
  }
})
